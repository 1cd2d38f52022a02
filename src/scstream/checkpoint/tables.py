"""What is saved of a model between two batches, part by part.

Every part has a pair of functions, one that packs it and one that reads it back and checks it.
Not saved, because the next batch sets it before it looks: of the clusters' state, how often
sub-clusters were restarted, the past's doubts, and of the last batch's sums all but the statistics
and the numbers of rows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.checkpoint.errors import CheckpointError
from scstream.checkpoint.randomness import pack_generator, unpack_generator
from scstream.checkpoint.rows import pack_rows, unpack_rows
from scstream.checkpoint.seen_rows import pack_alike, pack_repeats, unpack_alike, unpack_repeats
from scstream.checkpoint.values import Node, Packer
from scstream.engines import Sums
from scstream.families import Family
from scstream.families.widening import Widening
from scstream.kernels.draws import generator_of, words_of
from scstream.records import BatchRecord
from scstream.sampler.clusters import State
from scstream.sampler.context import Outliers
from scstream.sampler.dormant import Dormant
from scstream.sampler.learner import Learner
from scstream.sampler.recipe import Batch
from scstream.sampler.scores import Sketch
from scstream.sampler.warmup import KeptBatch
from scstream.sampler.window import Forgetting, Window

Tree = dict[str, Any]
Kernel = Callable[[float], float]
_MOST = 2**62  # batches, ids, points


def pack_learner(learner: Learner, packer: Packer) -> Tree:
    """Return all that a model has learned."""
    return {
        "family": packer.family(learner.family, "The family"),
        "state": _pack_state(learner.state, packer),
        "rng": pack_generator(generator_of(learner.rng), packer),
        "seed": learner.seed,
        "alpha": learner.alpha,
        "outliers": None if learner.outliers is None else _pack_outliers(learner.outliers, packer),
        "time": float(learner.time),
        "spacing": float(learner.spacing),
        "n_batches": learner.n_batches,
        "dormant": _pack_dormant(learner.dormant, packer),
        "scores": {
            "values": _finite(learner.scores.values, packer),
            "weights": _finite(learner.scores.weights, packer),
            "seen": learner.scores.seen,
        },
        "recent": _finite(learner.recent, packer),
        "latest": _finite(learner.latest, packer),
        "suspicion": float(learner.suspicion),
        "repeats": pack_repeats(learner.repeats, packer),
        "alike": pack_alike(learner.alike, packer),
        "early": [_pack_kept(kept, packer) for kept in learner.warmup],
    }


def unpack_learner(node: Node, d: int, kernel: Kernel) -> Learner:
    """Return what a model of d columns has learned; ``kernel`` is used if it had one."""
    family = node.node("family").family()
    width = row_width(family, d)
    p = len(family.prior)
    time = node.number("time")
    outliers = node.maybe("outliers")
    state = _unpack_state(node.node("state"), p, time, kernel)
    kept = [_unpack_kept(one, family, width, time) for one in node.nodes("early")]
    if any(np.any(one.ids >= state.next_id) for one in kept):
        raise node.fail("early", "about unknown clusters")
    return Learner(
        family=family,
        state=state,
        rng=words_of(unpack_generator(node.node("rng"), only="PCG64")),
        seed=node.integer("seed", 0, 2**63 - 1),
        alpha=node.number("alpha", 0.0),
        outliers=None if outliers is None else _unpack_outliers(outliers, p),
        time=time,
        spacing=node.number("spacing", -1e-300),
        n_batches=node.integer("n_batches", 1, _MOST),
        dormant=_unpack_dormant(node, state),
        scores=_unpack_scores(node),
        warmup=tuple(kept),
        recent=_unpack_rows(node, "recent", state.k),
        latest=_unpack_rows(node, "latest", state.k + 1),
        suspicion=node.number("suspicion", -1e-300),
        repeats=unpack_repeats(node),
        alike=unpack_alike(node),
    )


def _unpack_rows(node: Node, name: str, k: int) -> NDArray[Any]:
    """Return numbers of rows (k,)."""
    rows = node.array(name, float, k)
    if np.any(rows < 0):
        raise node.fail(name, "negative")
    return rows


def _pack_dormant(dormant: Dormant, packer: Packer) -> Tree:
    return {
        "ids": packer.array(dormant.ids),
        "born": packer.array(dormant.born),
        "sums": _finite(dormant.sums, packer),
        "most": packer.array(dormant.most),
    }


def _unpack_dormant(node: Node, state: State) -> Dormant:
    """Return the clusters that may come back."""
    own = node.node("dormant")
    ids = _counts(own, "ids", None)
    m, p = len(ids), state.past.shape[2]
    if np.any(ids >= state.next_id) or len(np.unique([*ids, *state.ids])) != m + state.k:
        raise own.fail("ids", "not the ids of earlier clusters")
    born, sums = own.array("born", float, m), own.array("sums", float, m, p)
    most = own.array("most", float, state.k)
    if np.any(sums[:, 0] <= 0) or np.any(most < 0):
        raise own.fail("sums", "not the statistics of clusters")
    return Dormant(ids, born, sums, state.ids, most)


def _unpack_scores(node: Node) -> Sketch:
    """Return the sketch of scores."""
    own = node.node("scores")
    values = own.array("values", float, None)
    weights = own.array("weights", float, len(values))
    if np.any(np.diff(values) < 0) or np.any(weights <= 0):
        raise own.fail("values", "not ascending, or without weight")
    return Sketch(values, weights, own.number("seen", -1e-300))


def _pack_outliers(outliers: Outliers, packer: Packer) -> Tree:
    tree: Tree = {"weight": outliers.weight, "sums": _finite(outliers.sums, packer)}
    if outliers.held is not None:
        tree |= {"held": _finite(outliers.held, packer), "pseudo": float(outliers.pseudo)}
    return tree


def _unpack_outliers(node: Node, p: int) -> Outliers:
    weight, sums = node.number("weight", 0.0, 1.0), node.array("sums", float, 1, p)
    if "held" not in node.tree:
        return Outliers(weight, sums)
    held, pseudo = node.array("held", float, 1, p), node.number("pseudo", 0.0)
    if not 0 <= held[0, 0] <= sums[0, 0] + 1e-6 or sums[0, 0] <= 0:
        raise node.fail("held", "negative, or larger than the number of points")
    return Outliers(weight, sums, held, None, pseudo)


def row_width(family: Family, d: int) -> int:
    """Return how many columns the checked rows of a table of d columns have, or raise."""
    blocks = family.independent_blocks(d)
    if any(j >= d for block in blocks for j in block.columns):
        raise CheckpointError(f"A block of the checkpoint's product is beyond {d} columns.")
    width = sum(block.family.width(len(block.columns)) for block in blocks)
    if family.columns_taken() not in (None, width):
        raise CheckpointError(f"The family in the checkpoint is not for {d} columns.")
    return width


# -- clusters -----------------------------------------------------------------------------------


def _pack_state(state: State, packer: Packer) -> Tree:
    window = state.window
    forgetting = window.forgetting
    return {
        "ids": packer.array(state.ids),
        "born": packer.array(state.born),
        "lived": packer.array(state.lived),
        "next_id": state.next_id,
        "past": _finite(state.past, packer),
        "current": _finite(state.now.current, packer),
        "rows": packer.array(state.now.rows),
        "window": {
            "half_life": packer.value(forgetting.half_life, "half_life"),
            "kernel": forgetting.kernel is not None,
            "epsilon": float(forgetting.epsilon),
            "max_records": forgetting.max_records,
            "sums": _finite(window.sums, packer),
            "doubt": _finite(window.doubt, packer),
            "times": packer.array(window.times),
            "weight": packer.array(window.weight),
        },
    }


def _finite(values: NDArray[Any], packer: Packer) -> int:
    """Return the number of an array, which a file would be refused for if it were not finite."""
    if not np.all(np.isfinite(values)):
        raise ValueError(
            "The model cannot be saved: its clusters' statistics are not finite. Some number in "
            "the data was too large; scale the data and start a new model."
        )
    return packer.array(values)


def _unpack_state(node: Node, p: int, time: float, kernel: Kernel) -> State:
    ids = node.array("ids", np.int64, None)
    k = len(ids)
    next_id = node.integer("next_id", 1, _MOST)
    if k == 0 or len(np.unique(ids)) != k or ids.min() < 0 or ids.max() >= next_id:
        raise node.fail("ids", "not a list of clusters")
    past = node.array("past", float, k, 2, p)
    now = Sums(
        node.array("current", float, k, 2, p),
        _counts(node, "rows", k, 2),
        np.zeros((k, k), dtype=np.int64),
        np.zeros((k, k)),
    )
    if np.any((past + now.current)[..., 0] < -1e-6):
        raise node.fail("past", "negative")
    return State(
        ids=ids,
        born=node.array("born", float, k),
        lived=_counts(node, "lived", k),
        next_id=next_id,
        now=now,
        window=_unpack_window(node.node("window"), k, p, time, kernel),
        past=past,
        past_doubt=np.zeros((k, k)),
        attempt=np.zeros(k, dtype=np.int64),
    )


def _unpack_window(node: Node, k: int, p: int, time: float, kernel: Kernel) -> Window:
    half_life = None if node.get("half_life") is None else node.number("half_life", 0.0)
    with_kernel = node.flag("kernel")
    forgetting = Forgetting(
        half_life,
        kernel if with_kernel else None,
        node.number("epsilon", -1e-300, 1.0),
        node.integer("max_records", 1, 2**20),
    )
    times = node.array("times", float, None)
    b = len(times)
    weight = node.array("weight", float, b)
    if b == 0 or np.any(np.diff(times) <= 0) or times[-1] > time or np.any(weight < 0):
        raise node.fail("times", "not a list of batches")
    if not with_kernel and b != 1:
        raise node.fail("times", "a list of several batches, which needs a kernel")
    sums = node.array("sums", float, b, k, 2, p)
    return Window(forgetting, sums, node.array("doubt", float, b, k, k), times, weight)


def _counts(node: Node, name: str, *shape: int | None) -> NDArray[np.int64]:
    out = node.array(name, np.int64, *shape)
    if np.any((out < 0) | (out > _MOST)):
        raise node.fail(name, "not a count")
    return out


# -- the first rows -----------------------------------------------------------------------------


def _pack_kept(kept: KeptBatch, packer: Packer) -> Tree:
    return {
        "rows": pack_rows(kept.batch.X, packer),
        "weight": packer.array(kept.batch.weight),
        "time": float(kept.batch.time),
        "ids": packer.array(kept.ids),
    }


def _unpack_kept(node: Node, family: Family, d: int, time: float) -> KeptBatch:
    weight = node.array("weight", float, None)
    n = len(weight)
    when = node.number("time")
    if n == 0 or np.any(weight < 0) or when > time:
        raise node.fail("weight", "not the weight of a first batch")
    ids = node.array("ids", np.int64, n)
    X = unpack_rows(node, n, d)
    if np.any(ids < -1) or not family.sound(X):
        raise node.fail("rows", f"not what the family {family.name!r} takes")
    return KeptBatch(Batch(X, weight, when), ids)


# -- what happened ------------------------------------------------------------------------------

_NUMBERS = {"batch": np.int64, "time": float, "n_points": np.int64, "n_clusters": np.int64}
_IDS = ("births", "deaths", "splits", "merges", "returns")


def pack_history(history: Sequence[BatchRecord], packer: Packer) -> Tree:
    """Return the records, column by column."""
    out: Tree = {
        name: packer.array(np.array([getattr(r, name) for r in history], dtype=kind))
        for name, kind in _NUMBERS.items()
    }
    # a log posterior may be infinite: its bits are kept, not its value
    levels = np.array([r.log_posterior for r in history], dtype=np.float64)
    out["log_posterior"] = packer.array(levels.view(np.int64))
    for name in _IDS:
        lists = [getattr(r, name) for r in history]
        out[name] = packer.array(np.array(list(_flat(lists)), dtype=np.int64))
        out[f"n_{name}"] = packer.array(np.array([len(v) for v in lists], dtype=np.int64))
    out["widened"] = [[w.column, w.was, w.now] for r in history for w in r.widened]
    out["n_widened"] = packer.array(np.array([len(r.widened) for r in history], dtype=np.int64))
    return out


def _flat(lists: Iterable[Iterable[Any]]) -> Iterable[int]:
    for one in lists:
        for item in one:
            yield from item if isinstance(item, tuple) else (item,)


def unpack_history(node: Node, most: int) -> deque[BatchRecord]:
    """Return the records, at most so many."""
    columns = {"batch": _counts(node, "batch", None)}
    n = len(columns["batch"])
    if not 1 <= n <= most:
        raise node.fail("batch", f"of {n} batches")
    columns["time"] = node.array("time", float, n)
    for name in ("n_points", "n_clusters"):
        columns[name] = _counts(node, name, n)
    columns["log_posterior"] = node.array("log_posterior", np.int64, n).view(np.float64)
    plain = {name: values.tolist() for name, values in columns.items()}
    lists = {name: _unpack_ids(node, name, n) for name in _IDS}
    lists["widened"] = _unpack_widened(node, n)
    names = [*plain, *lists]
    rows = zip(*plain.values(), *lists.values(), strict=True)
    return deque((BatchRecord(**dict(zip(names, row, strict=True))) for row in rows), maxlen=most)


def _unpack_widened(node: Node, n: int) -> list[tuple[Any, ...]]:
    """Return tuples of columns that were taken for something wider, one for each batch."""
    lengths, found = _counts(node, "n_widened", n).tolist(), node.get("widened")
    words = isinstance(found, list) and all(
        isinstance(w, list) and len(w) == 3 and all(isinstance(v, str) for v in w) for w in found
    )
    if not words or sum(lengths) != len(found):
        raise node.fail("widened", "not about columns")
    changes = iter([Widening(*w) for w in found])
    return [tuple(islice(changes, m)) for m in lengths]


def _unpack_ids(node: Node, name: str, n: int) -> list[tuple[Any, ...]]:
    """Return tuples of ids, or of pairs of them, one for each batch."""
    each = 2 if name in ("splits", "merges") else 1
    lengths = _counts(node, f"n_{name}", n)
    ids = _counts(node, name, None)
    if np.any(lengths > len(ids)) or each * int(lengths.sum()) != len(ids):
        raise node.fail(name, "of a different length than stated")
    things = ids.tolist() if each == 1 else list(map(tuple, ids.reshape(-1, 2).tolist()))
    ends = np.cumsum(lengths)
    return [tuple(things[e - m : e]) for e, m in zip(ends.tolist(), lengths.tolist(), strict=True)]
