"""Multinomial clusters (rows of counts) under a Dirichlet prior."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import gammaln

from scstream import core
from scstream.families.bursts import CountTrials, frequencies, mean_by_repeats
from scstream.families.columns import not_counts
from scstream.families.contract import Array, Family
from scstream.families.count_scores import CountRows, CountScore
from scstream.families.draws import log_gammas
from scstream.families.evidence import at_most, most_probable
from scstream.families.scores import Labels, Points, Score
from scstream.families.share_division import CountDivision
from scstream.support.given import positive_vector
from scstream.support.threads import over_slices

_COUNTS = 2.0 ** np.arange(12)  # prior counts a category, on average, from which to choose
_SHARED = 2**18  # entries of clusters from which their log marginals are work for threads
_AT_A_TIME = 2**22  # entries of which log gammas are held at a time: dictionaries can be large


class Multinomial(Family):
    """Clusters of count vectors, each with category probabilities of its own.

    Parameters
    ----------
    concentration : float or array-like (d,), optional
        Parameters of the Dirichlet prior, one for all categories or one each. By default they
        are proportional to the first batch's category frequencies, and their mean, at least 1,
        is the one under which the clusters found in that batch are the most probable. It is less
        where words that a row repeats suggest so, and words that rows of a cluster share bear it
        out: that is, where words do not come in bursts.

    Examples
    --------
    >>> import numpy as np
    >>> from scstream import ScStream
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.multinomial(50, [.8, .1, .1], 60), rng.multinomial(50, [.1, .1, .8], 60)]
    >>> ScStream("multinomial", random_state=0).fit(X).n_clusters_
    2
    """

    name: ClassVar[str] = "multinomial"
    positive_only: ClassVar[bool] = True
    sparse: ClassVar[bool] = True
    kept: ClassVar[Mapping[str, str]] = {
        "_conc": "d+", "_base": "d+?", "_by_repeats": "+?", "_faint": "?",
    }  # fmt: skip

    _by_repeats: float = 1.0  # the mean prior count that the first batch's repeated words suggest
    _faint: float = 0.0  # 1 if the prior is that one
    _base: Array  # (d,): category frequencies of the first batch
    _conc: Array  # (d,): the Dirichlet parameters
    _prior: Array
    _whole: float  # the sum of the prior's entries
    _log_gammas: Array  # (1 + d,): of the prior's entries

    def __init__(self, concentration: ArrayLike | None = None) -> None:
        self.concentration = concentration

    def check(self, X: Points) -> Points:
        """Return counts as compressed rows of float64."""
        rows = _compressed(X)
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        if not_counts(rows.data) is None:
            return rows
        low = np.flatnonzero(rows.data < 0)
        if len(low):
            at = low[0]
            raise ValueError(
                "Negative values in data: counts cannot be negative, but column "
                f"{rows.indices[at]} holds {rows.data[at]:g}. "
                "For real-valued data use family='gaussian'."
            )
        at = np.flatnonzero(rows.data != np.floor(rows.data))[0]
        raise ValueError(
            f"Counts must be whole numbers, but column {rows.indices[at]} holds "
            f"{rows.data[at]:g}. "
            "Round them, count words instead of weighing them (tf-idf), or use family='gaussian' "
            "for real-valued data."
        )

    def refusal(self, x: Array) -> str | None:
        """Return why a column's numbers are not counts, None if they are."""
        return not_counts(x)

    def prepare(self, X: Points) -> Self:
        """Return a copy whose Dirichlet parameters are set."""
        d = X.shape[1]
        new = copy.copy(self)
        if self.concentration is None:
            new._base = frequencies(X)
            new._by_repeats = mean_by_repeats(X, new._base)
            return new._with(d * new._base)
        return new._with(positive_vector(self.concentration, d, "concentration"))

    def _with(self, conc: Array) -> Self:
        self._conc, self._prior = conc, np.concatenate([[0.0], conc])
        self._whole = float(conc.sum())
        self._log_gammas = gammaln(np.maximum(self._prior, 1e-300))
        return self

    def faint(self, mean: float) -> Self:
        """Return a copy with a weak prior, of that mean count a category."""
        new = copy.copy(self)._with(mean * len(self._base) * self._base)
        new._faint = 1.0
        return new

    def of_columns(self, some: NDArray[np.int64]) -> Self:
        """Return a copy for some categories (m,), with another for all others behind them."""
        conc = self._prior[1:]
        rest = max(self._whole - conc[some].sum(), 0.0) + np.finfo(float).tiny
        new = copy.copy(self)._with(np.append(conc[some], rest))
        new._base = new._prior[1:] / new._whole
        return new

    @property
    def prior_trials(self) -> CountTrials | None:
        """Weak priors that are tried, unless one is given."""
        return CountTrials(self, self._by_repeats) if self.concentration is None else None

    def is_faint(self) -> bool:
        """Whether a weak prior was borne out: then rows are short, or clusters much alike."""
        return bool(self._faint)

    def points_for_a_shape(self) -> int:
        """Return how many rows show the words of a cluster where rows say little, 0 elsewhere.

        Rows of new topics come to an old cluster together, which no division in two tells apart.
        """
        return len(self._conc) if self.is_faint() else 0

    def adapt(self, clusters: Array) -> Self:
        """Return a copy with the total prior count that makes the clusters most probable.

        It is never weaker than a uniform prior: in texts words come in bursts, and under a weak
        prior every burst is a cluster. If rows have shown that they have none it stays as it is:
        groups of short rows, or a single cluster, would say that clusters are all the same.
        """
        if self.concentration is not None or self.is_faint():
            return self
        d = len(self._base)
        trials = [copy.copy(self)._with(count * d * self._base) for count in _COUNTS]
        return most_probable(trials, clusters)

    def settled(self, k: int) -> Self:
        """Return the copy for the rest of the stream: from k clusters, at most k a category.

        Where words come in bursts the prior stays as strong as the clusters say.
        """
        most = float(at_most(self._whole, k, len(self._prior) - 1))
        if self.concentration is not None or self._by_repeats < _COUNTS[0] or most == self._whole:
            return self
        return copy.copy(self)._with(most * self._base)

    def remade(self) -> Self:
        """Return the copy with its prior."""
        return self._with(self._conc)

    def sound(self, X: Points) -> bool:
        """Whether rows have the form that `check` returns."""
        return sparse.issparse(X) and not_counts(X.data) is None and bool(np.isfinite(X.data).all())

    def enough_rows(self, d: int) -> int:
        """Return how many rows set the prior for good, which is a single number besides."""
        return 20

    def statistics(self, X: Points) -> Points:
        """Return ``(1, x)`` of each row, as compressed rows."""
        X = _compressed(X)
        first = X.indptr[:-1]
        data, indices = np.insert(X.data, first, 1.0), np.insert(X.indices + 1, first, 0)
        indptr = X.indptr + np.arange(len(X.indptr), dtype=X.indptr.dtype)
        return X.made(data, indices, indptr, X.shape[1] + 1)

    def reframed(self, sums: Array, before: Family) -> Array | None:
        """Return statistics (m, p) of the same categories: they know no frame."""
        same = isinstance(before, Multinomial) and len(before.prior) == len(self.prior)
        return sums if same else None

    def log_base(self, X: Points) -> Array:
        """Return the log multinomial coefficients (n,)."""
        X = _compressed(X)
        cells = X.made(_log_factorials(X.data), X.indices, X.indptr, X.shape[1])
        ones = np.ones(X.shape[1])  # products with them add up row after row, entry after entry
        out: Array = gammaln(X @ ones + 1.0) - cells @ ones
        return out

    @property
    def prior(self) -> Array:
        """The Dirichlet parameters behind a count of 0."""
        return self._prior

    def log_partition(self, tau: Array) -> Array:
        """Return the log of the Dirichlet's normaliser."""
        out = np.empty(tau.shape[:-1])
        rows, flat = tau.reshape(-1, tau.shape[-1]), out.reshape(-1)
        step = max(1, _AT_A_TIME // tau.shape[-1])
        for a in range(0, len(rows), step):
            conc = rows[a : a + step, 1:]
            flat[a : a + step] = gammaln(conc).sum(axis=-1) - gammaln(conc.sum(axis=-1))
        return out

    def log_marginal(self, s: Array) -> Array:
        """Return the log marginal likelihood of clusters, without the coefficients."""
        rows = np.ascontiguousarray(s, dtype=np.float64).reshape(-1, s.shape[-1])
        every = np.arange(len(rows))
        return self._marginals(rows, every, np.full(len(rows), -1)).reshape(s.shape[:-1])

    def joined_log_marginal(self, s: Array, a: Labels, b: Labels) -> Array:
        """Return the log marginals (m,) of pairs of clusters (k, p) taken together."""
        return self._marginals(np.ascontiguousarray(s), *map(np.ascontiguousarray, (a, b)))

    def _marginals(self, s: Array, one: Labels, other: Labels) -> Array:
        """Return them for clusters, each together with another, or alone; on threads if large."""
        out, prior = np.empty(len(one)), (self._prior, self._log_gammas)

        def fill(cut: slice) -> None:
            core.count_marginals(s, prior, one[cut], other[cut], out[cut])

        if len(one) * s.shape[1] < _SHARED:
            fill(slice(None))
        else:
            over_slices(fill, len(one))
        return out

    def draw(self, rng: np.random.Generator, tau: Array) -> Array:
        """Draw log probabilities from Dirichlets."""
        conc = tau[..., 1:]
        log_g = log_gammas(rng, conc)
        log_g -= log_g.max(axis=-1, keepdims=True)
        eta = np.zeros(tau.shape)
        eta[..., 1:] = log_g - np.log(np.exp(log_g).sum(axis=-1, keepdims=True))
        return eta

    def predictive_score(self, s: Array, log_weight: Array) -> Score:
        """Score points by Dirichlet-multinomial predictives."""
        return CountScore(self._prior, np.ascontiguousarray(s, dtype=np.float64), log_weight)

    @property
    def division(self) -> CountDivision:
        """Divisions by log ratios of probabilities."""
        return CountDivision(self._prior)

    def embed(self, X: Points) -> Points:
        """Return square roots of the rows' proportions (their distance is Hellinger's)."""
        X = sparse.csr_array(X)
        trials = np.maximum(X.sum(axis=1), 1.0)
        rows = np.repeat(trials, np.diff(X.indptr))
        return sparse.csr_array((np.sqrt(X.data / rows), X.indices, X.indptr), shape=X.shape)

    def describe(self, tau: Array) -> dict[str, Array]:
        """Return the clusters' expected probabilities."""
        conc = tau[..., 1:]
        return {"probabilities": conc / conc.sum(axis=-1, keepdims=True)}

    def hyperparameters(self) -> dict[str, Any]:
        """Return the Dirichlet parameters."""
        return {"concentration": self._prior[1:].copy()}


def _compressed(X: Points) -> CountRows:
    """Return counts as compressed rows of float64."""
    if isinstance(X, CountRows) and X.dtype == np.float64:
        return X
    if not sparse.issparse(X):
        X = np.asarray(X)
        flat, d = np.flatnonzero(X != 0), max(X.shape[1], 1)
        indptr = np.searchsorted(flat, d * np.arange(len(X) + 1))
        data = X.ravel()[flat].astype(np.float64)
        X = sparse.csr_array((data, flat % d, indptr), shape=X.shape)
        X.has_canonical_format = True
    return CountRows(X, dtype=np.float64)


def _log_factorials(x: Array) -> Array:
    """Return the log factorials (n,) of counts, from a table if all are in it."""
    known = _known_log_factorials()
    out: Array = known[x.astype(np.intp)] if x.max(initial=0.0) < len(known) else gammaln(x + 1.0)
    return out


@cache
def _known_log_factorials() -> Array:
    table: Array = gammaln(np.arange(2**12) + 1.0)
    return table
