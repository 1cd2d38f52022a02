"""Categorical clusters (columns of codes or words) under Dirichlet priors."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import gammaln

from scstream.families.categories import (
    by_label,
    categories_of,
    check_places,
    checked_known,
    checked_width,
    newcomers,
    of_rows,
)
from scstream.families.columns import columns_of
from scstream.families.contract import Array, Family
from scstream.families.draws import log_gammas
from scstream.families.evidence import at_most
from scstream.families.product_blocks import slices
from scstream.families.scores import LinearScore, Points, Score
from scstream.families.share_division import CategoricalDivision
from scstream.support.given import as_floats

_MASSES = 2.0 ** np.arange(-3, 11)  # total prior counts among which the evidence chooses
_ROOM = 8  # places for later categories, besides as many as there were at first
_UNKNOWN = 1e9  # the code of a category without a place
_DENSE = 256  # statistics wider than this are kept in compressed rows


class Categorical(Family):
    """Clusters of categories, independent columns each with probabilities of its own.

    Parameters
    ----------
    concentration : float or sequence, optional
        The Dirichlet prior: one number for every category of every column, or for each column a
        number or one for each of its places. By default it is proportional to the first
        batch's frequencies, and its sum is, for each column, the one under which the clusters
        found in that batch are the most probable.
    max_categories : int, default=1000
        No column has more places for categories than this.

    Notes
    -----
    A column holds words, truth values or whole numbers; missing entries are left out.

    A column has a place for each category of the first batch, the commonest first, for as many
    others and eight more, and one for all the rest. A category that comes later takes the next
    free place; when there is none left it counts as one of the rest, which are not distinguished.
    The free places share half a point of the prior, so a category that was never seen is
    unlikely in every cluster, and the same everywhere but for the clusters' sizes.

    Examples
    --------
    >>> import numpy as np
    >>> from scstream import ScStream
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.choice(["ash", "oak", "elm"], (90, 6), p=[0.9, 0.05, 0.05]),
    ...           rng.choice(["ash", "oak", "elm"], (90, 6), p=[0.05, 0.05, 0.9])]
    >>> model = ScStream("categorical", random_state=0).fit(X)
    >>> model.n_clusters_
    2
    >>> sorted(model.clusters_[0].columns[0]["probabilities"])
    ['(other)', 'ash', 'elm', 'oak']
    """

    name: ClassVar[str] = "categorical"
    missing: ClassVar[bool] = True
    tabular: ClassVar[bool] = True
    text: ClassVar[bool] = True
    kept: ClassVar[Mapping[str, str]] = {
        "_known": "any?", "_width": "any", "_base": "d+", "_conc": "d+",
    }  # fmt: skip

    _known: tuple[tuple[Any, ...], ...] | None = None  # the categories of each column, in order
    _width: NDArray[np.int64] = np.zeros(0, np.int64)  # (d,): places of each column, see Notes
    _start: NDArray[np.int64]  # (d,): where they begin
    _base: Array  # (p - 1,): frequencies in the first batch
    _conc: Array  # (p - 1,): the Dirichlet parameters
    _prior: Array
    _log_z: float

    def __init__(self, concentration: Any = None, max_categories: int = 1000) -> None:
        self.concentration = concentration
        self.max_categories = max_categories

    # -- set-up ---------------------------------------------------------------------------------

    def meet(self, X: Points, before: Family | None) -> Family:
        """Return a copy that knows the batch's categories behind those known before."""
        table = columns_of(X)
        known = before._known if isinstance(before, Categorical) else None
        if known is None:
            known = ((),) * len(table.values)
        new = copy.copy(self)
        most = self._width if len(self._width) else np.full(len(known), self.max_categories)
        rooms = most - 1
        new._known = tuple(
            old + newcomers(table, j, old)[: max(int(rooms[j]) - len(old), 0)]
            for j, old in enumerate(known)
        )
        return new

    def aware_of(self, other: Family) -> Self:
        """Return a copy that also has places for the categories that another has met."""
        if not isinstance(other, Categorical) or len(other.known) != len(self.known):
            return self
        new = copy.copy(self)
        both = zip(self.known, other.known, self._width.tolist(), strict=True)
        new._known = tuple(
            (*mine, *(label for label in theirs if label not in mine))[: width - 1]
            for mine, theirs, width in both
        )
        return new

    def reframed(self, sums: Array, before: Family) -> Array | None:
        """Return statistics (m, p) with each category at its place here, unknown ones at the last.

        Codes without names keep their places.
        """
        if not isinstance(before, Categorical) or len(before._width) != len(self._width):
            return None
        if len(before.known) != len(self.known):
            return None
        out = sums[:, :1]
        for j, (mine, theirs) in enumerate(zip(self.places, before.places, strict=True)):
            n, last = theirs.stop - theirs.start, mine.stop - mine.start - 1
            to = np.minimum(np.arange(n), last)
            if self.known:
                place = {label: code for code, label in enumerate(self.known[j])}
                here = [min(place.get(label, last), last) for label in before.known[j][: n - 1]]
                to = np.array(here + [last] * (n - len(here)))
            moved = np.eye(last + 1)[to]
            out = np.concatenate([out, sums[:, 1:][:, theirs] @ moved], axis=1)
        return np.ascontiguousarray(out)

    def recoded(self, X: Points, before: Any) -> Points:
        """Return codes (n, d) of another's categories as codes of the same ones here."""
        out = np.array(X, dtype=np.float64)
        for j, (mine, theirs) in enumerate(zip(self.known, before.known, strict=True)):
            place = {label: float(code) for code, label in enumerate(mine)}
            to = np.array([place.get(label, _UNKNOWN) for label in theirs])
            code = out[:, j]
            met = code < len(to)  # neither missing nor unknown
            out[met, j] = to[code[met].astype(np.int64)]
        return out

    @property
    def known(self) -> tuple[tuple[Any, ...], ...]:
        """The categories of each column that were met, in the order of their places."""
        return () if self._known is None else self._known

    @property
    def places(self) -> list[slice]:
        """Where the places of each column are, behind the count."""
        return slices(self._width.tolist())

    def check(self, X: Points) -> Points:
        """Return codes (n, d) of the categories, NaN for what is missing.

        A family that has met no batch takes whole numbers for codes.
        """
        table = columns_of(X)
        out = np.full(table.shape, np.nan)
        for j, values in enumerate(table.values):
            labels, at, seen = categories_of(table, j, self._known[j] if self._known else ())
            codes = labels
            if self._known is not None:
                place = {label: code for code, label in enumerate(self._known[j])}
                codes = [place.get(label, _UNKNOWN) for label in labels]
            elif any(isinstance(label, str) or label < 0 for label in labels):
                raise table.refuse(j, f"holds {values[seen][0]!r}: codes are numbers from 0.")
            out[seen, j] = np.asarray(codes, dtype=np.float64)[at]
        return out

    def prepare(self, X: Points) -> Self:
        """Return a copy with places for the categories and a prior."""
        d = X.shape[1]
        most = check_places(self.max_categories)
        new = copy.copy(self)
        inside = np.where(X < _UNKNOWN, X, -1.0)
        top = inside.max(axis=0, initial=-1.0).astype(np.int64) + 1
        if self._known is not None:
            top = np.maximum(top, [len(labels) for labels in self._known])
        new._width = np.minimum(2 * top + _ROOM, most) + 1
        new._start = np.concatenate([[0], np.cumsum(new._width)[:-1]])
        count = np.asarray(new.statistics(X).sum(axis=0)).ravel()[1:]
        used = np.minimum(top, new._width - 1)
        named = np.concatenate([np.arange(w) < u for w, u in zip(new._width, used, strict=True)])
        spare = np.repeat(new._width - used, new._width)
        weight = np.where(named, count + 0.5, (count + 0.5) / spare)
        new._base = weight / np.repeat(np.add.reduceat(weight, new._start), new._width)
        if self.concentration is None:
            return new._with(np.repeat(used + 1.0, new._width) * new._base)
        return new._with(new._given(named, spare, d))

    def _given(self, named: NDArray[np.bool_], spare: NDArray[np.int64], d: int) -> Array:
        """Return the concentrations (p - 1,) that the user gave."""
        given = self.concentration
        each = list(given) if isinstance(given, list | tuple | np.ndarray) else [given] * d
        if len(each) != d:
            raise ValueError(
                f"concentration must be a number or have one entry for each of the {d} columns; "
                f"it has {len(each)}."
            )
        out = []
        for j, value in enumerate(each):
            conc = as_floats(value, "concentration")
            at = slice(self._start[j], self._start[j] + self._width[j])
            if conc.ndim == 0:
                conc = np.where(named[at], conc, conc / spare[at])
            if conc.shape != (self._width[j],):
                raise ValueError(
                    f"concentration of column {j} must be a number or have one entry for each of "
                    f"its {self._width[j]} places; it has shape {conc.shape}."
                )
            out.append(conc)
        conc = np.concatenate(out)
        if not np.all(np.isfinite(conc)) or np.any(conc <= 0):
            raise ValueError("concentration must be positive and finite.")
        return conc

    def _with(self, conc: Array) -> Self:
        new = copy.copy(self)
        new._conc, new._prior = conc, np.concatenate([[0.0], conc])
        new._log_z = float(new.log_partition(new._prior))
        return new

    def adapt(self, clusters: Array) -> Self:
        """Return a copy with the total counts that make the clusters most probable."""
        if self.concentration is not None:
            return self
        trials = [self._with(mass * self._base) for mass in _MASSES]
        both = [(t._log_partitions(t.prior + clusters), t._log_partitions(t.prior)) for t in trials]
        level = [(after - before).sum(axis=0) for after, before in both]
        mass = _MASSES[np.argmax(level, axis=0)]
        return self._with(np.repeat(mass, self._width) * self._base)

    def settled(self, k: int) -> Self:
        """Return the copy for the rest of the stream: from k clusters, at most k a category."""
        if self.concentration is not None:
            return self
        used = np.maximum((self._width - 1 - _ROOM) // 2, 1)  # at first
        mass = np.add.reduceat(self._prior[1:], self._start)
        share = at_most(mass, k, used + 1.0) / mass
        return self._with(np.repeat(share, self._width) * self._prior[1:])

    def remade(self) -> Self:
        """Return the copy with its places and its prior."""
        new = copy.copy(self)
        new._width = checked_width(self._width, len(self._base))
        new._start = np.concatenate([[0], np.cumsum(new._width)[:-1]])
        if self._known is not None:
            new._known = checked_known(self._known, new._width)
        return new._with(self._conc)

    def columns_taken(self) -> int | None:
        """Return how many columns have places."""
        return len(self._width) or None

    def sound(self, X: Points) -> bool:
        """Whether rows have the form that `check` returns."""
        if not isinstance(X, np.ndarray):
            return False
        codes = X[~np.isnan(X)]
        return bool(np.all((codes >= 0) & (codes <= _UNKNOWN) & (codes == np.floor(codes))))

    def hyperparameters(self) -> dict[str, Any]:
        """Return the Dirichlet parameters of each column."""
        conc = [
            self._prior[1 + a : 1 + a + w] for a, w in zip(self._start, self._width, strict=True)
        ]
        return {"concentration": conc, "max_categories": self.max_categories}

    # -- the family proper ----------------------------------------------------------------------

    def statistics(self, X: Points) -> Points:
        """Return a 1 at the place of each category, behind the row's count."""
        n, p = X.shape[0], 1 + int(self._width.sum())
        seen = ~np.isnan(X)
        place = np.minimum(np.where(seen, X, 0.0), self._width - 1).astype(np.int64)
        place += 1 + self._start
        row, column = np.nonzero(seen)
        if p <= _DENSE:
            T = np.zeros((n, p))
            T[:, 0] = 1.0
            T[row, place[row, column]] = 1.0
            return T
        indices = np.concatenate([np.zeros((n, 1), dtype=np.int64), place], axis=1)
        kept = np.concatenate([np.ones((n, 1), dtype=bool), seen], axis=1)
        indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
        data = np.ones(int(indptr[-1]))
        return sparse.csr_array((data, indices[kept], indptr), shape=(n, p))

    def log_base(self, X: Points) -> Array:
        """Return zeros: the base measure is constant."""
        return np.zeros(X.shape[0])

    @property
    def prior(self) -> Array:
        """The Dirichlet parameters behind a count of 0."""
        return self._prior

    def totals(self, conc: Array) -> Array:
        """Return the sums (..., d) over each column's places."""
        return np.add.reduceat(conc, self._start, axis=-1)

    def _log_partitions(self, tau: Array) -> Array:
        conc = tau[..., 1:]
        out: Array = self.totals(gammaln(conc)) - gammaln(self.totals(conc))
        return out

    def log_partition(self, tau: Array) -> Array:
        """Return the log of the Dirichlets' normalisers."""
        out: Array = self._log_partitions(tau).sum(axis=-1)
        return out

    def log_marginal(self, s: Array) -> Array:
        """Return the log marginal likelihood of clusters."""
        return self.log_partition(self._prior + s) - self._log_z

    def draw(self, rng: np.random.Generator, tau: Array) -> Array:
        """Draw log probabilities from Dirichlets."""
        conc = tau[..., 1:]
        log_g = log_gammas(rng, conc)
        total = np.logaddexp.reduceat(log_g, self._start, axis=-1)
        eta = np.zeros(tau.shape)
        eta[..., 1:] = log_g - np.repeat(total, self._width, axis=-1)
        return eta

    def shares(self, tau: Array) -> Array:
        """Return expected probabilities (..., p - 1)."""
        conc = tau[..., 1:]
        return conc / np.repeat(self.totals(conc), self._width, axis=-1)

    def predictive_score(self, s: Array, log_weight: Array) -> Score:
        """Score points by the expected probabilities, which equal the predictives."""
        log_p = np.log(self.shares(self._prior + s))
        return LinearScore(np.concatenate([log_weight[:, None], log_p], axis=1))

    def counts_of(self, counts: Array) -> Array:
        """Return statistics (..., p - 1) from counts (..., d, m) of the columns' first places."""
        out = np.zeros((*counts.shape[:-2], int(self._width.sum())))
        for j, start in enumerate(self._start):
            out[..., start : start + counts.shape[-1]] = counts[..., j, :]
        return out

    def embed(self, X: Points) -> Points:
        """Return a 1 at each category's place, and frequencies in place of what is missing."""
        T = self.statistics(X)[:, 1:]
        if not isinstance(T, np.ndarray):
            return T
        gap = np.repeat(np.isnan(X), self._width, axis=1)
        return np.where(gap, self._base, T)

    # -- how it shows itself --------------------------------------------------------------------

    def describe(self, tau: Array) -> dict[str, Array]:
        """Return the clusters' expected probabilities, column after column."""
        return {"probabilities": self.shares(tau)}

    def describe_columns(
        self, tau: Array, names: Sequence[Any], seen: Array | None = None
    ) -> list[dict[Any, Any]]:
        """Return for each cluster the shares of each column's categories among its rows."""
        labels = [self._labels(j) for j in range(len(names))]
        return [
            {
                name: {"probabilities": by_label(labels[j], row[a : a + w])}
                for j, (name, a, w) in enumerate(zip(names, self._start, self._width, strict=True))
            }
            for row in self.shares(of_rows(tau, self._prior))
        ]

    def _labels(self, j: int) -> list[Any]:
        if self._known is not None:
            return list(self._known[j][: self._width[j] - 1])
        return list(range(int(self._width[j]) - 1))

    # -- moves ----------------------------------------------------------------------------------

    @property
    def division(self) -> CategoricalDivision:
        """Divisions by log ratios of probabilities."""
        return CategoricalDivision(self)

    @property
    def widths(self) -> NDArray[np.int64]:
        """How many places each column (d,) has."""
        return self._width
