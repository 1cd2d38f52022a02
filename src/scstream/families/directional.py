"""Clusters of directions (von Mises-Fisher) under their conjugate prior, for embeddings."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np
from numpy.polynomial import Polynomial
from numpy.polynomial.polynomial import polyval
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, ive

from scstream.families.columns import columns_of
from scstream.families.contract import Array, Family
from scstream.families.division import Division, Projection, Side
from scstream.families.evidence import best_judged
from scstream.families.merging import best_merged
from scstream.families.scores import Labels, LinearScore, Points, Score, to_dense
from scstream.support import rowwise
from scstream.support.given import as_floats, positive_number

_CONCENTRATIONS = 2.0 ** np.arange(-6.0, 12.5, 0.5)  # a column, among which the evidence chooses
_STRENGTHS = (0.001, 0.01, 0.1, 1.0)
_ASYMPTOTIC = 12.0  # order from which Bessel functions are expanded


class Directional(Family):
    """Clusters of directions around a mean direction, as of embeddings compared by cosine.

    Parameters
    ----------
    concentration : float, optional
        How close points are to their cluster's mean direction, the same in all clusters
        (kappa): about the number of columns over the squared angle.
    mean : array-like (d,), optional
        The direction where cluster means are expected. Default: the first batch's.
    mean_strength : float, optional
        How many points that expectation is worth.

    Notes
    -----
    Rows are scaled to length 1: only their direction counts. All clusters have the same
    concentration, because only then is there a conjugate prior whose marginals are known
    exactly. What is left open is set from the first batch and its clusters: the values under
    which these are the most probable.

    Examples
    --------
    >>> import numpy as np
    >>> from scstream import ScStream
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat(np.eye(20)[:3], 80, axis=0) + 0.1 * rng.normal(size=(240, 20))
    >>> ScStream("directional", random_state=0).fit(X).n_clusters_
    3
    """

    name: ClassVar[str] = "directional"
    kept: ClassVar[Mapping[str, str]] = {"_kappa": "+", "_mean": "d", "_strength": "+"}

    _kappa: float
    _mean: Array  # (d,), of length 1
    _strength: float
    _prior: Array
    _level: float  # of the concentration, see `log_integral`
    _log_z: float

    def __init__(
        self,
        concentration: float | None = None,
        mean: ArrayLike | None = None,
        mean_strength: float | None = None,
    ) -> None:
        self.concentration = concentration
        self.mean = mean
        self.mean_strength = mean_strength

    # -- set-up ---------------------------------------------------------------------------------

    def check(self, X: Points) -> Points:
        """Return rows scaled to length 1."""
        X = np.ascontiguousarray(columns_of(X).values, dtype=np.float64).T
        if X.shape[1] < 2:
            raise ValueError("The family 'directional' needs at least two columns.")
        length = np.sqrt(rowwise.sums(X * X))
        if np.any(length == 0):
            row = int(np.argmin(length))
            raise ValueError(f"Row {row} is all zeros and has no direction: leave such rows out.")
        return np.ascontiguousarray(X / length[:, None])

    def prepare(self, X: Points) -> Self:
        """Return a copy with a prior, the open parts of it still to be adapted."""
        d = X.shape[1]
        middle = X.mean(axis=0)
        near = min(float(np.linalg.norm(middle)), 0.999)
        about = near * (d - near**2) / (1.0 - near**2) + 0.1 * d
        kappa = positive_number(self.concentration, "concentration", about)
        strength = positive_number(self.mean_strength, "mean_strength", 0.01)
        if self.mean is not None:
            middle = as_floats(self.mean, "mean")
            if middle.shape != (d,) or not np.all(np.isfinite(middle)) or not middle.any():
                raise ValueError(f"mean must be a direction of {d} finite numbers, not all 0.")
        new = copy.copy(self)
        new._mean = middle / max(float(np.linalg.norm(middle)), 1e-300)
        return new._with(kappa, strength)

    def _with(self, kappa: float, strength: float) -> Self:
        new = copy.copy(self)
        new._kappa, new._strength = kappa, strength
        new._prior = np.concatenate([[0.0], strength * self._mean])
        new._level = float(log_integral(kappa, len(self._mean)))
        new._log_z = float(new.log_partition(new._prior))
        return new

    def adapt(self, clusters: Array) -> Self:
        """Return a copy whose open hyper-parameters make the clusters most probable.

        Each concentration is judged by the clusters that would be left under it, see `merging`.
        Beside other columns, by which clusters stay apart, it at most doubles each time.
        """
        kappas, strengths = [self._kappa], [self._strength]
        grid = _CONCENTRATIONS * len(self._mean)
        if self.concentration is None:
            kappas += grid[self.alone | (grid <= 2.0 * self._kappa)].tolist()
        if self.concentration is None and self.alone:
            places = clusters[:, 1:] / np.maximum(clusters[:, :1], 1e-300)
            trials = [self._with(kappa, self._strength) for kappa in grid[::3]]
            clusters = best_merged(trials, clusters, places)
        if self.mean_strength is None:
            strengths += _STRENGTHS
        each = list(product(kappas, strengths))
        levels = self._log_marginals(np.array(kappas), np.array(strengths), clusters)
        return self._with(*best_judged(list(zip(each, levels.ravel().tolist(), strict=True))))

    def _log_marginals(self, kappa: Array, strength: Array, s: Array) -> Array:
        """Return the log marginals (m, l) of clusters together under m by l priors."""
        d, kappa = len(self._mean), kappa[:, None]
        length = self._length(s, strength[:, None])
        out = log_integral(kappa[..., None] * length, d).sum(axis=-1)
        out -= len(s) * log_integral(kappa * strength, d) + s[:, 0].sum() * log_integral(kappa, d)
        return np.asarray(out)

    def _length(self, s: Array, strength: Array | float) -> Array:
        """Return how long (...) the sums of clusters are with those of priors."""
        v = s[..., 1:]
        square = np.einsum("...i,...i->...", v, v) + 2.0 * strength * (v @ self._mean)
        return np.asarray(np.sqrt(np.maximum(square + strength**2, 0.0)))

    def remade(self) -> Self:
        """Return the copy with its prior."""
        if len(self._mean) < 2:
            raise ValueError("a direction has at least two columns")
        return self._with(self._kappa, self._strength)

    def sound(self, X: Points) -> bool:
        """Whether rows are such as `check` returns them: of length 1."""
        if not isinstance(X, np.ndarray) or not np.all(np.abs(X) <= 1.0 + 1e-9):
            return False
        return bool(np.all(np.abs(np.linalg.norm(X, axis=1) - 1.0) < 1e-6))

    def reframed(self, sums: Array, before: Family) -> Array | None:
        """Return statistics (m, p) of the same columns: they know no frame."""
        return (
            sums if isinstance(before, Directional) and sums.shape[1] == len(self.prior) else None
        )

    def hyperparameters(self) -> dict[str, Any]:
        """Return the concentration and the prior of mean directions."""
        return {
            "concentration": self._kappa,
            "mean": self._mean.copy(),
            "mean_strength": self._strength,
        }

    # -- the family proper ----------------------------------------------------------------------

    def statistics(self, X: Points) -> Points:
        """Return ``(1, x)`` of each row."""
        return np.concatenate([np.ones((len(X), 1)), X], axis=1)

    def log_base(self, X: Points) -> Array:
        """Return zeros: densities are with respect to the sphere's surface."""
        return np.zeros(X.shape[0])

    @property
    def prior(self) -> Array:
        """The expected mean direction times its strength, behind a count of 0."""
        return self._prior

    def log_partition(self, tau: Array) -> Array:
        """Return the log-normaliser: ``L(kappa |tau|) - n L(kappa)``, see `log_integral`."""
        d = len(self._mean)
        length = np.sqrt((tau[..., 1:] ** 2).sum(axis=-1))
        out: Array = log_integral(self._kappa * length, d)
        return out - tau[..., 0] * self._level

    def log_marginal(self, s: Array) -> Array:
        """Return the log marginal likelihood of clusters."""
        level = log_integral(self._kappa * self._length(s, self._strength), len(self._mean))
        return np.asarray(level - s[..., 0] * self._level - self._log_z)

    def draw(self, rng: np.random.Generator, tau: Array) -> Array:
        """Draw mean directions from von Mises-Fisher densities."""
        v = tau[:, 1:]
        length = np.linalg.norm(v, axis=1)
        centre = np.where(length[:, None] > 0, v / np.maximum(length, 1e-300)[:, None], self._mean)
        mean = draw_directions(rng, centre, self._kappa * length)
        eta = self._kappa * mean
        return np.concatenate([np.full((len(v), 1), -self._level), eta], axis=1)

    def predictive_score(self, s: Array, log_weight: Array) -> Score:
        """Score points by predictives ``L(kappa |v + x|) - L(kappa |v|) - L(kappa)``."""
        v = (self._prior + s)[:, 1:]
        square = (v * v).sum(axis=1)
        own = log_integral(self._kappa * np.sqrt(square), v.shape[1])
        const = log_weight - own - self._level
        quad = np.concatenate([1.0 + square[:, None], 2.0 * v], axis=1)
        return LengthScore(quad, const, self._kappa)

    def describe(self, tau: Array) -> dict[str, Array]:
        """Return the clusters' mean directions and the concentration."""
        v = tau[:, 1:]
        length = np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-300)
        return {"mean": v / length, "concentration": np.full(len(v), self._kappa)}

    def describe_columns(
        self, tau: Array, names: Sequence[Any], seen: Array | None = None
    ) -> list[dict[Any, Any]]:
        """Return for each cluster the mean of each column, over rows scaled to length 1."""
        mean = tau[:, 1:] / np.maximum(tau[:, :1] + self._strength, 1e-300)
        return [
            {name: {"mean": x} for name, x in zip(names, row, strict=True)} for row in mean.tolist()
        ]

    # -- moves ----------------------------------------------------------------------------------

    @property
    def division(self) -> Division:
        """Divisions by planes."""
        return DirectionalDivision(self)

    def embed(self, X: Points) -> Array:
        """Return the directions themselves."""
        return np.asarray(X)


class DirectionalDivision(Division):
    """Cuts clusters of directions by planes."""

    def __init__(self, family: Directional) -> None:
        self._family, self._kappa = family, family._kappa

    def directions(self, s: Array, member: Array, attempt: NDArray[np.int64]) -> Array:
        """Propose to cut towards a random point."""
        mean = s[:, 1:] / np.maximum(s[:, :1], 1e-300)
        normal = member[:, 1:] - mean
        return np.concatenate([-(normal * mean).sum(axis=1, keepdims=True), normal], axis=1)

    def discriminant(self, first: Array, second: Array) -> Array:
        """Return the normals (k, d) of planes between the two groups' mean directions."""
        a, b = (self._family.describe(self._family.prior + s)["mean"] for s in (first, second))
        return self._kappa * (b - a)

    def project(self, past: Array, discriminant: Array) -> Projection:
        """Return how the past (..., k, p) lies, as if it were round."""
        mean, variance = _moments(past)
        level = (discriminant * mean).sum(axis=-1)
        return Projection(level, (discriminant**2).sum(axis=-1) * variance)

    def cut(self, past: Array, discriminant: Array, side: Side) -> Array:
        """Return the part of the past on the first side."""
        mean, variance = _moments(past)
        out = past * side.share[..., None]
        moved = mean - discriminant * (variance * side.pull)[..., None]
        # neither part can be longer than the number of its points
        longest = np.maximum(np.linalg.norm(moved, axis=-1, keepdims=True), 1.0)
        out[..., 1:] = out[..., :1] * moved / longest
        return out


@dataclass(frozen=True)
class LengthScore:
    """Scores ``const + L(kappa sqrt(T @ quad))``, see `log_integral`.

    Attributes
    ----------
    quad : ndarray (k, p)
    const : ndarray (k,)
    kappa : float
    """

    quad: Array
    const: Array
    kappa: float

    def block(self, T: Points) -> Array:
        """Return the scores (n, k)."""
        return self.const + self._level(LinearScore(self.quad).block(to_dense(T)))

    def pairs(self, T: Points, z: Labels) -> Array:
        """Return the scores (n, 2) under each row's own pair."""
        square = LinearScore(self.quad).pairs(to_dense(T), z)
        return self.const.reshape(-1, 2)[z] + self._level(square)

    def _level(self, square: Array) -> Array:
        return log_integral(self.kappa * np.sqrt(np.maximum(square, 0.0)), self.quad.shape[1] - 1)


def log_integral(r: Any, d: int) -> Array:
    """Return ``L(r)``: the log of the integral of ``exp(r u . x)`` over the unit sphere in d-D.

    ``L(r) = d/2 log(2 pi) - v log r + log I_v(r)`` with the order ``v = d/2 - 1``. Bessel functions
    of high order, which underflow, are expanded uniformly in the argument (Debye); the error
    is below 1e-9.
    """
    v = 0.5 * d - 1.0
    r = np.asarray(r, dtype=np.float64)
    large = np.maximum(r, 1e-4)
    log_bessel = rowwise.log(ive(v, large)) + large if v < _ASYMPTOTIC else _log_bessel(v, large)
    out: Array = 0.5 * d * np.log(2.0 * np.pi) - v * rowwise.log(large) + log_bessel
    at_zero = np.log(2.0) + 0.5 * d * np.log(np.pi) - gammaln(0.5 * d)
    return np.where(r > 1e-4, out, at_zero + 0.5 * r * r / d)


def _log_bessel(v: float, x: Array) -> Array:
    z = x / v
    root = np.sqrt(1.0 + z * z)
    t = 1.0 / root
    eta = root + rowwise.log(z / (1.0 + root))
    half = 0.5 * rowwise.log(2.0 * np.pi * v * root)
    return v * eta - half + rowwise.log(polyval(t, _debye(v)))


@cache
def _debye(v: float) -> Array:
    """Return the sum of Debye's expansion for an order, each term from the one before.

    It ends with terms that rounding would hide.
    """
    u = total = Polynomial([1.0])
    for i in range(1, 8):
        step = 0.5 * Polynomial([0.0, 0.0, 1.0, 0.0, -1.0]) * u.deriv()
        u = step + (Polynomial([1.0, 0.0, -5.0]) * u).integ() / 8.0
        total = total + u / v**i
        if np.abs(u.coef).sum() < 1e-13 * v**i:
            break
    return np.asarray(total.coef, dtype=np.float64)


def draw_directions(rng: np.random.Generator, centre: Array, kappa: Array) -> Array:
    """Draw a direction around each centre (k, d) of length 1, by Wood's rejection scheme."""
    k, d = centre.shape
    m = d - 1.0
    b = m / (2.0 * kappa + np.sqrt(4.0 * kappa**2 + m**2))
    x = (1.0 - b) / (1.0 + b)
    c = kappa * x + m * np.log1p(-x * x)
    cosine = np.empty(k)
    left = np.arange(k)
    while len(left):
        beta = rng.beta(0.5 * m, 0.5 * m, len(left))
        w = (1.0 - (1.0 + b[left]) * beta) / (1.0 - (1.0 - b[left]) * beta)
        level = kappa[left] * w + m * np.log1p(-x[left] * w) - c[left]
        # not "at least": a kappa that overflowed, whose level is NaN, must not draw for ever
        taken = ~(level < np.log1p(-rng.random(len(left))))
        cosine[left[taken]] = w[taken]
        left = left[~taken]
    side = rng.standard_normal((k, d))
    side -= (side * centre).sum(axis=1, keepdims=True) * centre
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    sine = np.sqrt(np.maximum(1.0 - cosine**2, 0.0))
    return cosine[:, None] * centre + sine[:, None] * side


def _moments(past: Array) -> tuple[Array, Array]:
    """Return means (..., d) of groups and their variance (...) in any direction, on average."""
    mean = past[..., 1:] / np.maximum(past[..., :1], 1e-300)
    variance = np.maximum(1.0 - (mean * mean).sum(axis=-1), 1e-12) / mean.shape[-1]
    return mean, variance
