"""What Student-t families share: rows that are tamed, and tails that are given or learned."""

from __future__ import annotations

import copy
from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from scstream.families.contract import Array, Family
from scstream.families.gaps import Completion
from scstream.families.scores import Points, Score, to_dense
from scstream.families.tails import HEAVY, START, USUAL, differs, given_df, learned_df
from scstream.families.taming import Frames, HeavyScore, Taming


class HeavyTailed(Family):
    """Clusters with Student-t tails, of which another class says what they are without these.

    Their statistics are those of tamed rows, see `scstream.families.taming`; given these, the prior
    and all that follows from it are the other family's.
    """

    missing: ClassVar[bool] = False
    completes: ClassVar[bool] = False
    tames: ClassVar[bool] = True

    df: float | str  # as the user gave it
    _df: float = START

    # -- what a family of this kind gives -------------------------------------------------------

    @abstractmethod
    def frames(self, s: Array) -> Frames:
        """Return the frames of clusters (k, p): posterior centres and scales."""

    @abstractmethod
    def predictive_score(self, s: Array, log_weight: Array) -> HeavyScore:
        """Score rows by Student-t densities.

        Given a scale, a row is Student-t with the family's degrees of freedom; given tamed rows, it
        would be Student-t about an uncertain scale. The inverses of both degrees of freedom add up.
        """

    # -- what follows ---------------------------------------------------------------------------

    def prepare(self, X: Points) -> Self:
        """Return a copy with its frame, a prior, and degrees of freedom to start from."""
        df = given_df(self.df)
        new = super().prepare(X)
        new._df = df
        return new

    def started_again(self, learned: Family) -> Self | None:
        """Return this copy with tails that were learned, if they are hardly heavy."""
        if self.df != "auto" or learned.has_heavy_tails():
            return None
        assert isinstance(learned, HeavyTailed)
        new = copy.copy(self)
        new._df = learned._df
        return new

    def check_given(self) -> None:
        """Raise `ValueError` if the degrees of freedom cannot be."""
        given_df(self.df)

    def with_tails(self, X: Points, totals: Array, memory: float, *, first: bool = False) -> Self:
        """Return a copy whose degrees of freedom suit rows (n, d) of clusters (k, p)."""
        if self.df != "auto" or len(X) == 0:
            return self
        T = to_dense(self.statistics(X))
        score = self.predictive_score(totals, np.log(np.maximum(totals[:, 0], 1e-300)))
        z = np.argmax(score.block(T), axis=1)
        new = copy.copy(self)
        far, columns = score.frames.distances(T, z), score.frames.centre.shape[1]
        new._df = learned_df(far, columns, USUAL if first else self._df, memory)
        return new

    def has_heavy_tails(self) -> bool:
        """Whether tails are clearly heavier than normal ones."""
        return self._df < HEAVY

    def tails_differ(self, before: Family) -> bool:
        """Whether the degrees of freedom are clearly others than before."""
        return isinstance(before, HeavyTailed) and differs(self._df, before._df)

    @property
    def quadratic_rows(self) -> bool:
        """False: statistics depend on labels."""
        return False

    def completed_rows(self, X: Points) -> NDArray[np.int64]:
        """Return all rows: each is tamed once it has a label."""
        return np.arange(len(X))

    def completion(self, score: Score) -> Completion:
        """Return what tames rows by the frames of a score."""
        return Taming.of(score)

    # -- how it shows itself --------------------------------------------------------------------

    def hyperparameters(self) -> dict[str, Any]:
        """Return the prior in the user's units, and the degrees of freedom."""
        return {"df": self._df, **super().hyperparameters()}

    def describe(self, tau: Array) -> dict[str, Array]:
        """Return centres and scales in the user's units, and the degrees of freedom."""
        return {**super().describe(tau), "df": np.full(len(tau), self._df)}
