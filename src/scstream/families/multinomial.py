"""Multinomial clusters (rows of counts) under a Dirichlet prior."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import gammaln

from scstream._threads import over_slices
from scstream.families import _counts
from scstream.families.base import Array, Family, as_floats, below
from scstream.families.columns import not_counts
from scstream.families.scores import Labels, Points, Score

_COUNTS = 2.0 ** np.arange(12)  # prior counts a category, on average, from which to choose
_TABLED = 256  # counts of a category below this are scored once for all rows that have them
_TABLE_CELLS = 2**22  # terms of the predictive that are held at a time
_SHARED = 2**16  # entries of clusters from which their log marginals are work for threads
_AT_A_TIME = 2**22  # entries of which log gammas are held at a time: dictionaries can be large


class Multinomial(Family):
    """Clusters of count vectors, each with category probabilities of its own.

    Parameters
    ----------
    concentration : float or array-like (d,), optional
        Parameters of the Dirichlet prior, one for all categories or one each. By default they
        are proportional to the first batch's category frequencies, and their mean, at least 1,
        is the one under which the clusters found in that batch are the most probable.

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
    kept: ClassVar[Mapping[str, str]] = {"_conc": "d+", "_base": "d+?"}

    _base: Array  # (d,): category frequencies of the first batch
    _prior: Array
    _whole: float  # the sum of the prior's entries
    _log_gammas: Array  # (d + 2,): of the prior's entries, and of their sum

    def __init__(self, concentration: ArrayLike | None = None) -> None:
        self.concentration = concentration

    def check(self, X: Points) -> Points:
        """Return counts as compressed rows of float64."""
        counts = _compressed(X)
        if not counts.has_canonical_format:
            counts = counts.copy()
            counts.sum_duplicates()
        if not _counts.faults(counts.data):
            return counts
        low = np.flatnonzero(counts.data < 0)
        if len(low):
            at = low[0]
            raise ValueError(
                "Negative values in data: counts cannot be negative, but column "
                f"{counts.indices[at]} holds {counts.data[at]:g}. "
                "For real-valued data use family='gaussian'."
            )
        at = np.flatnonzero(counts.data != np.floor(counts.data))[0]
        raise ValueError(
            f"Counts must be whole numbers, but column {counts.indices[at]} holds "
            f"{counts.data[at]:g}. "
            "Round them, or use family='gaussian' for real-valued data."
        )

    def refusal(self, x: Array) -> str | None:
        """Return what keeps a column's numbers from being counts, None if they are."""
        return not_counts(x)

    def prepare(self, X: Points) -> Self:
        """Return a copy whose Dirichlet parameters are set."""
        d = X.shape[1]
        new = copy.copy(self)
        if self.concentration is None:
            total = np.asarray(X.sum(axis=0), dtype=float).ravel()
            new._base = (total + 1.0) / (total.sum() + d)
            return new._with(d * new._base)
        conc = as_floats(self.concentration, "concentration")
        if conc.ndim > 1 or (conc.ndim == 1 and len(conc) != d):
            raise ValueError(
                f"concentration must be a number or have one entry for each of the {d} columns; "
                f"it has shape {conc.shape}."
            )
        if not np.all(np.isfinite(conc)) or np.any(conc <= 0):
            raise ValueError("concentration must be positive and finite.")
        return new._with(np.broadcast_to(conc, d).copy())

    def _with(self, conc: Array) -> Self:
        self._prior = np.concatenate([[0.0], conc])
        self._whole = float(conc.sum())
        self._log_gammas = gammaln(np.append(self._prior, self._whole))
        return self

    def adapt(self, clusters: Array) -> Self:
        """Return a copy with the total prior count that makes the clusters most probable.

        It is never weaker than a uniform prior: in texts words come in bursts, and under a weak
        prior every burst is a cluster.
        """
        if self.concentration is not None:
            return self
        d = len(self._base)
        trials = [copy.copy(self)._with(count * d * self._base) for count in _COUNTS]
        return trials[int(np.argmax([t.log_marginal(clusters).sum() for t in trials]))]

    def to_saved(self) -> dict[str, Any]:
        """Return the Dirichlet parameters, and the frequencies that they were set from."""
        mine = vars(self)
        if "_prior" not in mine:
            return {}
        base = {"_base": self._base} if "_base" in mine else {}
        return {"_conc": self._prior[1:], **base}

    def remade(self) -> Self:
        """Return the copy with its prior."""
        return self._with(vars(self).pop("_conc"))

    def columns_taken(self) -> int:
        """Return how many categories there are."""
        return len(self._prior) - 1

    def sound(self, X: Points) -> bool:
        """Whether rows are such as `check` returns them."""
        return sparse.issparse(X) and not_counts(X.data) is None and bool(np.isfinite(X.data).all())

    def enough_rows(self, d: int) -> int:
        """Return how many rows set the prior for good, which is a single number besides."""
        return 20

    def statistics(self, X: Points) -> Points:
        """Return ``(1, x)`` of each row, as compressed rows."""
        X = X if sparse.issparse(X) and X.format == "csr" else sparse.csr_array(X)
        n, d = X.shape
        data, indices = np.empty(X.nnz + n), np.empty(X.nnz + n, dtype=X.indices.dtype)
        indptr = np.empty_like(X.indptr)
        _counts.put_ones_first(X.data, X.indices, X.indptr, data, indices, indptr)
        return CountRows((data, indices, indptr), shape=(n, d + 1))

    def log_base(self, X: Points) -> Array:
        """Return the log multinomial coefficients (n,)."""
        X = sparse.csr_array(X)
        cells = sparse.csr_array((gammaln(X.data + 1.0), X.indices, X.indptr), shape=X.shape)
        out: Array = gammaln(X.sum(axis=1) + 1.0) - cells.sum(axis=1)
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
        """Return the log marginal likelihood of clusters, coefficients aside."""
        out = np.empty(s.shape[:-1])
        rows = np.ascontiguousarray(s, dtype=np.float64).reshape(-1, s.shape[-1])
        flat, pieces = out.reshape(-1), _log_gamma_pieces()

        def fill(cut: slice) -> None:
            _counts.counts_marginal(
                rows[cut], self._prior, self._whole, self._log_gammas, pieces, flat[cut]
            )

        if rows.size < _SHARED:
            fill(slice(None))
        else:
            over_slices(fill, len(rows))
        return out

    def draw(self, rng: np.random.Generator, tau: Array) -> Array:
        """Draw log probabilities from Dirichlets."""
        conc = tau[..., 1:]
        # log G(a) = log G(a + 1) + log(U) / a does not underflow for small a
        log_g = np.log(rng.standard_gamma(conc + 1.0))
        log_g += np.log(1.0 - rng.random(conc.shape)) / conc
        log_g -= log_g.max(axis=-1, keepdims=True)
        eta = np.zeros(tau.shape)
        eta[..., 1:] = log_g - np.log(np.exp(log_g).sum(axis=-1, keepdims=True))
        return eta

    def predictive_score(self, s: Array, log_weight: Array) -> Score:
        """Score points by Dirichlet-multinomial predictives."""
        return CountScore(self._prior + s, log_weight)

    def boundary(self, first: Array, second: Array) -> tuple[Array, Array]:
        """Return the linear discriminant of the two groups: normals (k, d) and offsets (k,)."""
        a, b = first[:, 1:] + self._prior[1:], second[:, 1:] + self._prior[1:]
        mass = a.sum(axis=1, keepdims=True) / b.sum(axis=1, keepdims=True)
        normal = np.log(b / a) + np.log(mass)
        return normal, np.log((first[:, 0] + 0.5) / (second[:, 0] + 0.5))

    def divide(self, past: Array, boundary: tuple[Array, Array]) -> Array:
        """Cut the past, seen as rows of one multinomial, by the boundary.

        Across the boundary such rows are nearly normal; of the other directions only those that
        go along with it change.
        """
        normal, offset = boundary
        mean, along, level = self._along(past, normal)
        sd = np.sqrt(np.maximum(_dot(along, normal), 1e-300))
        share, hazard = below((offset - level) / sd)
        part = np.empty(past.shape)
        part[..., 0] = past[..., 0] * share
        part[..., 1:] = np.clip(
            part[..., :1] * (mean - along * (hazard / sd)[..., None]), 0.0, past[..., 1:]
        )
        return part

    def lean(self, past: Array, cut: tuple[Array, Array]) -> tuple[Array, Array]:
        """Return mean and variance of the discriminant over a past (..., k, p)."""
        _, along, level = self._along(past, cut[0])
        return level - cut[1], _dot(along, cut[0])

    def part(
        self, past: Array, cut: tuple[Array, Array], share: Array, pull: Array, narrow: Array
    ) -> Array:
        """Return a share of the past, moved along the discriminant."""
        mean, along, _ = self._along(past, cut[0])
        out = past * share[..., None]
        out[..., 1:] = np.clip(out[..., :1] * (mean - along * pull[..., None]), 0.0, past[..., 1:])
        return out

    def _along(self, past: Array, normal: Array) -> tuple[Array, Array, Array]:
        """Return the mean of a past's rows, its covariance and product with the discriminant."""
        mean = past[..., 1:] / np.maximum(past[..., :1], 1e-300)
        level = _dot(mean, normal)
        of_one = level / np.maximum(mean.sum(axis=-1), 1e-300)
        return mean, mean * (normal - of_one[..., None]), level

    def example(self, rng: np.random.Generator) -> tuple[Any, Any]:
        """Return counts of two groups apart."""
        p = np.array([0.1, 0.2, 0.3, 0.4])
        n = rng.poisson(40, 30)
        return rng.multinomial(n[:12], p).astype(float), rng.multinomial(n[12:], p[::-1]).astype(
            float
        )

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


def _compressed(X: Points) -> Points:
    """Return counts as compressed rows of float64."""
    if sparse.issparse(X):
        return sparse.csr_array(X, dtype=np.float64)
    X = np.ascontiguousarray(X, dtype=np.float64)
    size, kind = np.count_nonzero(X), np.int32 if X.size < 2**31 else np.int64
    data, indices = np.empty(size + 1), np.empty(size + 1, dtype=kind)
    indptr = np.empty(len(X) + 1, dtype=kind)
    _counts.compress(X, data, indices, indptr)
    out = sparse.csr_array((data[:size], indices[:size], indptr), shape=X.shape)
    out.has_canonical_format = True
    return out


def _dot(a: Array, b: Array) -> Array:
    """Return the products (...) of vectors (..., d)."""
    out: Array = np.einsum("...j,...j->...", a, b)
    return out


@cache
def _log_gamma_pieces() -> Array:
    """Return polynomials (m, 8) that follow ``lgamma``, 16 of them for each octave.

    Their variable runs from -1 to 1 over the piece. At Chebyshev's points they are exact; in
    between they err by less than rounding does.
    """
    v = np.cos(np.pi * (np.arange(8) + 0.5) / 8)
    octaves, pieces = 2.0 ** np.array(_counts.OCTAVES), np.arange(_counts.PIECES)
    places = octaves[:, None] * (1.0 + pieces / _counts.PIECES)
    width = np.repeat(octaves / _counts.PIECES, _counts.PIECES)
    values = gammaln(places.ravel() + width * (v[:, None] + 1.0) / 2)
    return np.ascontiguousarray(np.linalg.solve(np.vander(v, increasing=True), values).T)


class Numbers(NamedTuple):
    """The terms of rows' scores, numbered.

    Attributes
    ----------
    terms : ndarray (m, 2)
        Categories and counts. The first ones, of category 0, are the rows' sums.
    sums : int
        How many these are.
    which : ndarray
        The numbers of all rows' terms, row after row, some of which are m: nothing.
    first : ndarray (n + 1,)
        Where the rows begin there.
    """

    terms: NDArray[np.int64]
    sums: int
    which: NDArray[np.int32]
    first: NDArray[np.int64]


class CountRows(sparse.csr_array):
    """Rows ``(1, x)`` of counts, from which a run of them is cut without a copy, and once."""

    _cut: tuple[weakref.ref[CountRows], int] | None = None

    @staticmethod
    def of(T: Points) -> CountRows:
        """Return rows in this form."""
        return T if isinstance(T, CountRows) else CountRows(T)

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, slice) or key.step is not None:
            return super().__getitem__(key)
        a, b, _ = key.indices(self.shape[0])
        if (a, b) == (0, self.shape[0]):
            return self
        if (a, b) not in self._runs:
            self._runs[a, b] = self._run(a, max(a, b))
        return self._runs[a, b]

    @cached_property
    def _runs(self) -> dict[tuple[int, int], CountRows]:
        return {}

    def _run(self, a: int, b: int) -> CountRows:
        indptr = self.indptr[a : b + 1]
        run = slice(indptr[0], indptr[-1])
        parts = (self.data[run], self.indices[run], indptr - indptr[0])
        rows = CountRows(parts, shape=(b - a, self.shape[1]))
        whole, first = self.whole
        rows._cut = weakref.ref(whole), first + a
        return rows

    @property
    def whole(self) -> tuple[CountRows, int]:
        """The rows that these were cut from, if there still are such, and where they begin."""
        whole = None if self._cut is None else self._cut[0]()
        return (self, 0) if whole is None or self._cut is None else (whole, self._cut[1])

    @cached_property
    def total(self) -> Array:
        """The rows' sums (n,)."""
        out = np.empty(self.shape[0])
        _counts.totals(self.data, self.indptr, out)
        return out

    @cached_property
    def numbers(self) -> Numbers:
        """The numbered terms."""
        (n, p), room = self.shape, 4 * self.nnz
        sums = np.zeros(int(min(self.total.max(initial=0.0), room)) + 1, dtype=np.int32)
        found = np.zeros((p, min(_TABLED, room // p)), dtype=np.int32)
        terms = np.empty((n + self.nnz, 2), dtype=np.int64)
        which = np.empty(self.nnz + _counts.EIGHT * n, dtype=np.int32)
        first = np.empty(n + 1, dtype=np.int64)
        n_sums, m = _counts.number(
            self.data, self.indices, self.indptr, self.total, sums, found, first, which, terms
        )
        return Numbers(terms[:m], n_sums, which, first)


@dataclass(frozen=True)
class CountScore:
    """Log weights plus Dirichlet-multinomial predictives, coefficients aside.

    A row's score is a sum over its terms, which are computed once for all rows that have them.

    Attributes
    ----------
    conc : ndarray (k, 1 + d)
        The components' Dirichlet parameters, behind a column that counts for nothing.
    log_weight : ndarray (k,)
    """

    conc: Array
    log_weight: Array

    @cached_property
    def _rows(self) -> Array:
        """The parameters (k, 1 + d), their sums in front."""
        out = self.conc.copy()
        out[:, 0] = out[:, 1:].sum(axis=1)
        return out

    @cached_property
    def _columns(self) -> Array:
        """The parameters (1 + d, k) of the categories, behind the components' sums."""
        return np.ascontiguousarray(self._rows.T)

    @cached_property
    def _level(self) -> Array:
        """The log weights (k,) plus the log gammas of the components' sums."""
        out: Array = self.log_weight + gammaln(self._rows[:, 0])
        return out

    def ready(self, some: Callable[[], Points]) -> None:
        """Make the table of the terms of all rows, of which these are some."""
        whole, _ = CountRows.of(some()).whole
        if self._width(whole.numbers) == len(self.conc):
            held = whole.numbers, self._table(whole.numbers, slice(None))
            self.__dict__["_held"] = held

    def _width(self, numbers: Numbers) -> int:
        """Return for how many components a table is made at a time."""
        return min(len(self.conc), max(_TABLE_CELLS // (len(numbers.terms) + 1), 1))

    def _table(self, numbers: Numbers, part: slice) -> Array:
        """Return the terms (m + 1, .) under some components, the last one nothing."""
        terms, conc = numbers.terms, np.ascontiguousarray(self._columns[:, part])
        out = np.empty((len(terms) + 1, conc.shape[1]))
        out[-1] = 0.0
        factors = _counts.FACTORS if conc.max() < 1e18 else _counts.FACTORS // 2

        def fill(cut: slice) -> None:
            _counts.fill_terms(terms[cut], conc, factors, out[:-1][cut])

        over_slices(fill, len(terms))
        out[: numbers.sums] = self.log_weight[part] - out[: numbers.sums]
        return out

    def block(self, T: Points) -> Array:
        """Return the scores (n, k) of rows ``(1, x)``."""
        T = CountRows.of(T)
        (whole, start), n, k = T.whole, T.shape[0], len(self.conc)
        numbers, table = self.__dict__.get("_held", (None, None))
        if numbers is None or whole.__dict__.get("numbers") is not numbers:
            numbers, table, start = T.numbers, None, 0
        first, out = numbers.first[start : start + n + 1], np.empty((n, k))
        if table is not None:
            _counts.add_terms(numbers.which, first, table, out)
            return out
        width = self._width(numbers)
        for a in range(0, k, width):
            part = slice(a, min(a + width, k))
            some = np.empty((n, part.stop - a))
            _counts.add_terms(numbers.which, first, self._table(numbers, part), some)
            out[:, part] = some
        return out

    def pairs(self, T: Points, z: Labels) -> Array:
        """Return the scores (n, 2) under each row's own pair."""
        T, out = CountRows.of(T), np.empty((len(z), 2))
        whole, first = T.whole
        total = whole.total[first : first + len(z)]
        _counts.counts_pairs(T.data, T.indices, T.indptr, total, self._rows, self._level, z, out)
        return out
