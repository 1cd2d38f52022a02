"""What Student-t families share: rows that are tamed, and tails that are given or learned."""

from __future__ import annotations

import copy
from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from scstream.families.contract import Array, Family
from scstream.families.gaps import NO_ROWS, Completion
from scstream.families.scores import LinearScore, Points, Score, to_dense
from scstream.families.tails import (
    FIRST_WORTH,
    HEAVY,
    LIGHT,
    NORMAL,
    PIECES,
    START,
    USUAL,
    WORTH,
    differs,
    given_df,
    learned_df,
)
from scstream.families.taming import Frames, HeavyScore, Taming


class HeavyTailed(Family):
    """Clusters with Student-t tails, of which another class says what they are without these.

    Their statistics are those of tamed rows, see `scstream.families.taming`; given these, the prior
    and all that follows from it are the other family's. Where degrees of freedom leave no tails
    rows are not tamed, and everything is the other family's.
    """

    missing: ClassVar[bool] = False
    completes: bool = False
    learns_tails: ClassVar[bool] = True
    tames: bool = True  # unless its degrees of freedom leave no tails
    surely: bool = False  # whether clusters that were found without tails have shown some

    df: float | str  # as the user gave it
    _df: float = START

    # -- what a family of this kind gives -------------------------------------------------------

    @abstractmethod
    def frames(self, s: Array) -> Frames:
        """Return the frames of clusters (k, p): posterior centres and scales."""

    @abstractmethod
    def heavy_score(self, s: Array, log_weight: Array) -> HeavyScore:
        """Score rows by the predictives of Student-t clusters.

        Given a scale, a row is Student-t with the family's degrees of freedom; given tamed rows, it
        would be Student-t about an uncertain scale. The inverses of both degrees of freedom add up.
        """

    @abstractmethod
    def drawn_score(self, score: LinearScore, s: Array) -> HeavyScore:
        """Score rows by Student-t densities with the centres and scales of a drawn score."""

    # -- what follows ---------------------------------------------------------------------------

    def prepare(self, X: Points) -> Self:
        """Return a copy with its frame, a prior, and degrees of freedom to start from."""
        df = given_df(self.df)
        return super().prepare(X)._having(df)

    def _having(self, df: float) -> Self:
        """Return a copy with such degrees of freedom."""
        new = copy.copy(self)
        new._df, new.tames = df, df < NORMAL
        return new

    def remade(self) -> Self:
        """Return the copy with everything that follows from what was saved."""
        return super().remade()._having(self._df)

    def started_again(self, learned: Family) -> Self | None:
        """Return this copy with the tails that were learned, if they are hardly heavy.

        Clusters may be pieces of tails, and have none of their own: a start without any finds them.
        Where none at all were learned `untamed` is that start.
        """
        if self.df != "auto" or learned.has_heavy_tails() or not self.tames:
            return None
        assert isinstance(learned, HeavyTailed)
        return self._having(learned._df) if learned._df < LIGHT else None

    def untamed(self, learned: Family) -> Self | None:
        """Return this copy without tails if none were learned."""
        assert isinstance(learned, HeavyTailed)
        return self._having(NORMAL) if learned.tames and learned._df >= LIGHT else None

    def tamed(self, X: Points, totals: Array, memory: float) -> Self | None:
        """Return this copy with tails to start from, if rows (n, d) of clusters (k, p) show some.

        Where there are tails these clusters are pieces of them: they are not where to start from.
        """
        if self.tails_shown(X, totals, memory)._df >= PIECES:
            return None
        new = self._having(START)
        new.surely = True
        return new

    def made_heavy(self) -> Self | None:
        """Return this copy with heavy tails to start from, if it has none and they are learned."""
        return None if self.has_heavy_tails() or self.df != "auto" else self._having(START)

    def tails_shown(self, X: Points, totals: Array, memory: float) -> Self:
        """Return this copy with the tails that rows of clusters (k, p) show by themselves."""
        return self._having(NORMAL).with_tails(X, totals, memory)

    def check_given(self) -> None:
        """Raise `ValueError` if the degrees of freedom cannot be."""
        given_df(self.df)

    def with_tails(self, X: Points, totals: Array, memory: float, *, first: bool = False) -> Self:
        """Return a copy whose degrees of freedom suit rows (n, d) of clusters (k, p).

        In a first batch there are always some, if next to none: its rows are tamed to its end. They
        stay heavy if clusters that were found without any have shown them, see `tamed`.
        """
        if self.df != "auto" or len(X) == 0:
            return self
        T = to_dense(self.statistics(X))
        score = self.heavy_score(totals, np.log(np.maximum(totals[:, 0], 1e-300)))
        z = np.argmax(score.block(T), axis=1)
        far, columns = score.frames.distances(T, z), score.frames.centre.shape[1]
        before, worth = (USUAL, FIRST_WORTH) if first else (self._df, WORTH)
        df = learned_df(far, columns, before, memory, worth)
        most = 0.9 * HEAVY if self.surely else 0.5 * NORMAL
        return self._having(min(df, most) if first else df)

    def has_heavy_tails(self) -> bool:
        """Whether tails are clearly heavier than normal ones."""
        return self._df < HEAVY

    def tails_differ(self, before: Family) -> bool:
        """Whether the degrees of freedom are clearly others than before."""
        return isinstance(before, HeavyTailed) and differs(self._df, before._df)

    @property
    def quadratic_rows(self) -> bool:
        """What the other family says, unless statistics depend on labels."""
        return not self.tames and super().quadratic_rows

    def completed_rows(self, X: Points) -> NDArray[np.int64]:
        """Return all rows if each is tamed once it has a label, else none."""
        return np.arange(len(X)) if self.tames else NO_ROWS

    def completion(self, score: Score) -> Completion:
        """Return what tames rows by the frames of a score."""
        return Taming.of(score)

    def predictive_score(self, s: Array, log_weight: Array) -> Score:
        """Score rows by Student-t densities; those of the other family if there are no tails."""
        of = self.heavy_score if self.tames else self.part_score
        return of(s, log_weight)

    def part_score(self, s: Array, log_weight: Array) -> Score:
        """Score tamed rows by the predictives of clusters without tails."""
        return super().predictive_score(s, log_weight)

    def label_score(self, score: LinearScore, s: Array) -> Score:
        """Return the score of rows as they came, for drawn centres and scales."""
        return self.drawn_score(score, s) if self.tames else score

    # -- how it shows itself --------------------------------------------------------------------

    def hyperparameters(self) -> dict[str, Any]:
        """Return the prior in the user's units, and the degrees of freedom."""
        return {"df": self._df, **super().hyperparameters()}

    def describe(self, tau: Array) -> dict[str, Array]:
        """Return centres and scales in the user's units, and the degrees of freedom."""
        return {**super().describe(tau), "df": np.full(len(tau), self._df)}
