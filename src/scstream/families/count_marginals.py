"""Log marginal likelihoods of clusters of counts under a Dirichlet prior."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from scstream.families.scores import Array, Labels
from scstream.kernels import counts
from scstream.support.threads import over_slices

_SHARED = 2**18  # entries of clusters from which their log marginals are work for threads


class CountMarginals(NamedTuple):
    """What log marginals are computed by.

    Attributes
    ----------
    prior : ndarray (1 + d,)
        The Dirichlet's parameters, behind a 0.
    whole : float
        Their sum.
    log_gammas : ndarray (d + 2,)
        Of the prior's entries, and of their sum.
    pieces : ndarray (m, 8)
        See `log_gamma_pieces`.
    """

    prior: Array
    whole: float
    log_gammas: Array
    pieces: Array

    @staticmethod
    def of(prior: Array, whole: float) -> CountMarginals:
        """Return those under a prior (1 + d,) and its sum."""
        return CountMarginals(prior, whole, gammaln(np.append(prior, whole)), log_gamma_pieces())

    def each(self, s: Array) -> Array:
        """Return those (...) of clusters (..., 1 + d), without the coefficients."""
        out = np.empty(s.shape[:-1])
        rows = np.ascontiguousarray(s, dtype=np.float64).reshape(-1, s.shape[-1])
        flat = out.reshape(-1)

        def fill(cut: slice) -> None:
            counts.counts_marginal(rows[cut], *self, self._room(), flat[cut])

        _over(fill, len(rows), rows.size)
        return out

    def joined(self, s: Array, a: Labels, b: Labels) -> Array:
        """Return those (m,) of pairs of clusters (k, 1 + d) taken together."""
        out, a, b = np.empty(len(a)), np.ascontiguousarray(a), np.ascontiguousarray(b)

        def fill(cut: slice) -> None:
            counts.joined_marginal(s, a[cut], b[cut], *self, self._room(), out[cut])

        _over(fill, len(a), len(a) * s.shape[1])
        return out

    def _room(self) -> Array:
        return np.empty((2, len(self.prior)))


def _over(job: Callable[[slice], None], k: int, entries: int) -> None:
    """Run a job on slices of k clusters with so many entries, on threads if these are many."""
    if entries < _SHARED:
        job(slice(None))
    else:
        over_slices(job, k)


@cache
def log_gamma_pieces() -> Array:
    """Return polynomials (m, 8) that follow ``lgamma``, 16 of them for each octave.

    Their variable runs from -1 to 1 over the piece. At Chebyshev's points they are exact; in
    between they err by less than rounding does.
    """
    v = np.cos(np.pi * (np.arange(8) + 0.5) / 8)
    octaves, pieces = 2.0 ** np.array(counts.OCTAVES), np.arange(counts.PIECES)
    places = octaves[:, None] * (1.0 + pieces / counts.PIECES)
    width = np.repeat(octaves / counts.PIECES, counts.PIECES)
    values = gammaln(places.ravel() + width * (v[:, None] + 1.0) / 2)
    return np.ascontiguousarray(np.linalg.solve(np.vander(v, increasing=True), values).T)
