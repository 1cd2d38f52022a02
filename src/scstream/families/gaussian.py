"""Gaussian clusters with full covariances under a normal-inverse-Wishart prior."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from functools import cache
from math import isfinite
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scstream.families import rounding, rowwise
from scstream.families.contract import CERTAIN, Array, Family, GaussianPrior
from scstream.families.cutting import Projection, Side, log_odds
from scstream.families.evidence import best_by_doubling, most_probable
from scstream.families.frame import column_frame
from scstream.families.gaps import Completion, GaussianCompletion, filled, rows_with_gaps
from scstream.families.gaussian_scores import MANY, DrawnScore, PredictiveScore, shared
from scstream.families.given import as_floats, finite_vector, positive_number
from scstream.families.scores import Points, Products, Score, form_of
from scstream.families.subspace import (
    Subspace,
    may_be_wide,
    most_directions,
    refuse_too_many,
    subspace,
)
from scstream.kernels import cholesky, matrices, pruning

_LOG_2PI = float(np.log(2.0 * np.pi))
SHARES = 0.5, 1.0  # of the covariance within clusters that may be expected
KEPT = 10.0  # points for each column and two more that an expected covariance counts at least
MOST_DESCRIBED = 1000  # columns of which a cluster shows all covariances
AXES = 4  # principal axes of a cluster along which it is cut in turn


Carry = Callable[[Array], Array]  # statistics (..., p) of clusters to those in other directions


class Posterior(NamedTuple):
    """Parameters of normal-inverse-Wishart densities in the family's frame."""

    kappa: Array  # (...): strength of the mean
    nu: Array  # (...): degrees of freedom
    mean: Array  # (..., d)
    scatter: Array  # (..., d, d): nu times the paper's Psi


class Gaussian(Family):
    """Clusters with a mean and a full covariance of their own.

    Parameters
    ----------
    mean : array-like (d,), optional
        Where cluster means are expected. Default: the first batch's median.
    mean_strength : float, optional
        How many points that expectation is worth (kappa).
    cov : float, array-like (d,) or (d, d), optional
        The covariance expected of a cluster: one variance, one per column, or a matrix (Psi).
    cov_strength : float, optional
        How many points that expectation is worth (nu); more than ``d - 1``.

    Notes
    -----
    What is left open is set from the first batch, together with its clusters (`adapt`): the
    expected covariance is the one pooled within the clusters, or half of it; that choice, its
    strength and the mean's are those under which the clusters are the most probable. Later
    an expected mean or covariance that was left open goes with the clusters.

    The family computes in a frame of its own, in which each column of the first batch has
    median 0 and a spread of 1. Results are in the user's units; adding a constant to a column
    or changing its unit changes nothing.

    Missing entries (NaN) are not observed: a label depends on the marginal density of the others,
    and the statistics are completed given the label, see `scstream.families.gaps`.

    Few rows of many columns are described by their main directions, in which each cluster has a
    covariance of its own, and noise that is common to all, see `scstream.families.subspace`. That
    is done where neither a mean nor a covariance is given. There a missing entry is first replaced
    by what the others say of it.

    Examples
    --------
    >>> Gaussian(mean=[0.0, 0.0], mean_strength=1.0, cov=1.02, cov_strength=4.0)
    Gaussian(mean=[0.0, 0.0], mean_strength=1.0, cov=1.02, cov_strength=4.0)
    """

    name: ClassVar[str] = "gaussian"
    missing: ClassVar[bool] = True
    completes: ClassVar[bool] = True
    real: ClassVar[bool] = True
    kept: ClassVar[Mapping[str, str]] = {
        "_shift": "d", "_scale": "d+", "_m": "d", "_kappa": "+", "_nu": "+", "_psi": "dd",
        "_step": "d?", "_share": "+?",
    }  # fmt: skip

    _shift: Array  # (d,): the frame's centre and scales
    _scale: Array
    _m: Array  # (d,): the prior in the frame
    _kappa: float
    _nu: float
    _psi: Array  # (d, d)
    _step: Array = np.zeros(0)  # (d,): the width of cells, where numbers are coarse
    _share: float = 1.0  # of the covariance within clusters that is expected
    _prior: Array
    _log_z: float
    numbers: GaussianPrior
    _least_nu: float = 0.0  # of those that are adapted to clusters
    _space: Subspace | None = None  # where rows have many columns: d directions in them

    def __init__(
        self,
        mean: ArrayLike | None = None,
        mean_strength: float | None = None,
        cov: ArrayLike | None = None,
        cov_strength: float | None = None,
    ) -> None:
        self.mean = mean
        self.mean_strength = mean_strength
        self.cov = cov
        self.cov_strength = cov_strength

    # -- set-up ---------------------------------------------------------------------------------

    def check(self, X: Points) -> Points:
        """Return rows as dense floats: float32 stays what it is, a block of it at a time widens."""
        return np.ascontiguousarray(X, dtype=_float_type(X))

    def prepare(self, X: Points) -> Self:
        """Return a copy with its frame and a prior, the open parts of it still to be adapted."""
        new = copy.copy(self)
        if self._may_narrow():
            new._space = subspace(np.asarray(X), always=self.narrows)
            X = new.narrowed(X)
        refuse_too_many(X.shape[1])
        d = X.shape[1]
        new._shift, new._scale = column_frame(X)
        if self.cov is None:
            step = rounding.steps(X, new._scale)
            new._scale = rounding.widened(new._scale, step)
            new.__dict__.pop("_step", None)  # of a frame before
            if step.any():
                new._step = step
        new._m = np.zeros(d)
        if self.mean is not None:
            new._m = (finite_vector(self.mean, d, "mean") - new._shift) / new._scale
        kappa = 0.01
        if self.mean_strength is not None:
            kappa = positive_number(self.mean_strength, "mean_strength")
        nu = d + 2.0
        if self.cov_strength is not None:
            nu = positive_number(self.cov_strength, "cov_strength")
        if not d - 1 < nu < np.inf:
            raise ValueError(
                f"cov_strength must be larger than the number of columns less one, {d - 1}; "
                f"got {self.cov_strength}."
            )
        psi = 0.1 * np.eye(d)
        if self.cov is not None:
            psi = _as_covariance(self.cov, d) / np.outer(new._scale, new._scale)
        return new._with(kappa, nu, psi)

    def _with(self, kappa: float, nu: float, psi: Array, m: Array | None = None) -> Self:
        """Return a copy with another prior in the same frame; its mean is the same unless given."""
        m = self._m if m is None else m
        row = np.empty(1 + len(psi) + len(psi) * (len(psi) + 1) // 2)
        log_z = matrices.prior(kappa, nu, m, psi, row)
        numbers = GaussianPrior(row, nu - kappa, log_z, len(m))
        new = object.__new__(type(self))  # as copy.copy takes longer than a batch should wait
        new.__dict__.update(
            self.__dict__, _kappa=kappa, _nu=nu, _psi=psi, _m=m, _prior=row, _log_z=log_z,
            numbers=numbers,
        )  # fmt: skip
        return new

    def adapt(self, clusters: Array) -> Self:
        """Return a copy whose open hyper-parameters suit the clusters (k, p).

        Kappa takes one EM step. The expected covariance is the one pooled within the clusters,
        or half of it; that choice and nu are those that make the clusters most probable.
        """
        if all(v is not None for v in (self.cov, self.cov_strength, self.mean_strength)):
            return self
        d, k = len(self._m), len(clusters)
        kappa, nu, psi = self._kappa, self._nu, self._psi
        tau = self._prior + clusters
        if self.mean_strength is None:
            off = _means(tau, d) - self._m
            far = (self._factored(clusters[:, None], off)[0][:, 1 : 1 + d] ** 2).sum(axis=1)
            spread = (self._dof(tau) * far + d / tau[:, 0]).sum()
            kappa = float(np.clip((k * d + 2.0) / (spread + 2.0 / 0.01), 0.003, 10.0))
        if self.cov is None:
            pooled = np.empty((d, d))
            matrices.pooled(clusters, pooled)
            trials = [self._with(kappa, nu, share * pooled) for share in SHARES]
            for trial, share in zip(trials, SHARES, strict=True):
                trial._share = share
        else:
            trials = [self._with(kappa, nu, psi)]
        if self.cov_strength is None:
            low = max(d + 2.0, self._least_nu)
            high = max(d + 2.0 + clusters[:, 0].sum(), low)
            start = float(np.clip(nu, low, high))
            trials = [
                best_by_doubling(t._with_strength, clusters, start, d, (low, high)) for t in trials
            ]
        return most_probable(trials, clusters)

    def follow(self, clusters: Array, latest: Array) -> Self:
        """Return a copy that expects means and covariances like those of the clusters (k, p).

        Without this the prior would pull on a stream that has drifted far from its beginning, or
        whose clusters have become much wider or narrower. The covariance is that of the latest
        points (k, p) and the one expected so far, which counts as much as they do or more.
        """
        if self.mean is not None and self.cov is not None:
            return self
        d, m, psi = len(self._m), self._m, self._psi
        if self.mean is None:
            m = np.empty(d)
            if matrices.middle(clusters, m) < 1.0:
                return self
        if self.cov is None:
            psi = np.empty((d, d))
            matrices.follow(latest, self._psi, self._share, KEPT * (d + 2.0), psi)
        followed = self._with(self._kappa, self._nu, psi, m)
        if isfinite(followed._log_z):
            return followed
        return self._with(self._kappa, self._nu, self._psi, m)  # rounding cost the covariance

    def settled(self, k: int) -> Self:
        """Return the copy for the rest of the stream, from a first batch with k clusters.

        How alike clusters' covariances are is learned from how many there were: the strength of
        the expected covariance is at most ``d + 2 + (k - 1) d``.
        """
        d = len(self._m)
        if self.cov_strength is not None:
            return self
        return self._with_strength(min(self._nu, d + 2.0 + (k - 1.0) * d))

    def alike(self) -> Self:
        """Return a copy that will be adapted to clusters of one shape.

        Clusters of fewer points than columns are flat, each in its own way, and would be taken for
        very unlike; then any few of them are best joined to one. So the expected covariance is
        worth at least as many points as two covariances have parameters.
        """
        if self.cov_strength is not None:
            return self
        new = copy.copy(self)
        new._least_nu = len(self._m) * (len(self._m) + 1.0)
        return new

    def _with_strength(self, nu: float) -> Self:
        """Return a copy whose expected covariance is worth nu points."""
        return self._with(self._kappa, nu, self._psi)

    def remade(self) -> Self:
        """Return the copy with its prior."""
        if not self._nu > len(self._m) - 1:
            raise ValueError(f"the strength {self._nu} of the covariance is too small")
        return self._with(self._kappa, self._nu, self._psi)

    def columns_taken(self) -> int:
        """Return how many columns rows have."""
        return len(self._m) if self._space is None else len(self._space.centre)

    def to_saved(self) -> dict[str, Any]:
        """Return what a prepared copy knows, the directions of many columns included."""
        space = {} if self._space is None else self._space._asdict()
        return {**super().to_saved(), **space}

    def from_saved(self, saved: Mapping[str, Any]) -> Self:
        """Return the prepared copy that `to_saved` describes, or raise `ValueError`."""
        fields = [name for name in Subspace._fields if name in saved]
        own = {name: value for name, value in saved.items() if name not in fields}
        new = super().from_saved(own)
        new._space = None
        if fields:
            new._space = Subspace.from_saved({name: saved[name] for name in fields}, len(new._m))
        return new

    # -- many columns ---------------------------------------------------------------------------

    def _may_narrow(self) -> bool:
        """Whether rows may be described by fewer columns: not if a given prior is for all."""
        return self.alone and self.mean is None and self.cov is None and self.cov_strength is None

    def again(self, before: Family) -> Self:
        """Return a copy that will have directions if the family before has."""
        if not (isinstance(before, Gaussian) and before.narrows and self._may_narrow()):
            return self
        new = copy.copy(self)
        new._space = before._space
        return new

    @property
    def narrows(self) -> bool:
        """Whether rows of many columns are described by a few coordinates."""
        return self._space is not None

    def narrowed(self, X: Points) -> Points:
        """Return rows by the coordinates in which the family computes; these stay as they are."""
        if self._space is None or X.shape[1] == self._space.lift.shape[1]:
            return X
        return self._space.narrowed(X)

    def turned(self, X: Points, past: float) -> tuple[Self, Carry | None]:
        """Return a copy whose directions hold new rows too, and what carries statistics over."""
        if self._space is None or len(X) == 0:
            return self, None
        space = self._space.after(np.asarray(X), past)
        if space is self._space:
            return self, None
        if space.lift is self._space.lift:
            new = copy.copy(self)
            new._space = space
            return new, None
        return self._carried_to(space)

    def _carried_to(self, space: Subspace) -> tuple[Self, Carry]:
        """Return a copy that computes in other directions, and what carries statistics there."""
        assert self._space is not None
        d = len(self._m)
        A, noise = space.turn_from(self._space)
        move, turn = A @ self._shift, A * self._scale

        def carry(s: Array) -> Array:
            n, first = s[..., :1], s[..., 1 : 1 + d]
            moved = first @ turn.T
            cross = moved[..., :, None] * move
            square = (
                turn @ _unpack(s[..., 1 + d :], d) @ turn.T + cross + np.swapaxes(cross, -1, -2)
            )
            square += n[..., None] * (np.outer(move, move) + noise)
            row, col = _upper(d)
            return np.concatenate([n, moved + n * move, square[..., row, col]], axis=-1)

        new = copy.copy(self)
        new._space, new._shift, new._scale = space, np.zeros(d), np.ones(d)
        new.__dict__.pop("_step", None)
        psi = turn @ self._psi @ turn.T + noise
        return new._with(self._kappa, self._nu, psi, turn @ self._m + move), carry

    @property
    def cell_widths(self) -> Array:
        """Widths (d,) of the cells of coarse columns."""
        return self._step

    @property
    def quadratic_rows(self) -> bool:
        """True, unless a subclass has statistics of its own."""
        return type(self).statistics is Gaussian.statistics

    def small_gaussian(self) -> GaussianPrior | None:
        """Return the prior; None for a subclass, unless it overrides this and says otherwise."""
        return self.numbers if type(self) is Gaussian else None

    def points_for_a_shape(self) -> int:
        """Return the number of columns, where there are many: from fewer a covariance is flat."""
        return len(self._m) if len(self._m) >= MANY else 0

    def hyperparameters(self) -> dict[str, Any]:
        """Return the prior in the user's units."""
        cov = self._psi * np.outer(self._scale, self._scale)
        expected = self._in_columns((self._m * self._scale + self._shift)[None], cov[None])
        mean, cov = (values[0] for values in expected.values())
        return {
            "mean": mean,
            "mean_strength": self._kappa,
            "cov": cov,
            "cov_strength": self._nu,
        }

    def enough_rows(self, d: int) -> int:
        """Return how many rows of d columns set the prior for good."""
        narrow = self._may_narrow() and may_be_wide(0, d)
        return super().enough_rows(min(d, most_directions(0)) if narrow else d)

    # -- the family proper ----------------------------------------------------------------------

    def statistics(self, X: Points) -> Points:
        """Return ``(1, z, upper triangle of z z')`` of each row ``z`` in the frame."""
        X = self.narrowed(X)
        X = np.ascontiguousarray(X, dtype=_float_type(X))
        T = np.empty((len(X), len(self._prior)))

        def fill(cut: slice) -> None:
            matrices.statistics(X[cut], self._shift, self._scale, T[cut])

        shared(fill, len(X), len(self._m))
        return T

    def embed(self, X: Points) -> Array:
        """Return the rows in the family's frame."""
        return (np.asarray(self.narrowed(X)) - self._shift) / self._scale

    def gaps(self, X: Points) -> NDArray[np.int64]:
        """Return the rows with missing entries; coordinates have none."""
        return rows_with_gaps(X[:0] if self.narrows else X)

    def filled(self, X: Points) -> Points:
        """Return rows with missing entries as in the nearest rows that have them."""
        if len(self.gaps(X)) == 0:
            return X
        return filled(self.embed(X)) * self._scale + self._shift

    def completion(self, score: Score) -> Completion:
        """Return the components of a score by which rows with gaps are scored and completed."""
        form = form_of(score)
        assert isinstance(form, Products)
        return GaussianCompletion.of(form, len(self._m))

    def log_base(self, X: Points) -> Array:
        """Return the log of the base measure of what is observed, the frame's units included."""
        each = 0.5 * _LOG_2PI + np.log(self._scale)
        out: Array = np.full(X.shape[0], -each.sum())
        some = self.gaps(X)
        if len(some):
            out[some] = -rowwise.sums(np.where(np.isnan(X[some]), 0.0, each))
        return out if self._space is None else out + self._space.log_rest(np.asarray(X))

    @property
    def prior(self) -> Array:
        """``(kappa, kappa m, upper triangle of nu Psi + kappa m m')``."""
        return self._prior

    def posterior(self, tau: Array) -> Posterior:
        """Return the parameters at ``tau`` (..., p)."""
        d = len(self._m)
        mean = _means(tau, d)
        scatter = _unpack(tau[..., 1 + d :], d)
        scatter -= tau[..., 1 : 1 + d, None] * mean[..., None, :]
        return Posterior(tau[..., 0], self._dof(tau), mean, scatter)

    @property
    def frame(self) -> tuple[Array, Array]:
        """The frame's centre and scales (d,) each."""
        return self._shift, self._scale

    def reframed(self, sums: Array, before: Family) -> Array | None:
        """Return statistics (m, p) of another frame in this one."""
        if not isinstance(before, Gaussian) or len(before._m) != len(self._m):
            return None
        d, n = len(self._m), sums[:, 0]
        ratio, shift = before._scale / self._scale, (before._shift - self._shift) / self._scale
        z = sums[:, 1 : 1 + d] * ratio
        cross = z[:, :, None] * shift
        zz = _unpack(sums[:, 1 + d :], d) * np.outer(ratio, ratio)
        zz = zz + cross + cross.transpose(0, 2, 1) + n[:, None, None] * np.outer(shift, shift)
        row, col = np.triu_indices(d)
        return np.column_stack([n, z + n[:, None] * shift, zz[:, row, col]])

    def _dof(self, tau: Array) -> Array:
        """Return the posteriors' degrees of freedom (...)."""
        nu: Array = tau[..., 0] + (self._nu - self._kappa)
        return nu

    def _factored(self, s: Array, vector: Array) -> tuple[Array, Array]:
        """Return rows ``(kappa, L^-1 vector, L)`` (k, p) and log determinants (k,).

        ``L L'`` is the scatter of the posteriors of ``s`` (k, g, p), that of its g groups summed.
        Without vectors, (0, d), it is the first group's mean. Rounding that cost positive
        definiteness is mended.
        """
        out, log_det = np.empty((len(s), s.shape[2])), np.empty(len(s))

        def factor(cut: slice) -> int:
            aims = vector[cut] if len(vector) else vector
            if len(self._m) >= MANY:
                return int(cholesky.factor(s[cut], self._prior, aims, out[cut], log_det[cut]))
            room = matrices.room_for(len(self._m))
            return int(matrices.factor(s[cut], self._prior, aims, room, out[cut], log_det[cut]))

        if sum(shared(factor, len(s), len(self._m))):
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
        factor: Array = np.linalg.cholesky(whole).astype(np.float64, copy=False)
        return factor

    def log_partition(self, tau: Array) -> Array:
        """Return the log-normaliser of the normal-inverse-Wishart density."""
        return self._log_normaliser(tau, np.zeros(len(self._prior)))

    def log_marginal(self, s: Array) -> Array:
        """Return the log marginal likelihood of clusters, base measure aside."""
        return self._log_normaliser(s, self._prior) - self._log_z

    def _log_normaliser(self, s: Array, prior: Array) -> Array:
        """Return the log-normaliser at ``prior + s`` (..., p)."""
        d, more = len(self._m), self._nu - self._kappa
        flat = np.ascontiguousarray(s).reshape(-1, s.shape[-1])
        out = np.empty(len(flat))

        def fill(cut: slice) -> int:
            if d < MANY:
                room = matrices.room_for(d)
                return int(matrices.log_partition(flat[cut], prior, more, d, room, out[cut]))
            nothing = np.empty((0, flat.shape[1]))
            failed = int(
                cholesky.factor(flat[cut][:, None], prior, nothing[:, :d], nothing, out[cut])
            )
            cholesky.normalisers(flat[cut, 0] + prior[0], more, out[cut], d, out[cut])
            return failed

        if sum(shared(fill, len(flat), d)):
            for r in np.flatnonzero(np.isnan(out)):
                tau = prior + flat[r]
                L = self._mended(self.posterior(tau).scatter[None])[0]
                log_det = 2.0 * np.log(np.diag(L)).sum()
                out[r] = matrices.normaliser(tau[0], tau[0] + more, log_det, d)
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
        return chi, normal[:, d:], normal[:, :d]

    def predictive_score(self, s: Array, log_weight: Array) -> PredictiveScore:
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

    def describe(self, tau: Array) -> dict[str, Array]:
        """Return the clusters' expected means and covariances in the user's units."""
        post = self.posterior(tau)
        d = post.mean.shape[1]
        cov = post.scatter / np.maximum(post.nu - d - 1.0, 1.0)[:, None, None]
        return self._in_columns(
            post.mean * self._scale + self._shift, cov * np.outer(self._scale, self._scale)
        )

    def _in_columns(self, mean: Array, cov: Array) -> dict[str, Array]:
        """Return means (k, d) and covariances (k, d, d) for the columns of the rows.

        Where these are very many there are their variances alone.
        """
        if self._space is None:
            return {"mean": mean, "covariance": cov}
        if len(self._space.centre) > MOST_DESCRIBED:
            return {"mean": self._space.means(mean), "variance": self._space.variances(cov)}
        return {"mean": self._space.means(mean), "covariance": self._space.covariances(cov)}

    def example(self, rng: np.random.Generator) -> tuple[Any, Any]:
        """Return points of two groups apart."""
        mix = np.array([[1.0, 0.8], [0.0, 0.6]])
        return rng.normal(size=(12, 2)) @ mix, rng.normal(size=(18, 2)) @ mix + 6.0

    # -- moves ----------------------------------------------------------------------------------

    def needs_members(self, attempt: NDArray[np.int64]) -> bool:
        """Whether some cluster is to be cut towards a random point."""
        return bool((attempt % 2).any())

    def directions(self, s: Array, member: Array, attempt: NDArray[np.int64]) -> Array:
        """Propose to cut along the first principal axes in turn, or towards a random point."""
        d = len(self._m)
        out, axes = np.empty(s.shape), min(d, AXES)
        s = np.ascontiguousarray(s)

        def fill(cut: slice) -> None:
            room = matrices.room_for(d)
            matrices.directions(s[cut], member[cut], attempt[cut], axes, d, room, out[cut])

        shared(fill, len(s), d)
        return out

    def boundary(self, first: Array, second: Array) -> tuple[Array, Array]:
        """Return Fisher's linear discriminant: normals (k, d) and offsets (k,)."""
        both = np.stack([first, second], axis=1)
        k, d = len(first), len(self._m)
        between, middle, dof = np.empty((k, d)), np.empty((k, d)), np.empty(k)
        more = self._nu - self._kappa
        matrices.between(both, self._prior, more, between, middle, dof)
        factors, _ = self._factored(both, between)
        normal, offset = np.empty((k, d)), np.empty(k)
        matrices.discriminant(factors, dof, middle, both, normal, offset)
        return normal, offset

    def divide(self, past: Array, boundary: tuple[Array, Array]) -> Array:
        """Cut the past, seen as one Gaussian, by the boundary: its truncated moments."""
        part = np.empty(past.shape)
        p = past.shape[-1]
        whole, out = np.ascontiguousarray(past).reshape(-1, p), part.reshape(-1, p)
        normal, offset = boundary

        def cut(some: slice) -> None:
            room = matrices.room_for(len(self._m))
            matrices.truncate(whole[some], normal[some], offset[some], CERTAIN, room, out[some])

        if len(whole) == len(normal):
            shared(cut, len(whole), normal.shape[1])
        else:
            room = matrices.room_for(len(self._m))
            matrices.truncate(whole, normal, offset, CERTAIN, room, out)
        return part

    def discriminant(self, first: Array, second: Array) -> tuple[Array, Array]:
        """Return Fisher's linear discriminant, the groups' sizes aside."""
        normal, offset = self.boundary(first, second)
        return normal, offset - log_odds(first, second)

    def project(self, past: Array, discriminant: tuple[Array, Array]) -> Projection:
        """Return mean and variance of the discriminant over a past (..., k, p)."""
        normal, offset = discriminant
        mean, cov = _moments(past, len(self._m))
        variance = (normal * (cov @ normal[..., None])[..., 0]).sum(axis=-1)
        return Projection((normal * mean).sum(axis=-1) - offset, np.maximum(variance, 0.0))

    def cut(self, past: Array, discriminant: tuple[Array, Array], side: Side) -> Array:
        """Return a share of the past, moved and narrowed along the discriminant."""
        d = len(self._m)
        mean, cov = _moments(past, d)
        along = (cov @ discriminant[0][..., None])[..., 0]
        mean = mean - along * side.pull[..., None]
        cov = cov - side.narrow[..., None, None] * along[..., :, None] * along[..., None, :]
        cov += mean[..., :, None] * mean[..., None, :]
        out = past * side.share[..., None]
        out[..., 1 : 1 + d] = out[..., :1] * mean
        row, col = _upper(d)
        out[..., 1 + d :] = out[..., :1] * cov[..., row, col]
        return out


# -- packed symmetric matrices ------------------------------------------------------------------


@cache
def _upper(d: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    row, col = np.triu_indices(d)
    return row, col


def _unpack(packed: Array, d: int) -> Array:
    row, col = _upper(d)
    out = np.empty((*packed.shape[:-1], d, d))
    out[..., row, col] = packed
    out[..., col, row] = packed
    return out


def _moments(s: Array, d: int) -> tuple[Array, Array]:
    """Return means (..., d) and covariances (..., d, d) of groups with statistics (..., p)."""
    n = np.maximum(s[..., :1], 1e-300)
    mean = s[..., 1 : 1 + d] / n
    cov = _unpack(s[..., 1 + d :] / n, d)
    cov -= mean[..., :, None] * mean[..., None, :]
    return mean, cov


def _means(tau: Array, d: int) -> Array:
    """Return means (..., d) of groups with statistics (..., p)."""
    mean: Array = tau[..., 1 : 1 + d] / tau[..., :1]
    return mean


# -- checks of what the user gave ---------------------------------------------------------------


def _float_type(X: Any) -> type[np.floating[Any]]:
    return np.float32 if X.dtype.char == "f" else np.float64


def _as_covariance(value: ArrayLike, d: int) -> Array:
    cov = as_floats(value, "cov")
    if cov.ndim < 2:
        cov = np.diag(finite_vector(cov, d, "cov"))
    if cov.shape != (d, d):
        raise ValueError(f"cov must be a number, ({d},) or ({d}, {d}); it has shape {cov.shape}.")
    if (
        not np.all(np.isfinite(cov))
        or not np.allclose(cov, cov.T, atol=1e-8 * np.abs(cov).max())
        or np.linalg.eigvalsh(cov)[0] <= 0
    ):
        raise ValueError("cov must be symmetric and positive definite.")
    return cov
