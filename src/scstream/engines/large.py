"""Passes over large batches of a family whose statistics are quadratic: see `kernels.large_rows`.

A pass is one call into compiled code, see `kernels.crew`. Threads share the leaves of the tree of
sums in units, see `engines.units`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scstream.engines.carried import NOTHING, Carry
from scstream.engines.ordered_sums import Part
from scstream.engines.sizes import Sizes
from scstream.engines.units import Units, units_of
from scstream.families.contract import Array, Family
from scstream.families.in_single import InSingle
from scstream.families.packed import upper
from scstream.families.scores import Labels, Points, Products, Score, form_of
from scstream.kernels import large_rows, large_tiles
from scstream.kernels.crew import crew_of, for_each
from scstream.kernels.label_proposals import GROUP, WIDTH
from scstream.kernels.labelling import Pairs
from scstream.kernels.large_rows import Keyed, Rows, Scratch
from scstream.kernels.large_tiles import Carried, Run, Tiles
from scstream.kernels.nearby import COLUMNS, Components
from scstream.kernels.screened_tiles import MOST, TILE
from scstream.kernels.sharing import Shares, Totals
from scstream.support.memory import Memory, for_kernels

_LN2 = float(np.log(2.0))
MOST_COLUMNS = 15  # of rows that are scored by all their statistics
_RUN_LEAVES = 8  # of rows that are labelled at a time, and are to stay in cache
_NARROW, _WIDE = np.zeros(0, dtype=np.float32), np.zeros(0)
_NO_PAIRS, _NOT_DRAWN = Pairs(np.zeros((0, 0)), _WIDE, _WIDE), Keyed(0, 0, 0, 0, 0)
_SCORED = 0.55  # the share of components to score up to which the others are ruled out
_SCORED_ALONE = 0.1  # the same where best labels alone are sought: scores take little time there
_TRY_AGAIN = 50  # passes after which this is tried again
_MEMORY = Memory()  # what passes are computed in, by who asks for them; nothing of it outlives one
_FAR = -1e30  # the product of a centre that nobody is near
_SETTLED = 0.05  # the share of rows to settle up to which Student-t scores are straight
_SOUGHT = 0.75  # the share of rows whose labels are sought up to which others are settled before
_STRAIGHT = 32.0, 96.0  # bits below their best down to which they are, at least and at most
_BEND = 0.0625  # bits that they may be off then
_BENDING = 0.1  # the share of clusters that may bend more: their scores are taken by logarithms


@dataclass
class Gain:
    """Whether a quicker way of a pass pays, by what it left to do when it was last tried.

    Labels are the same either way.
    """

    most: float  # the share of work left up to which it pays
    share: float = 0.0
    passes: int = 0  # since then

    def pays(self) -> bool:
        """Whether to try it in the next pass."""
        self.passes += 1
        return self.share <= self.most or self.passes >= _TRY_AGAIN

    def learn(self, left: float, of: float) -> None:
        """Take note of how much a pass left to do."""
        self.share, self.passes = left / of, 0


class Gains(NamedTuple):
    """What passes have learned so far.

    Attributes
    ----------
    near : Gain
        Of ruling out components that are far from a tile: where clusters overlap, none is. It costs
        little more than scoring a fifth of them.
    straight : Gain
        Of taking Student-t scores for products: where clusters are far apart the second choices of
        rows are too low for that, and these are settled one by one.
    carried : Gain
        Of settling rows by what the sweep before found: where parameters change much, few are.
    """

    near: Gain
    straight: Gain
    carried: Gain


def gains_of(k: int, d: int, *, seconds: bool) -> Gains:
    """Return those of passes over as many columns and about as many components."""
    return _gains_of(k.bit_length(), d, seconds)


@lru_cache
def _gains_of(size: int, d: int, seconds: bool) -> Gains:
    return Gains(Gain(_SCORED if seconds else _SCORED_ALONE), Gain(_SETTLED), Gain(_SOUGHT))


def quadratic_rows(family: Family, X: Points) -> Rows | None:
    """Return rows as kernels take them, or None if their statistics are of another kind."""
    frame = family.quadratic_frame() if isinstance(X, np.ndarray) and len(X) else None
    if frame is None:
        return None
    flat = for_kernels(np.ascontiguousarray(X)).reshape(-1)
    shift, scale = (np.tile(line, 1 if X.shape[1] > MOST_COLUMNS else TILE) for line in frame)
    if X.dtype == np.float32:
        return Rows(_WIDE, flat, shift, scale)
    return Rows(flat, _NARROW, shift, scale)


@dataclass(frozen=True)
class LargeBatch:
    """The rows of a large batch, or of others that are to be labelled.

    Attributes
    ----------
    rows : Rows
    n, columns : int
        How many these are.
    n_threads : int
    sizes : Sizes
    first_row : int
        The number of the first row: a multiple of the rows of a leaf.
    carry : Carry
        What a sweep leaves for the next.
    """

    rows: Rows
    n: int
    columns: int
    n_threads: int
    sizes: Sizes
    first_row: int
    carry: Carry

    @staticmethod
    def of(
        family: Family, X: Points, n_threads: int, sizes: Sizes, first_row: int = 0
    ) -> LargeBatch | None:
        """Return the rows, or None if they are of another kind."""
        n, d = X.shape
        rows = quadratic_rows(family, X) if d <= MOST_COLUMNS else None
        if rows is None:
            return None
        return LargeBatch(rows, n, d, n_threads, sizes, first_row, Carry(n))

    def takes(self, score: Score) -> bool:
        """Whether rows can be scored here by such a score."""
        form = form_of(score)
        return isinstance(form, Products) and form.pruning is None

    def sweep(
        self, weight: Array, score: Score, pairs: Pairs, k: int, key: tuple[int, int, int] | None,
        labels: tuple[Labels, Labels], *, labelled: bool,
    ) -> list[Part]:  # fmt: skip
        """Write labels and sub-labels, and return the sums of each run: see `Engine.sweep`.

        Rows that are ``labelled`` already are taken in that order.
        """
        by, way = self._begun(score, seconds=True, drawn=key is not None, labelled=labelled)
        p = pairs.eta.shape[1]
        carried = self._carried(by, drawn=key is not None)
        way = large_tiles.ALL if len(carried.bound) else way
        drawn = _NOT_DRAWN if key is None else Keyed(1, *key, self.first_row)
        sums, units = self._sums("sums", k, p, k * k)

        def job(shares: Shares, own: Scratch) -> None:
            large_rows.sweep(
                self.rows, weight, by, pairs, drawn, shares, own, labels, carried, sums
            )

        counted = self._share(job, "sweep", units, by, sums, way)
        self._learn(counted, by, seconds=True)
        if len(carried.bound):
            self._gains(by, seconds=True).carried.learn(counted[-1], self.n)
        shapes = (k, 2, p), (k, 2), (k, k), (k, k)
        return [
            Part(first, m, tuple(
                line[i].reshape(shape).copy() for line, shape in zip(sums, shapes, strict=True)
            ))
            for i, first, m in units.roots
        ]  # fmt: skip

    def resplit(
        self, weight: Array, z: Labels, trial: Labels, chosen: NDArray[np.bool_], pairs: Pairs, *,
        doubts: bool,
    ) -> list[Part]:  # fmt: skip
        """Write the better sub-labels of rows of the chosen clusters: see `Engine.resplit`."""
        k, p = len(chosen), pairs.eta.shape[1]
        sums, units = self._sums("trial sums", k, p, 0)

        def job(shares: Shares, own: Scratch) -> None:
            large_rows.resplit(
                self.rows, weight, chosen, pairs, doubts, shares, own, (z, trial), sums
            )

        self._share(job, "resplit", units, None, sums, large_tiles.ALL)
        return [
            Part(first, m, (sums.current[i].reshape(k, 2, p).copy(), sums.between[i].copy()))
            for i, first, m in units.roots
        ]

    def assign(self, score: Score) -> Labels:
        """Return the best component of each row."""
        by, way = self._begun(score, seconds=False, drawn=False, labelled=False)
        sums, units = self._sums("no sums", 0, 0, 0)
        out = np.empty(self.n, dtype=np.int64)
        labels = out, out[:0]

        def job(shares: Shares, own: Scratch) -> None:
            large_rows.sweep(
                self.rows, _WIDE, by, _NO_PAIRS, _NOT_DRAWN, shares, own, labels, NOTHING, sums
            )

        self._learn(self._share(job, "assign", units, by, sums, way), by, seconds=False)
        return out

    # -- what threads share, and what each has -----------------------------------------------------

    def _sums(self, name: str, k: int, p: int, pairs: int) -> tuple[Totals, Units]:
        """Return memory for the sums of units, and these."""
        leaf = self.sizes.leaf_rows
        size = 8 * (2 * k * p + 3 * k + 2 * pairs)
        units = units_of(self.first_row // leaf, -(-self.n // leaf), self.n_threads, size)
        m = len(units.units)
        return _MEMORY.made(name, (m, k, p), lambda: _totals(m, k, p, pairs)), units

    def _share(
        self, job: Callable[[Shares, Scratch], None], name: str, units: Units,
        by: Components | None, sums: Totals, way: int,
    ) -> Labels:  # fmt: skip
        """Do a job on threads, each of which has memory of its own; return what they counted."""
        n, d, leaf = min(self.n_threads, len(units.units)), self.columns, self.sizes.leaf_rows
        k, centres = (sums.between.shape[1], 0) if by is None else (len(by.eta), by.centre.shape[1])
        rows = leaf if by is None else leaf * min(units.largest, _RUN_LEAVES)
        held = 1 + units.largest.bit_length()
        shape = tuple(line.shape[1] for line in sums)
        with crew_of(n) as crew:
            n = crew.threads
            own = _MEMORY.made(
                name,
                (n, rows, d, k, centres, held, shape),
                lambda: _scratch(n, rows, d, (k, centres), (held, *shape)),
            )
            ways = own.run.way
            ways[:] = 0
            ways[:, 0] = way
            job(units.shares(leaf, crew), own)
        counted: Labels = ways.sum(axis=0)
        return counted

    def _begun(
        self, score: Score, *, seconds: bool, drawn: bool, labelled: bool
    ) -> tuple[Components, int]:
        """Return the components of a score, and the way of a pass."""
        form = form_of(score)
        assert isinstance(form, Products)
        eta = form.eta
        gains = gains_of(len(eta), self.columns, seconds=seconds)
        way = large_tiles.LABELLED if labelled else large_tiles.NEAREST
        straight = form.student and not drawn and len(eta) > 1 and gains.straight.pays()
        way = way if gains.near.pays() else large_tiles.ALL
        with np.errstate(all="ignore"):  # what float32 cannot hold has an error without bound
            by = _components(eta, form.const, form.power, self.columns, straight=straight, way=way)
        return by, way

    def _carried(self, by: Components, *, drawn: bool) -> Carried:
        """Return what a sweep carries, where there are some components."""
        if len(by.eta) < 2:
            return NOTHING
        if drawn:
            return NOTHING if len(by.power) else self.carry.filled(by.eta)
        pays = self.carry.before is not None and self._gains(by, seconds=True).carried.pays()
        return self.carry.told(by, self.columns) if pays else NOTHING

    def _gains(self, by: Components, *, seconds: bool) -> Gains:
        return gains_of(len(by.eta), self.columns, seconds=seconds)

    def _learn(self, counted: Labels, by: Components, *, seconds: bool) -> None:
        """Take note of what a pass left to do."""
        k, (way, scored, tiles, settled, _) = len(by.eta), counted.tolist()
        gains = self._gains(by, seconds=seconds)
        if way:
            gains.near.learn(scored, tiles * k)
        if by.floor > -np.inf:
            gains.straight.learn(settled, self.n)


def _components(
    eta: Array, const: Array, power: Array, d: int, *, straight: bool,
    way: int = large_tiles.NEAREST,
) -> Components:  # fmt: skip
    k = len(eta)
    level = slope = _NARROW
    scaled, bent, by, floor, bend = eta / _LN2, power, np.ones(k), -np.inf, 0.0
    if straight:
        scaled, bent, floor, bend = _straight(eta, const, power)
    linear = bent <= 0.0
    if not linear.all():
        scaled = np.where(linear[:, None], scaled, eta)
        best = 0.0 if linear.any() else float(const.max())  # what all have in common may go
        level, slope = ((const - best) / _LN2).astype(np.float32), bent.astype(np.float32)
        level[~(abs(level) < MOST)] = -MOST
        slope[~(slope < MOST)] = 0.0
        by = np.maximum(bent / _LN2, 1.0)
    narrow, reach = InSingle.of(scaled, by, bend)
    centred = scaled if way == large_tiles.NEAREST else scaled[:0]  # nobody asks for others
    return Components(
        eta, const, power, narrow, np.ascontiguousarray(scaled.T), level, slope, reach,
        np.abs(scaled).max(axis=0), _centres(centred, d), floor, bend,
    )  # fmt: skip


def _straight(eta: Array, const: Array, power: Array) -> tuple[Array, Array, float, float]:
    """Return parameters whose products are near Student-t scores, in units of log 2.

    Scores of clusters with many points hardly bend: ``const - power log(q)`` is close to a line,
    from its best, where q is 1, to some bits below. Beyond that the line is below the score. Also
    returns the powers (k,) of those that bend, which stay as they are, 0 for others; what scores
    are at most beyond their lines; and how far they are off before.
    """
    heavy, (least, most) = power > 0.0, _STRAIGHT
    some = float(np.sort(power[heavy])[int(_BENDING * heavy.sum())]) if heavy.any() else 0.0
    depth = min(4.0 * np.sqrt(_BEND * some / _LN2), most)  # most do not bend so far
    high = np.where(heavy, power, np.inf)
    steep = depth / np.expm1(depth * _LN2 / high)
    middle = high / (_LN2 * steep)  # where the line is furthest above the score
    bend = 0.5 * (high * np.log2(middle) - steep * (middle - 1.0)) + 1e-15 * steep  # and rounding
    line = heavy & (bend <= _BEND)
    if depth < least or not line.any():
        return eta / _LN2, power, -np.inf, 0.0
    best = const / _LN2
    scaled = np.where(line, -steep, 1.0 / _LN2)[:, None] * eta
    scaled[line, 0] += (best + steep - bend)[line]
    floor = float(best[line].max()) - depth
    return scaled, np.where(line, 0.0, power), floor, float(bend[line].max())


def _centres(eta: Array, d: int) -> NDArray[np.float32]:
    """Return where quadratic functions have their extremes, as `nearby.nearest` takes them."""
    k, (i, j) = len(eta), upper(d)
    out = np.zeros((k + -k % 4, d + 1 + -d % COLUMNS), dtype=np.float32)
    out[k:, 0] = _FAR
    bent = np.empty((k, d, d))
    bent[:, i, j] = bent[:, j, i] = eta[:, 1 + d :]
    bent[:, range(d), range(d)] *= 2.0
    try:
        centre = np.linalg.solve(-bent, eta[:, 1 : 1 + d, None])[..., 0]
    except np.linalg.LinAlgError:  # some functions are flat
        return out
    level = -0.5 * (centre**2).sum(axis=1)
    good = np.isfinite(level) & (level > _FAR)
    out[:k, 0] = np.where(good, level, _FAR)
    out[:k, 1 : 1 + d][good] = centre[good]
    return out


def _totals(m: int, k: int, p: int, pairs: int) -> Totals:
    """Return memory for the sums of m nodes."""
    return Totals(
        np.empty((m, 2 * k * p)), np.empty((m, 2 * k), np.int64), np.empty((m, pairs), np.int64),
        np.empty((m, pairs or k)),
    )  # fmt: skip


def _scratch(
    threads: int, rows: int, d: int, tiles: tuple[int, int], sums: tuple[int, ...]
) -> Scratch:
    """Return memory for threads, each of which takes runs of so many rows."""
    m, current, counts, rivals, between = sums
    k, centres = tiles
    p, each = (d + 1) * (d + 2) // 2, partial(for_each, threads)
    Z = each((rows, d))
    return Scratch(
        Z, Z.reshape(len(Z), -1), each(((p + GROUP + 5) * WIDTH,)), each((rows,), np.int64),
        each((rows,)),
        Run(each((rows,), np.int64), each((k + 2,), np.int64), each((2, rows)),
            each((5,), np.int64)),
        Tiles.of(threads, k, d, centres),
        Totals(each((m, current)), each((m, counts), np.int64), each((m, rivals), np.int64),
               each((m, between))),
    )  # fmt: skip
