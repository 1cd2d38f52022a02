"""The kernels that batches of each kind need, and the types of their arguments.

Small batches of Gaussian clusters have kernels of their own, Student-t ones two more, and so have
large batches and those of many columns. A second process compiles some of them: see `ahead`.
"""

from __future__ import annotations

from typing import Any

from numba import bool_, float32, float64, int64, types, uint64


def signatures() -> dict[str, Any]:
    """Return all of them."""
    return {
        **small_batches(),
        **heavy_batches(),
        **large_batches(),
        **pruned_batches(),
        **other_batches(),
    }


def other_batches() -> dict[str, Any]:
    """Return those of large batches and other families, but for the kernel that labels rows."""
    from scstream.kernels.labelling import Pairs

    f1, f2, f3 = float64[::1], float64[:, ::1], float64[:, :, ::1]
    i1, i2, b1 = int64[::1], int64[:, ::1], bool_[::1]
    pairs = types.NamedTuple((f2, f1, f1), Pairs)
    return {
        "scores.pair_products": (f2, f2, i1, f2),
        "labelling.share_pair": (f2, i1, f1, f1),
        "labelling.tally": (i1, i1, i1, f1, f1, f1, i2, i2, f2),
        "labelling.add_by_share": (f2, f1, i1, f1, f3),
        "mixture.neighbours": (i2, i2, i2),
        "mixture.log_split": (float64, f2, f2, f1, f1, float64, f1),
        "labelling.rename": (i2, i2, i1, i1),
        "labelling.least": (int64, int64, int64, int64, i1, i1, f1),
        "labelling.resplit_block": (f2, f1, i1, b1, pairs, bool_, i1, f3, f1),
        "labelling.best_pair": (f2, i1, f1),
        "labelling.add_by_label": (f2, f1, i1, i1, f3),
        "labelling.add_doubts": (i1, f1, f1, f1),
        "labelling.take_trial": (b1, i1, i1, i1, i2),
        "mixture.dirichlets": (f3, f3, float64, f2, f1),
        "mixture.log_weights": (f1, f1, f1, f1),
        "labelling.uniforms": (int64, int64, int64, int64, f2),
        "labelling.draw_pair": (f2, f1, i1, f1),
        "mixture.log_joint": (f2, f1, float64),
    }


def large_batches() -> dict[str, Any]:
    """Return those of large batches of Gaussian clusters, the one that takes longest first."""
    from scstream.kernels.crew import Crew

    f1, f2, i1 = float64[::1], float64[:, ::1], int64[::1]
    crew = types.NamedTuple((int64, i1), Crew)
    of_small, of_others = small_batches(), other_batches()
    between = (
        "pooling.outlying", "pooling.pooled", "mixture.standing", "matrices.student_level",
        "matrices.student",
    )  # fmt: skip
    ends = (
        "labelling.rename", "labelling.take_trial", "mixture.log_joint", "labelling.least",
        "draws.log_uniforms", "labelling.named", "mixture.many_rows", "scores.products",
        "scores.student", "scores.log_totals", "sketches.merge", "mixture.log_split",
        "cuts.between", "cuts.discriminant", "cuts.truncate",
    )  # fmt: skip
    of_any = "mixture.dirichlets", "mixture.log_weights", "mixture.neighbours"
    return {
        **{name: of_small[name] for name in between},
        "crew.serve": (i1, int64),
        "pooling.shared_zeros": (crew, f1, i1),
        "cuts.shared_directions": (crew, f2, f2, i1, int64, f1, int64, f2, i1, f2),
        "matrices.wishart": (f2, f2, f2, f2, f1, f1, f2),
        **{name: of_others[name] for name in of_any},
        **{name: of_small[name] for name in ends},
    }  # fmt: skip


def small_batches() -> dict[str, Any]:
    """Return those of small batches of Gaussian clusters, in the order in which they are needed."""
    f1, f2, f3, f4 = float64[::1], float64[:, ::1], float64[:, :, ::1], float64[:, :, :, ::1]
    i1, i2, b1 = int64[::1], int64[:, ::1], bool_[::1]
    prior, room = types.Tuple((f1, float64, float64, int64)), types.Tuple((f1, i1, float32[::1]))
    sums, levels = types.Tuple((f3, i2, i2, f2)), types.Tuple((f2, f1))
    known = types.Tuple((f2, f1, bool_))
    past, rows = types.Tuple((f3, f2)), types.Tuple((f2, f1, i1, i1))
    who, how = types.Tuple((i1, i1, f2, bool_)), types.Tuple((int64, int64, bool_))
    tried, limits = types.Tuple((f3, f1)), types.UniTuple(float64, 2)
    five = types.UniTuple(float64, 5)
    ratio, merges = types.UniTuple(float64, 3), types.Tuple((i2, i2, f1, f1))
    frame, decisions = types.UniTuple(f1, 2), types.Tuple((f1, bool_, float64, uint64[::1]))
    margins = types.Tuple((float64, float64, float64, float64, int64, float64))
    return {
        "pooling.outlying": (f2, int64),
        "pooling.pooled": (f2, f2),
        "mixture.many_rows": (i2, int64, b1),
        "mixture.standing": (f3, f3, types.UniTuple(f2, 2), f2, f2, f2),
        "labelling.rename": (i2, i2, i1, i1),
        "labelling.named": (i1, i1, i1),
        "mixture.log_joint": (f2, f1, float64),
        "draws.log_uniforms": (uint64[::1], f1),
        "mixture.log_split": (float64, f2, f2, f1, f1, float64, f1),
        "small_divisions.divide": (
            rows, past, past, who, prior, how, limits, ratio, room, types.Tuple((tried, levels)),
        ),
        "labelling.take_trial": (b1, i1, i1, i1, i2),
        "labelling.least": (int64, int64, int64, int64, i1, i1, f1),
        "small_batch.assign": (f2, frame, f2, float64, prior, room, i1, i1),
        "small_batch.moves": (
            past, sums, known, decisions, i1, margins, ratio, prior, room, merges,
        ),
        "matrices.student_level": (f2, f1, float64, int64, f1, f1, f1),
        "matrices.student": (f2, int64, f1, f2),
        "scores.products": (f2, f2, f2),
        "scores.student": (f2, f1, f1),
        "scores.log_totals": (f2, f1, f1, f1, f1),
        "sketches.merge": (types.UniTuple(f1, 2), types.UniTuple(f1, 2), i1, float64, f2),
        "small_batch.densities": (f2, frame, f2, float64, prior, room, f1),
        "mixture.faded": (float64, f4, f3, types.Tuple((f4, f3))),
        "mixture.older": (i1, i1, i1),
        "small_batch.forget": (past, f3, f1, five, float64, prior, room, past),
        "pooling.expected": (f2, f2, f2, float64, float64, f1, f2),
        "mixture.recent": (float64, f1, f2, f1),
        "mixture.most": (f1, f2, f1),
        "sketches.follow": (f1, f1, f1, float64, f1),
        "cuts.between": (f3, f1, float64, f2, f2, f1),
        "cuts.discriminant": (f2, f1, f2, f3, f2, f1),
        "cuts.truncate": (f2, f2, f1, float64, f1, f2),
    }  # fmt: skip


def heavy_batches() -> dict[str, Any]:
    """Return those of small batches of Student-t clusters alone, but for the one that sweeps."""
    f1, f2, f3 = float64[::1], float64[:, ::1], float64[:, :, ::1]
    i1, i2 = int64[::1], int64[:, ::1]
    past, now = types.Tuple((f3, f2)), types.Tuple((f3, i2, i2, f2))
    rows, room = types.Tuple((f2, f1, i1, i1, f2)), types.Tuple((f1, i1, float32[::1]))
    prior = types.Tuple((f1, float64, float64, int64))
    tails = types.Tuple((float64, f1, float64, float64))
    ratio, search = types.UniTuple(float64, 3), types.Tuple((int64, float64))
    merges = types.Tuple((i2, i2, f1, f1))
    return {
        "heavy_moves.merged": (
            past, now, f1, rows, tails, prior, ratio, search, room, merges,
        ),
        "heavy_moves.together": (
            f3, f3, i2, rows, tails, prior, int64, room, types.Tuple((f2, f2, f3, f2)),
        ),
    }  # fmt: skip


def wide_batches() -> dict[str, Any]:
    """Return those of batches of Gaussian clusters of many columns, as they are needed."""
    from scstream.kernels.cholesky import Factoring
    from scstream.kernels.crew import Crew
    from scstream.kernels.frames import Rows
    from scstream.kernels.labelling import Pairs
    from scstream.kernels.sharing import Shares, Totals
    from scstream.kernels.wide_sums import Held, Listed, Sides, Work

    f1, f2, f3, f4 = float64[::1], float64[:, ::1], float64[:, :, ::1], float64[:, :, :, ::1]
    i1, i2, i3, b1 = int64[::1], int64[:, ::1], int64[:, :, ::1], bool_[::1]
    crew, students = types.NamedTuple((int64, i1), Crew), _students()
    rows = types.NamedTuple((f1, float32[::1], f1, f1), Rows)
    shares = types.NamedTuple((int64, i2, i2, i1, crew), Shares)
    listed = types.NamedTuple((i1, i2), Listed)
    sides = types.NamedTuple((i1, f1, students, types.NamedTuple((f2, f1, f1), Pairs)), Sides)
    totals, own = (types.NamedTuple(of, Totals) for of in ((f2, i2, i2, f2), (f3, i3, i3, f3)))
    work = types.NamedTuple((f3, f2, f2, f3, f2, types.NamedTuple((f4, f3, i2), Held), own), Work)
    of_small, of_others = small_batches(), other_batches()
    begins = ("pooling.outlying", "pooling.pooled", "mixture.standing", "matrices.student_level")
    ends = (
        "scores.products", "scores.student", "mixture.many_rows", "labelling.named",
        "scores.log_totals", "sketches.merge", "mixture.faded", "mixture.older",
        "draws.log_uniforms", "sketches.follow", "pooling.expected", "mixture.most",
        "mixture.recent",
    )  # fmt: skip
    between = (
        "mixture.log_joint", "mixture.neighbours", "mixture.log_split", "labelling.rename",
        "labelling.best_pair", "labelling.add_doubts", "labelling.take_trial",
        "mixture.dirichlets", "mixture.log_weights", "labelling.uniforms", "labelling.draw_pair",
        "labelling.add_by_label", "labelling.least",
    )  # fmt: skip
    return {
        "wide_sums.add_clusters": (
            rows, f1, listed, sides, shares, work, totals, types.Tuple((totals, i1)),
        ),
        "crew.serve": (i1, int64),
        "pooling.shared_zeros": (crew, f1, i1),
        "cholesky.factor": (
            crew, f3, f1, f2, types.NamedTuple((f4, f2, f2, f2), Factoring), i1, f2, f1,
        ),
        "normalisers.finish": (crew, f1, float64, int64, f2, i1, f1),
        **{name: of_small[name] for name in begins},
        "matrices.student": of_small["matrices.student"],
        "labelling.tally": of_others["labelling.tally"],
        "wide_sums.list_rows": (i1, b1, shares, listed),
        **{name: of_others[name] for name in between},
        "cuts.shared_directions": large_batches()["cuts.shared_directions"],
        **{f"cuts.{name}": of_small[f"cuts.{name}"]
           for name in ("between", "discriminant", "truncate")},
        "matrices.wishart": (f2, f2, f2, f2, f1, f1, f2),
        "matrices.drawn_pairs": (f2, f2, f2, f2, f1, f2, i1, f2),
        "pruning.student_pairs": (students, f2, i1, i1, f2),
        **{name: of_small[name] for name in ends},
    }  # fmt: skip


def pruned_batches() -> dict[str, Any]:
    """Return those of so many columns that most components are ruled out by the first ones."""
    from scstream.kernels.crew import Crew
    from scstream.kernels.frames import Keyed, Rows
    from scstream.kernels.pruning import Predictives
    from scstream.kernels.wide_rows import Labelled, Tile

    f1, f2, f3, s1, s2 = (
        float64[::1],
        float64[:, ::1],
        float64[:, :, ::1],
        float32[::1],
        float32[:, ::1],
    )
    i1, i2, students = int64[::1], int64[:, ::1], _students()
    tile = types.NamedTuple((f3, f3, s2, s2, s2, i2, f3, f3, f3, f2, i2, i2, i2, i2, f2), Tile)
    return {
        "wide_rows.label": (
            types.NamedTuple((int64, i1), Crew), types.NamedTuple((f1, s1, f1, f1), Rows),
            types.NamedTuple((students, int64, s2, s1), Predictives), students,
            types.NamedUniTuple(int64, 5, Keyed), tile,
            types.NamedTuple((i1, i1, i1, f1, f1, f1), Labelled), i1, i1,
        ),
        **wide_batches(),
        "adding.add_lines": (
            types.NamedTuple((int64, i1), Crew), types.UniTuple(int64, 2), types.UniTuple(f1, 3),
            types.UniTuple(int64, 3), i1,
        ),
        "pruning.leading": (f2, int64, int64, f2),
        "pruning.students": (students, f2, f2),
        "pruning.refine": (students, f2, f2, f1, f1, f1, f2),
        "pruning.widths": (f2, f1, int64, f2, f1),
        "pruning.best_students": (students, f2, f2, i1),
    }  # fmt: skip


def _students() -> Any:
    from scstream.kernels.pruning import Students

    f1, f2 = float64[::1], float64[:, ::1]
    return types.NamedTuple((f2, f2, f1, f1), Students)
