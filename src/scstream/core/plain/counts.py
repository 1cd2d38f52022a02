"""Counts: rises of gamma functions, and the log marginals of clusters under Dirichlet priors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from scstream.core.plain.elementary import log_gamma

if TYPE_CHECKING:
    from scstream.core import Floats, Ints

_FACTORS = 16  # of a rising factorial that are multiplied, at most
_ROWS = 256  # that are scored at a time


def count_marginals(
    sums: Floats, prior: tuple[Floats, Floats], one: Ints, other: Ints, out: Floats
) -> None:
    """Find log marginals of clusters, or of pairs taken together."""
    conc, log_gammas = prior
    whole = conc[1:].sum()
    for i, (a, b) in enumerate(zip(one.tolist(), other.tolist(), strict=True)):
        both = sums[a, 1:] + (sums[b, 1:] if b >= 0 else 0.0)
        met = np.flatnonzero(both)
        level = (log_gamma(conc[1:][met] + both[met]) - log_gammas[1:][met]).sum()
        out[i] = level - np.subtract(*log_gamma(np.array([whole + both.sum(), whole])))


def add_rises(counts: tuple[Any, ...], conc: Floats, z: Ints, less: Floats, out: Floats) -> None:
    """Add what counts are worth to scores."""
    data, indices, indptr = compressed(*counts) if len(counts) == 1 else counts
    every = np.arange(len(conc))[:, None]
    for start in range(0, len(out), _ROWS):
        rows = np.arange(start, min(start + _ROWS, len(out)))
        rows = rows[indptr[rows + 1] > indptr[rows]]  # others add nothing
        if len(rows) == 0:
            continue
        size = indptr[rows + 1] - indptr[rows]
        run = slice(indptr[rows[0]], indptr[rows[-1] + 1])
        own, c = np.repeat(rows, size), data[run]
        g = np.arange(out.shape[1])[:, None]
        x = conc[every if len(z) == 0 else out.shape[1] * z[own] + g, indices[run]]
        if len(less):
            x = x - less[own] * c
        with np.errstate(invalid="ignore", divide="ignore"):
            found = np.where(x > 0.0, rises(x, np.broadcast_to(c, x.shape)), np.nan)
        out[rows] += np.add.reduceat(found, np.cumsum(size) - size, axis=1).T


def add_compressed(rows: tuple[Any, ...], weight: Floats, cell: Ints, out: Floats) -> None:
    """Add rows to sums, in their order."""
    data, indices, indptr = compressed(*rows) if len(rows) == 1 else rows
    row, d = np.repeat(np.arange(len(cell)), np.diff(indptr)), out.shape[1]
    cell = np.where((cell >= 0) & (cell < len(out)), cell, len(out))
    sums = np.zeros(out.size + d)
    for where, w in zip(cell.T, weight.T, strict=True):
        sums += np.bincount(where[row] * d + indices, w[row] * data, len(sums))
    out += sums[: out.size].reshape(out.shape)


def compressed(X: Floats) -> tuple[Floats, Ints, Ints]:
    """Return rows in compressed form."""
    own, indices = np.nonzero(X)
    return X[own, indices], indices, np.searchsorted(own, np.arange(len(X) + 1))


def rises(x: Floats, count: Floats) -> Floats:
    """Return ``log(gamma(x + count) / gamma(x))``; of few factors as the log of their product."""
    product = np.ones(x.shape)
    for f in range(_FACTORS):
        product *= np.where((count > f) & (count <= _FACTORS), x + f, 1.0)
    out: Floats = np.log(product)
    large = count > _FACTORS
    out[large] = log_gamma(x[large] + count[large]) - log_gamma(x[large])
    return out
