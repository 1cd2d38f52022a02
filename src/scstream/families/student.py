"""Student-t clusters with full scale matrices: Gaussian ones with heavy tails."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scstream.families.contract import Family, StudentPrior
from scstream.families.gaussian import Gaussian
from scstream.families.gaussian_scores import DrawnScore, PredictiveScore
from scstream.families.scores import Array, LinearScore, Points, Score
from scstream.families.tails import START, differs, given_df, learned_df
from scstream.families.taming import Frames, HeavyScore, Taming, level_of, tails_of
from scstream.kernels import matrices


class Student(Gaussian):
    """Clusters with a centre and a full scale matrix of their own, and heavy tails.

    Parameters
    ----------
    df : float or "auto"
        Degrees of freedom, the same for all clusters: 1 is a Cauchy distribution, 100 is nearly
        normal. By default they are learned, from the first batch on.
    mean, mean_strength, cov, cov_strength
        As in `scstream.Gaussian`, of the centre and the scale matrix, which is the covariance times
        ``(df - 2) / df``.

    Notes
    -----
    A row far out counts for less: rows enter a cluster's statistics with their tails drawn in, see
    `scstream.families.taming`. Labels and densities are those of Student-t distributions. Missing
    entries are refused.

    Examples
    --------
    >>> import numpy as np
    >>> from scstream import ScStream
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_t(3, size=(1000, 2)) + [[0.0, 0.0], [20.0, 0.0]] * 500
    >>> ScStream("student", random_state=0).fit(X).n_clusters_
    2
    """

    name: ClassVar[str] = "student"
    missing: ClassVar[bool] = False
    completes: ClassVar[bool] = False
    tames: ClassVar[bool] = True
    kept: ClassVar[Mapping[str, str]] = {**Gaussian.kept, "_df": "+"}

    _df: float = START

    def __init__(
        self,
        df: float | str = "auto",
        mean: ArrayLike | None = None,
        mean_strength: float | None = None,
        cov: ArrayLike | None = None,
        cov_strength: float | None = None,
    ) -> None:
        super().__init__(mean, mean_strength, cov, cov_strength)
        self.df = df

    # -- set-up ---------------------------------------------------------------------------------

    def prepare(self, X: Points) -> Self:
        """Return a copy with its frame, a prior, and degrees of freedom to start from."""
        df = given_df(self.df)
        new = super().prepare(X)
        new._df = df
        return new

    def with_tails(self, X: Points, totals: Array, memory: float) -> Self:
        """Return a copy whose degrees of freedom suit rows (n, d) of clusters (k, p)."""
        if self.df != "auto" or len(X) == 0:
            return self
        T = self.statistics(X)
        score = self.predictive_score(totals, np.log(np.maximum(totals[:, 0], 1e-300)))
        z = np.argmax(score.block(T), axis=1)
        df = learned_df(score.frames.distances(T, z), len(self._m), self._df, memory)
        new = self._with(self._kappa, self._nu, self._psi)
        new._df = df
        return new

    def tails_differ(self, before: Family) -> bool:
        """Whether the inverses of the degrees of freedom are clearly apart."""
        return isinstance(before, Student) and differs(self._df, before._df)

    def hyperparameters(self) -> dict[str, Any]:
        """Return the prior in the user's units."""
        return {"df": self._df, **super().hyperparameters()}

    def check_given(self) -> None:
        """Raise `ValueError` if the degrees of freedom cannot be."""
        given_df(self.df)

    # -- the family proper ----------------------------------------------------------------------

    @property
    def quadratic_rows(self) -> bool:
        """False: statistics depend on labels."""
        return False

    def small_student(self) -> StudentPrior | None:
        """Return the prior and the tails; None for a subclass."""
        if type(self) is not Student:
            return None
        return StudentPrior(self.numbers, tails_of(self._df, len(self._m)))

    def completed_rows(self, X: Points) -> NDArray[np.int64]:
        """Return all rows: each is tamed once it has a label."""
        return np.arange(len(X))

    def completion(self, score: Score) -> Taming:  # type: ignore[override]
        """Return what tames rows by the frames of a score."""
        return Taming.of(score)

    def frames(self, s: Array) -> Frames:
        """Return the frames of clusters (k, p): posterior centres and scales."""
        factors, _ = self._factored(s[:, None], np.empty((0, len(self._m))))
        return self._frames(s, factors, self._quad(factors))

    def _quad(self, factors: Array) -> Array:
        """Return functionals (k, p) of T that are squared distances by scatters."""
        d, out = len(self._m), np.empty(factors.shape)
        matrices.student(factors, d, matrices.room_for(d), out)
        out[:, 0] -= 1.0
        out *= (1.0 + 1.0 / factors[:, 0])[:, None]
        return out

    def _frames(self, s: Array, factors: Array, quad: Array) -> Frames:
        d = len(self._m)
        tau = self._prior + s
        scaled = quad * (self._dof(tau) / self._df)[:, None]
        scaled[:, 0] += 1.0
        return Frames(tau[:, 1 : 1 + d] / tau[:, :1], scaled, self._df, full=True)

    def part_score(self, s: Array, log_weight: Array) -> PredictiveScore:
        """Score tamed rows by the predictives of Gaussian clusters."""
        return super().predictive_score(s, log_weight)

    def predictive_score(self, s: Array, log_weight: Array) -> HeavyScore:  # type: ignore[override]
        """Score rows by Student-t densities.

        Given a scale, a row is Student-t with the family's degrees of freedom; given tamed rows, it
        would be Student-t about an uncertain scale. The inverses of both degrees of freedom add up.
        Where the family's are infinite this is the Gaussian's predictive.
        """
        d = len(self._m)
        factors, log_det = self._factored(s[:, None], np.empty((0, d)))
        quad = self._quad(factors)
        kappa = factors[:, 0]
        spare = kappa + (self._nu - self._kappa) - d + 1.0
        df = 1.0 / (1.0 / self._df + 1.0 / spare)
        tight = kappa / (kappa + 1.0) * spare  # the scale is the scatter over this
        const = log_weight + level_of(df, d) + 0.5 * (d * np.log(tight) - log_det)
        scaled = quad * (tight / df)[:, None]
        scaled[:, 0] += 1.0
        return HeavyScore(scaled, const, 0.5 * (df + d), self._frames(s, factors, quad))

    def label_score(self, score: LinearScore, s: Array) -> HeavyScore:
        """Return Student-t densities with the centres and scales that were drawn."""
        assert isinstance(score, DrawnScore)
        d, df = len(self._m), self._df
        level = score.log_weight + np.log(score.drawn[1]).sum(axis=1) - 0.5 * score.log_det
        quad = score.eta * (-2.0 / df)
        quad[:, 0] += 1.0 + level * (2.0 / df)
        power = np.full(len(s), 0.5 * (df + d))
        return HeavyScore(quad, level + level_of(df, d), power, self.frames(s))

    def example(self, rng: np.random.Generator) -> tuple[Any, Any]:
        """Return points of two groups apart, with heavy tails."""
        mix = np.array([[1.0, 0.8], [0.0, 0.6]])
        rows = rng.normal(size=(30, 2)) / np.sqrt(rng.chisquare(4.0, size=(30, 1)) / 4.0)
        return rows[:12] @ mix, rows[12:] @ mix + 9.0
