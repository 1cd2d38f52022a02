"""Families that are made of others: independent parts of a row, each with a family of its own."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scstream.encoders.rounding import Rounding
from scstream.families.contract import Array, Family
from scstream.families.division import Division, Projection, Side
from scstream.families.gaps import Imputation
from scstream.families.product_blocks import slices
from scstream.families.product_scores import JoinedImputation, SumScore
from scstream.families.saved import saved_of
from scstream.families.scores import LinearScore, Points, Score
from scstream.support import rowwise


class Joined(Family):
    """A family whose statistics are those of its parts behind one common count.

    Parts are independent within a cluster. So densities and marginals are products of the parts'.
    """

    _families: Sequence[Family] = ()  # one for each part
    _columns: Sequence[slice] = ()  # the checked rows of each part
    _parts: Sequence[slice] = ()  # the statistics of each part, once it is prepared

    # -- parts ----------------------------------------------------------------------------------

    def _having(self, families: list[Family]) -> Self:
        """Return a copy with other families for its parts."""
        new = copy.copy(self)
        new._families = families
        return new

    def _with_parts(self) -> Self:
        """Set where each part's statistics are in this copy's."""
        self._parts = [
            slice(part.start + 1, part.stop + 1)
            for part in slices([len(f.prior) - 1 for f in self._families])
        ]
        return self

    def _divided(self, s: Array) -> list[Array]:
        """Return each part of statistics (..., p), the count in front of each."""
        return divided(self._parts, s)

    def _divided_posterior(self, tau: Array) -> list[Array]:
        """Return each part's ``tau`` (..., p)."""
        parts = self._divided(tau)
        for family, part in zip(self._families, parts, strict=True):
            part[..., 0] += family.prior[0]
        return parts

    def _changed(self, change: Callable[[Family, Array], Family], clusters: Array) -> Self:
        """Return a copy with each part's family changed, given its part of the clusters."""
        parts = zip(self._families, self._divided(clusters), strict=True)
        return self._having([change(family, s) for family, s in parts])

    def aware_of(self, other: Family) -> Self:
        """Return a copy whose parts know the words that those of another have met."""
        if type(other) is not type(self) or len(other._families) != len(self._families):
            return self
        pairs = zip(self._families, other._families, strict=True)
        return self._having([mine.aware_of(theirs) for mine, theirs in pairs])

    def reframed(self, sums: Array, before: Family) -> Array | None:
        """Return statistics (m, p) of the same parts, if each can; None if their forms differ."""
        if not isinstance(before, type(self)):
            return None
        families = self._alike_in(before)
        if families is None:
            return None
        out = [sums[:, :1]]
        for mine, theirs, s in zip(self._families, families, before._divided(sums), strict=True):
            part = mine.reframed(s, theirs)
            if part is None:
                return None
            out.append(part[:, 1:])
        return np.ascontiguousarray(np.concatenate(out, axis=1))

    def _alike_in(self, before: Joined) -> Sequence[Family] | None:
        """Return another's parts as parts of this form, None if it has another form."""
        return before._families if _equal(self._form(), before._form()) else None

    def difference(self, before: Family) -> str:
        """Return the reason of the first part that has one."""
        if isinstance(before, Joined):
            for mine, theirs in zip(self._families, before._families, strict=False):
                if mine.reframed(np.zeros((0, len(theirs.prior))), theirs) is None:
                    return mine.difference(theirs)
        return super().difference(before)

    def recoded(self, X: Points, before: Any) -> Points:
        """Return each part's columns as that part checks them."""
        parts = zip(self._families, before._families, before._columns, strict=True)
        return np.concatenate([mine.recoded(X[:, c], own) for mine, own, c in parts], axis=1)

    def _form(self) -> dict[str, Any]:
        """Return what is saved of this copy but its parts."""
        saved = {n: v for n, v in saved_of(self).items() if n not in ("_family", "_families")}
        return {**saved, "kinds": [type(family) for family in self._families]}

    # -- rows -----------------------------------------------------------------------------------

    def columns_taken(self) -> int | None:
        """Return how many columns checked rows have, None as long as that is not known."""
        return self._columns[-1].stop if self._columns else None

    def width(self, d: int) -> int:
        """Return the same: columns of the table in no part are left out."""
        return self._columns[-1].stop if self._columns else d

    def sound(self, X: Points) -> bool:
        """Whether rows have the form that `check` returns."""
        if not isinstance(X, np.ndarray):
            return False
        parts = zip(self._families, self._columns, strict=True)
        return all(f.sound(sparse.csr_array(X[:, c]) if f.sparse else X[:, c]) for f, c in parts)

    # -- set-up ---------------------------------------------------------------------------------

    def adapt(self, clusters: Array) -> Self:
        """Return a copy whose parts suit the clusters (k, p)."""
        return self._changed(lambda family, s: family.adapt(s), clusters)

    def simplified(self, on: bool) -> Self:
        """Return a copy with simpler parts, or with all in full; itself if that is the same."""
        return self._each([family.simplified(on) for family in self._families])

    def _each(self, families: list[Family]) -> Self:
        """Return a copy with such families for its parts, itself if they are the ones it has."""
        same = all(a is b for a, b in zip(families, self._families, strict=True))
        return self if same else self._having(families)

    def follow(self, clusters: Array, latest: Array) -> Self:
        """Return a copy whose parts follow the clusters (k, p)."""
        own = iter(self._divided(latest))
        return self._changed(lambda family, s: family.follow(s, next(own)), clusters)

    def settled(self, k: int) -> Self:
        """Return the copy for the rest of the stream."""
        return self._having([family.settled(k) for family in self._families])

    @property
    def frame(self) -> tuple[Array, Array]:
        """Centre and scale of the columns of all parts with such, side by side."""
        frames = [f.frame for f in self._families if f.real or isinstance(f, Joined)]
        if not frames:
            return super().frame
        shift, scale = zip(*frames, strict=True)
        return np.concatenate(shift), np.concatenate(scale)

    # -- the family proper ----------------------------------------------------------------------

    def statistics(self, X: Points) -> Points:
        """Return the parts' statistics behind one common count."""
        parts = [f.statistics(X[:, c]) for f, c in zip(self._families, self._columns, strict=True)]
        if any(sparse.issparse(part) for part in parts):
            each = [parts[0], *(part[:, 1:] for part in parts[1:])]
            return sparse.hstack([sparse.csr_array(r) for r in each], format="csr")
        return np.concatenate([parts[0], *(part[:, 1:] for part in parts[1:])], axis=1)

    def log_base(self, X: Points) -> Array:
        """Return the sum of the parts' base measures (n,)."""
        parts = zip(self._families, self._columns, strict=True)
        return rowwise.sums(np.column_stack([f.log_base(X[:, c]) for f, c in parts]))

    @property
    def prior(self) -> Array:
        """The parts' priors behind a count of 0; each part adds its own count again."""
        return np.concatenate([[0.0], *(family.prior[1:] for family in self._families)])

    def log_partition(self, tau: Array) -> Array:
        """Return the sum of the parts' log-normalisers."""
        parts = zip(self._families, self._divided_posterior(tau), strict=True)
        out: Array = np.sum([family.log_partition(part) for family, part in parts], axis=0)
        return out

    def log_marginal(self, s: Array) -> Array:
        """Return the sum of the parts' log marginal likelihoods."""
        parts = zip(self._families, self._divided(s), strict=True)
        out: Array = np.sum([family.log_marginal(part) for family, part in parts], axis=0)
        return out

    def draw(self, rng: np.random.Generator, tau: Array) -> Array:
        """Draw each part's parameters."""
        parts = zip(self._families, self._divided_posterior(tau), strict=True)
        return _summed([family.draw(rng, part) for family, part in parts])

    def predictive_score(self, s: Array, log_weight: Array) -> Score:
        """Score points by the product of the parts' predictives."""
        nothing = np.zeros(len(s))
        scores = [
            family.predictive_score(part, nothing)
            for family, part in zip(self._families, self._divided(s), strict=True)
        ]
        eta = np.zeros(s.shape)
        eta[:, 0] = log_weight
        other = []
        for score, part in zip(scores, self._parts, strict=True):
            if isinstance(score, LinearScore):
                eta[:, 0] += score.eta[:, 0]
                eta[:, part] = score.eta[:, 1:]
            else:
                other.append((score, part))
        return SumScore(LinearScore(eta), other)

    # -- moves ----------------------------------------------------------------------------------

    @property
    def imputation(self) -> Imputation | None:
        """The imputation of the parts that have one."""
        if all(family.imputation is None for family in self._families):
            return None
        return JoinedImputation(self._families, self._columns, self._parts)

    @property
    def rounding(self) -> Rounding | None:
        """The rounding of the parts that have one."""
        parts = zip(self._families, self._columns, strict=True)
        each = [(f.rounding, c) for f, c in parts if f.rounding is not None]
        return JoinedRounding(each) if each else None

    @property
    def division(self) -> Division:
        """Divisions by the sum of the parts' discriminants."""
        return JoinedDivision([family.division for family in self._families], self._parts)


class JoinedRounding:
    """Spreads the coarse numbers of each part over their cells."""

    def __init__(self, each: Sequence[tuple[Rounding, slice]]) -> None:
        self._each = each

    def spread(self, X: Array, batch: int, first_row: int = 0) -> Array:
        """Return rows with such numbers at places within their cells."""
        out = X.copy()
        for rounding, columns in self._each:
            out[:, columns] = rounding.spread(X[:, columns], batch, first_row)
        return out


class JoinedDivision(Division):
    """Cuts clusters whose rows have independent parts, each with a division of its own."""

    def __init__(self, each: Sequence[Division], parts: Sequence[slice]) -> None:
        self._each, self._parts = each, parts

    def directions(self, s: Array, member: Array, attempt: NDArray[np.int64]) -> Array:
        """Propose to cut by one part in turn, or by all of them together."""
        m = len(self._each)
        turn, attempt = attempt % (m + 1), attempt // (m + 1)
        found = []
        for i, (division, own, point) in enumerate(
            zip(self._each, divided(self._parts, s), divided(self._parts, member), strict=True)
        ):
            alone = division.directions(own, point, attempt)
            together = division.directions(own, point, 2 * attempt + 1)
            used = np.where((turn == i)[:, None], alone, 0.0)
            found.append(np.where((turn == m)[:, None], together, used))
        return _summed(found)

    def discriminant(self, first: Array, second: Array) -> list[Any]:
        """Return the parts' discriminants, whose sum it is."""
        groups = zip(
            self._each, divided(self._parts, first), divided(self._parts, second), strict=True
        )
        return [division.discriminant(a, b) for division, a, b in groups]

    def project(self, past: Array, discriminant: list[Any]) -> Projection:
        """Return the sums of the parts' means and variances, which are independent."""
        pieces = zip(self._each, divided(self._parts, past), discriminant, strict=True)
        each = [division.project(own, cut) for division, own, cut in pieces]
        return Projection(*(np.sum(both, axis=0) for both in zip(*each, strict=True)))

    def cut(self, past: Array, discriminant: list[Any], side: Side) -> Array:
        """Return the parts of the past on a side of their common discriminant."""
        pieces = zip(self._each, divided(self._parts, past), discriminant, strict=True)
        parts = [division.cut(own, cut, side) for division, own, cut in pieces]
        return np.concatenate([parts[0], *(part[..., 1:] for part in parts[1:])], axis=-1)


def divided(parts: Sequence[slice], s: Array) -> list[Array]:
    """Return parts of statistics (..., p), the count in front of each."""
    return [np.concatenate([s[..., :1], s[..., part]], axis=-1) for part in parts]


def _equal(one: Any, other: Any) -> bool:
    """Whether forms are the same, arrays included."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(v, other[n]) for n, v in one.items())
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    return bool(one == other)


def _summed(parts: Sequence[Array]) -> Array:
    """Return functionals (k, p) that are the sums of the parts' own."""
    constant = np.sum([part[:, :1] for part in parts], axis=0)
    return np.concatenate([constant, *(part[:, 1:] for part in parts)], axis=1)
