"""The normal-inverse-Wishart prior of Gaussian clusters: posteriors, normalisers, draws, scores."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from scstream.families.contract import Array, Family, GaussianPrior
from scstream.families.gaussian_scores import (
    MANY,
    DrawnScore,
    PredictiveScore,
    shared,
)
from scstream.families.packed import means, unpack
from scstream.families.scores import Score
from scstream.kernels import cholesky, matrices, normalisers, pruning
from scstream.kernels.cholesky import Factoring
from scstream.kernels.crew import crew_of
from scstream.kernels.side_by_side import ROWS
from scstream.support.memory import Memory
from scstream.support.threads import threads_allowed

_FEW = 4  # matrices of many columns that are factored as soon as a thread wakes
_MEMORY = Memory()


class Posterior(NamedTuple):
    """Parameters of normal-inverse-Wishart densities in the family's frame."""

    kappa: Array  # (...): strength of the mean
    nu: Array  # (...): degrees of freedom
    mean: Array  # (..., d)
    scatter: Array  # (..., d, d): nu times the paper's Psi


class NormalWishart(Family):
    """A family whose prior is normal-inverse-Wishart, in a frame of d columns."""

    _m: Array  # (d,): the prior in the frame
    _kappa: float
    _nu: float
    _psi: Array  # (d, d)
    _prior: Array
    _log_z: float
    numbers: GaussianPrior

    @property
    def prior(self) -> Array:
        """``(kappa, kappa m, upper triangle of nu Psi + kappa m m')``."""
        return self._prior

    def _with(self, kappa: float, nu: float, psi: Array, m: Array | None = None) -> Self:
        """Return a copy with another prior in the same frame; its mean is the same unless given."""
        m = self._m if m is None else m
        d = len(m)
        p = 1 + d + d * (d + 1) // 2
        row, room = np.empty(p), np.zeros(1 + 2 * p + d + ROWS)
        level, nothing, rest = room[:1], room[1 : 1 + p], room[1 + p :]
        matrices.prior(kappa, nu, m, psi, row)
        normalisers.log_partition(row[None], nothing, nu - kappa, d, rest, level)
        log_z = level.item()
        numbers = GaussianPrior(row, nu - kappa, log_z, d)
        new = object.__new__(type(self))  # as copy.copy takes longer than a batch should wait
        new.__dict__.update(
            self.__dict__, _kappa=kappa, _nu=nu, _psi=psi, _m=m, _prior=row, _log_z=log_z,
            numbers=numbers,
        )  # fmt: skip
        return new

    def _with_strength(self, nu: float) -> Self:
        """Return a copy whose expected covariance is worth nu points."""
        return self._with(self._kappa, nu, self._psi)

    def posterior(self, tau: Array) -> Posterior:
        """Return the parameters at ``tau`` (..., p)."""
        d = len(self._m)
        mean = means(tau, d)
        scatter = unpack(tau[..., 1 + d :], d)
        scatter -= tau[..., 1 : 1 + d, None] * mean[..., None, :]
        return Posterior(tau[..., 0], self._dof(tau), mean, scatter)

    def _dof(self, tau: Array) -> Array:
        """Return the posteriors' degrees of freedom (...)."""
        return tau[..., 0] + (self._nu - self._kappa)

    def _factored(self, s: Array, vector: Array) -> tuple[Array, Array]:
        """Return rows ``(kappa, L^-1 vector, L)`` (k, p) and log determinants (k,).

        ``L L'`` is the scatter of the posteriors of ``s`` (k, g, p), that of its g groups summed.
        Without vectors, (0, d), it is the first group's mean. Rounding that cost positive
        definiteness is mended.
        """
        out, log_det = np.empty((len(s), s.shape[2])), np.empty(len(s))

        if len(self._m) >= MANY:
            failed = _factor(s, self._prior, vector, out, log_det)
        else:
            room = matrices.room_for(len(self._m))
            failed = matrices.factor(s, self._prior, vector, room, out, log_det) > 0
        if failed:
            bad = np.isnan(log_det)
            post = self.posterior(self._prior + s[bad])
            L = self._mended(post.scatter.sum(axis=1))
            d = L.shape[1]
            aim = vector[bad] if len(vector) else post.mean[:, 0]
            out[bad, 0] = post.kappa[:, 0]
            out[bad, 1 : 1 + d] = np.linalg.solve(L, aim[..., None])[..., 0]
            out[bad, 1 + d :] = L[:, *np.tril_indices(d)]
            log_det[bad] = 2.0 * np.log(np.diagonal(L, axis1=1, axis2=2)).sum(axis=1)
        return out, log_det

    def _mended(self, scatter: Array) -> Array:
        """Return Cholesky factors (k, d, d) with eigenvalues raised to where they are safe."""
        value, vector = np.linalg.eigh(scatter)
        floor = 1e-9 * self._nu * np.trace(self._psi) / len(self._m)
        value = np.maximum(value, np.maximum(floor, 1e-12 * value[:, -1:]))
        whole = (vector * value[:, None, :]) @ np.swapaxes(vector, 1, 2)
        return np.linalg.cholesky(whole).astype(np.float64, copy=False)

    def log_partition(self, tau: Array) -> Array:
        """Return the log-normaliser of the normal-inverse-Wishart density."""
        return self._log_normaliser(tau, np.zeros(len(self._prior)))

    def log_marginal(self, s: Array) -> Array:
        """Return the log marginal likelihood of clusters, without the base measure."""
        return self._log_normaliser(s, self._prior) - self._log_z

    def _log_normaliser(self, s: Array, prior: Array) -> Array:
        """Return the log-normaliser at ``prior + s`` (..., p)."""
        d, more = len(self._m), self._nu - self._kappa
        flat = np.ascontiguousarray(s).reshape(-1, s.shape[-1])
        out = np.empty(len(flat))
        if d < MANY:
            failed = normalisers.log_partition(flat, prior, more, d, matrices.room_for(d), out) > 0
        else:
            nothing = np.empty((0, flat.shape[1]))
            failed = _factor(flat[:, None], prior, np.empty((0, d)), nothing, out)
            _finish(flat[:, 0] + prior[0], more, d, out)
        if failed:
            for r in np.flatnonzero(np.isnan(out)):
                tau = prior + flat[r]
                L = self._mended(self.posterior(tau).scatter[None])[0]
                log_det = 2.0 * np.log(np.diag(L)).sum()
                out[r] = log_det
                _finish(tau[:1], more, d, out[r : r + 1])
        return out.reshape(s.shape[:-1])

    def draw(self, rng: np.random.Generator, tau: Array) -> Array:
        """Draw means and precisions: a Wishart by Bartlett's factors, then the mean given it."""
        return self.sampled_score(rng, tau - self._prior, np.zeros(len(tau))).eta

    def sampled_score(self, rng: np.random.Generator, s: Array, log_weight: Array) -> DrawnScore:
        """Score points by drawn means and precisions."""
        drawn = self.draw_factors(rng, s)
        factors, log_det = self._factored(s[:, None], np.empty((0, len(self._m))))
        return DrawnScore(factors, log_det, *drawn, log_weight)

    def draw_factors(self, rng: np.random.Generator, s: Array) -> tuple[Array, Array, Array]:
        """Draw diagonals and rests of Bartlett's factors, and noises of the means, for ``s``."""
        k, d = len(s), len(self._m)
        nu = s[:, :1] + (self._nu - np.arange(d))
        chi = np.sqrt(np.maximum(rng.chisquare(nu), 1e-30))
        normal = rng.standard_normal((k, d * (d + 1) // 2))
        return chi, np.ascontiguousarray(normal[:, d:]), np.ascontiguousarray(normal[:, :d])

    def predictive_score(self, s: Array, log_weight: Array) -> Score:
        """Score points by Student-t predictives."""
        d = len(self._m)
        factors, log_det = self._factored(s[:, None], np.empty((0, d)))
        const, power = np.empty(len(s)), np.empty(len(s))
        more = self._nu - self._kappa
        matrices.student_level(factors, log_det, more, d, log_weight, const, power)
        return PredictiveScore(factors, const, power, d, lambda: self._widths(s))

    def _widths(self, s: Array) -> tuple[Array, Array]:
        """Return posteriors' means (k, d), and bounds (k,) of their scatters' eigenvalues."""
        mean, widest = np.empty((len(s), len(self._m))), np.empty(len(s))

        def fill(cut: slice) -> None:
            pruning.widths(s[cut], self._prior, len(self._m), mean[cut], widest[cut])

        shared(fill, len(s), len(self._m))
        return mean, widest


def _factor(s: Array, prior: Array, vector: Array, out: Array, log_det: Array) -> bool:
    """Factor the scatters of many columns on threads, and return whether some failed."""
    with crew_of(_paying(len(s))) as crew:
        size = crew.threads, vector.shape[1]
        memory = _MEMORY.made("factoring", size, lambda: Factoring.of(*size))
        taken = np.zeros(1, dtype=np.int64)
        cholesky.factor(crew, s, prior, vector, memory, taken, out, log_det)
    return bool(np.isnan(log_det).any())


def _finish(kappa: Array, more: float, d: int, log_det: Array) -> None:
    """Replace log determinants of scatters of many columns by log-normalisers."""
    with crew_of(_paying(len(kappa))) as crew:
        rooms = _MEMORY.made("rooms", crew.threads, lambda: normalisers.rooms(crew.threads))
        taken = np.zeros(1, dtype=np.int64)
        normalisers.finish(crew, kappa, more, d, rooms, taken, log_det)


def _paying(k: int) -> int:
    """Return how many threads pay for k matrices of many columns."""
    return min(threads_allowed(), -(-k // _FEW))
