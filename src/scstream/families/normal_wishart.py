"""The normal-inverse-Wishart prior of Gaussian clusters: posteriors, normalisers, draws, scores."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from scstream import core
from scstream.families.contract import Array, Family, GaussianPrior
from scstream.families.gaussian_scores import DrawnScore, PredictiveScore, shared
from scstream.families.packed import means, unpack, upper
from scstream.families.scores import Score


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
        row = np.empty((d + 1) * (d + 2) // 2)
        log_z = core.set_prior(kappa, nu, m, psi, row)
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

        def fill(cut: slice) -> int:
            aim = vector[cut] if len(vector) else vector
            return core.factor(s[cut], self._prior, aim, out[cut], log_det[cut])

        if any(shared(fill, len(s), len(self._m))):
            bad = np.isnan(log_det)
            rows, mean = self.mended(s[bad])
            new, level = np.empty(rows.shape), np.empty(len(rows))
            aim = vector[bad] if len(vector) else mean
            core.factor(rows[:, None], np.zeros(rows.shape[1]), aim, new, level)
            out[bad], log_det[bad] = new, level
        return out, log_det

    def mended(self, s: Array) -> tuple[Array, Array]:
        """Return posteriors (k, p) of groups (k, g, p) whose scatter rounding spoiled, and means.

        They have the first groups' counts, means of 0, and the scatters of all with eigenvalues
        raised to where they are safe.
        """
        d, post = len(self._m), self.posterior(self._prior + s)
        value, vector = np.linalg.eigh(post.scatter.sum(axis=1))
        floor = 1e-9 * self._nu * np.trace(self._psi) / d
        value = np.maximum(value, np.maximum(floor, 1e-12 * value[:, -1:]))
        whole = (vector * value[:, None, :]) @ np.swapaxes(vector, 1, 2)
        rows = np.zeros((len(s), s.shape[2]))
        rows[:, 0], rows[:, 1 + d :] = post.kappa[:, 0], whole[:, *upper(d)]
        return rows, post.mean[:, 0]

    def log_partition(self, tau: Array) -> Array:
        """Return the log-normaliser of the normal-inverse-Wishart density."""
        return self._log_normaliser(tau, np.zeros(len(self._prior)))

    def log_marginal(self, s: Array) -> Array:
        """Return the log marginal likelihood of clusters, without the base measure."""
        return self._log_normaliser(s, self._prior) - self._log_z

    def _log_normaliser(self, s: Array, prior: Array) -> Array:
        """Return the log-normaliser at ``prior + s`` (..., p)."""
        more, flat = self._nu - self._kappa, np.ascontiguousarray(s).reshape(-1, s.shape[-1])
        out = np.empty(len(flat))

        def fill(cut: slice) -> int:
            return core.log_normalisers(flat[cut], prior, more, out[cut])

        if any(shared(fill, len(flat), len(self._m))):
            bad = np.isnan(out)
            rows, _ = self.mended(flat[bad, None] + (prior - self._prior))
            level = np.empty(len(rows))
            core.log_normalisers(rows, np.zeros(len(prior)), more, level)
            out[bad] = level
        return out.reshape(s.shape[:-1])

    def draw(self, rng: np.random.Generator, tau: Array) -> Array:
        """Draw means and precisions: a Wishart by Bartlett's factors, then the mean given it."""
        return self.sampled_score(rng, tau - self._prior, np.zeros(len(tau))).eta

    def sampled_score(self, rng: np.random.Generator, s: Array, log_weight: Array) -> DrawnScore:
        """Score points by drawn means and precisions."""
        chi, low, noise = self.draw_factors(rng, s)
        factors, log_det = self._factored(s[:, None], np.empty((0, len(self._m))))
        eta = np.empty(s.shape)

        def fill(cut: slice) -> None:
            drawn = chi[cut], low[cut], noise[cut]
            core.drawn_scores(factors[cut], *drawn, log_weight[cut], eta[cut])

        shared(fill, len(s), len(self._m))
        return DrawnScore(eta, chi, log_det, log_weight)

    def draw_factors(self, rng: np.random.Generator, s: Array) -> tuple[Array, Array, Array]:
        """Draw diagonals and rests of Bartlett's factors, and noises of the means, for ``s``."""
        k, d = len(s), len(self._m)
        nu = s[:, :1] + (self._nu - np.arange(d))
        chi = np.sqrt(np.maximum(rng.chisquare(nu), 1e-30))
        normal = rng.standard_normal((k, d * (d + 1) // 2))
        return chi, np.ascontiguousarray(normal[:, d:]), np.ascontiguousarray(normal[:, :d])

    def predictive_score(self, s: Array, log_weight: Array) -> Score:
        """Score points by Student-t predictives."""
        d, more = len(self._m), self._nu - self._kappa
        factors, const, power = np.empty(s.shape), np.empty(len(s)), np.empty(len(s))

        def fill(cut: slice) -> int:
            out = factors[cut], const[cut], power[cut]
            return core.predictives(s[cut], self._prior, more, log_weight[cut], *out)

        if any(shared(fill, len(s), d)):
            bad = np.isnan(const)
            rows, _ = self.mended(s[bad, None])
            new, level, same = np.empty(rows.shape), np.empty(len(rows)), np.empty(len(rows))
            core.predictives(rows, np.zeros(rows.shape[1]), more, log_weight[bad], new, level, same)
            factors, _ = self._factored(s[:, None], np.empty((0, d)))
            const[bad] = level
        return PredictiveScore(factors, const, power, d)
