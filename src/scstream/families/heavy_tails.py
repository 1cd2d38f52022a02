"""The tails of Student-t families: degrees of freedom, which are given or learned from rows."""

from __future__ import annotations

import copy
from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from scstream.families.contract import Array, Family
from scstream.families.scale_mixture import (
    LocationScale,
    RowScore,
    Scatters,
    level_of,
    location_scale,
)
from scstream.families.scores import LinearScore, Points, to_dense

START = 2.0  # where learning starts from: heavy tails, so that pieces of a tail are merged
USUAL = 8.0  # what is expected before rows are seen
NORMAL = 1e6  # degrees of freedom that leave no tails
LIGHT = 200.0  # those from which there are none: a row of ten columns then loses .001 nats
HEAVY = 30.0  # degrees of freedom below which tails are clearly heavier than normal ones
_TRIED = np.array([NORMAL, *np.exp(np.linspace(np.log(300.0), 0.0, 24))])
WORTH = 1.0  # nats by which heavy tails must be better than normal ones
FIRST_WORTH = 3.0  # the same in a first batch: by 1 nat a sample of normal rows in 12 has tails
_SAME = 0.01  # inverses of degrees of freedom that differ by less are the same
_GRAIN = 0.02  # of the logarithm of what is learned: tables are made for each value
_ROUNDS = 4  # of the search for a scale, for each value


class HeavyTailed(Family):
    """Clusters with Student-t tails, of which another class says what they are without these.

    Their statistics are those of weighted rows, see `scstream.families.scale_mixture`; given these,
    the prior and all that follows from it are the other family's. Where degrees of freedom leave no
    tails rows have no weights, and everything is the other family's.
    """

    missing: ClassVar[bool] = False

    df: float | str  # as the user gave it
    _df: float = START

    # -- what a family of this kind gives -------------------------------------------------------

    @abstractmethod
    def scatters(self, s: Array) -> Scatters:
        """Return what the posteriors of clusters (k, p) say of their centres and scales."""

    @abstractmethod
    def drawn_level(self, score: Any) -> Array:
        """Return log weights (k,) of a drawn score and half the log determinants of precisions."""

    # -- what follows ---------------------------------------------------------------------------

    @property
    def tails(self) -> Tails:
        """The tails, light or heavy."""
        return Tails(self)

    def having(self, df: float) -> Self:
        """Return a copy with such degrees of freedom."""
        new = copy.copy(self)
        new._df = df
        return new

    def prepare(self, X: Points) -> Self:
        """Return a copy with its frame, a prior, and degrees of freedom to start from."""
        df = given_df(self.df)
        return super().prepare(X).having(df)

    def check_given(self) -> None:
        """Raise `ValueError` if the degrees of freedom cannot be."""
        given_df(self.df)

    @property
    def quadratic_rows(self) -> bool:
        """What the other family says, unless statistics depend on labels."""
        return not self.tails.active and super().quadratic_rows

    @property
    def imputation(self) -> None:
        """None: missing entries are refused."""
        return

    def hyperparameters(self) -> dict[str, Any]:
        """Return the prior in the user's units, and the degrees of freedom."""
        return {"df": self._df, **super().hyperparameters()}

    def describe(self, tau: Array) -> dict[str, Array]:
        """Return centres and scales in the user's units, and the degrees of freedom."""
        return {**super().describe(tau), "df": np.full(len(tau), self._df)}


class Tails:
    """The tails of the clusters of a prepared family.

    Attributes
    ----------
    df : float
        Degrees of freedom, the same for all clusters.
    active : bool
        Whether rows have weights, which they have not where tails are normal.
    heavy : bool
        Whether tails are clearly heavier than normal ones, so that clusters reach each other at any
        distance.
    learned : bool
        Whether degrees of freedom follow the rows.
    """

    def __init__(self, family: HeavyTailed) -> None:
        self._family, self.df = family, family._df
        self.active, self.heavy = self.df < NORMAL, self.df < HEAVY
        self.learned = family.df == "auto"

    # -- rows given their clusters --------------------------------------------------------------

    def location_scale(self, s: Array) -> LocationScale:
        """Return the expected centres and scales of clusters (k, p)."""
        return location_scale(self._family.scatters(s), self.df)

    def row_score(self, s: Array, log_weight: Array) -> RowScore:
        """Score rows as they came by the predictives of clusters (k, p)."""
        return RowScore.predictive(self._family.scatters(s), log_weight, self.df)

    def drawn_score(self, score: LinearScore, s: Array) -> RowScore:
        """Score rows as they came by the centres and scales that were drawn of clusters (k, p)."""
        level = self._family.drawn_level(score)
        return RowScore.drawn(score.eta, level, self.location_scale(s))

    # -- degrees of freedom ---------------------------------------------------------------------

    def of(self, df: float) -> HeavyTailed:
        """Return the family with other degrees of freedom."""
        return self._family.having(df)

    def after(self, X: Points, totals: Array, memory: float, *, first: bool = False) -> HeavyTailed:
        """Return the family with the tails of checked rows (n, d) of clusters (k, p), if learned.

        What was known before counts as so many rows; what is usual does in a ``first`` batch. There
        are always some tails there, if next to none: its rows have weights to its end.
        """
        if not self.learned or len(X) == 0:
            return self._family
        T = to_dense(self._family.statistics(X))
        score = self.row_score(totals, np.log(np.maximum(totals[:, 0], 1e-300)))
        z = np.argmax(score.block(T), axis=1)
        far, columns = score.places.distances(T, z), score.places.centre.shape[1]
        before, worth = (USUAL, FIRST_WORTH) if first else (self.df, WORTH)
        df = learned_df(far, columns, before, memory, worth)
        return self.of(min(df, 0.5 * NORMAL) if first else df)

    def differ_from(self, before: Tails) -> bool:
        """Whether degrees of freedom are clearly others: by a tenth, unless both are large."""
        least = 0.1 / min(self.df, before.df) + _SAME
        return abs(1.0 / self.df - 1.0 / before.df) > least


def has_heavy_tails(family: Family) -> bool:
    """Whether a family's clusters have tails that are clearly heavier than normal ones."""
    return family.tails is not None and family.tails.heavy


def found_no_tails(family: Family) -> bool:
    """Whether rows had weights in a first batch, but turn out to have no tails."""
    return family.tails is not None and LIGHT <= family.tails.df < NORMAL


def given_df(df: Any) -> float:
    """Return the degrees of freedom to start from, or raise `ValueError`."""
    if isinstance(df, str) and df == "auto":
        return START
    bad = isinstance(df, (bool, str)) or not isinstance(df, (int, float, np.integer, np.floating))
    if bad or not 0.0 < float(df) < np.inf:
        raise ValueError(f'df must be "auto" or a positive number, such as 4.0; got {df!r}.')
    return float(df)


def learned_df(far: Array, d: int, before: float, memory: float, worth: float = WORTH) -> float:
    """Return the degrees of freedom after some rows with squared distances (n,).

    Those before and those that the rows show are averaged by their inverses, the former as if
    they were from so many rows. Distances are known up to a scale. Where heavy tails are not
    better by ``worth`` there are none, and if rows are many nothing else counts.
    """
    level = _log_likelihoods(far, d)
    level[0] += worth
    best = int(np.argmax(level))
    if best == 0 and len(far) > memory:
        return NORMAL
    inverse = 1.0 / _TRIED[best]
    if 0 < best < len(_TRIED) - 1:
        inverse = _peak(1.0 / _TRIED[best - 1 : best + 2], level[best - 1 : best + 2])
    share = len(far) / (len(far) + memory)
    log_df = -np.log((1.0 - share) / before + share * inverse)
    df = float(np.exp(_GRAIN * np.round(log_df / _GRAIN)))
    return df if df < LIGHT else NORMAL


def _log_likelihoods(far: Array, d: int) -> Array:
    """Return the log-likelihoods of squared distances (n,) for each value that is tried.

    Distances are known up to a scale, the best of which some rounds of EM (with an expanded
    parameter) find, beginning with that of the value before.
    """
    out, scale = np.empty(len(_TRIED)), 1.0
    for i, df in enumerate(_TRIED):
        for _ in range(_ROUNDS):
            share = 1.0 / (df * scale + far)
            scale = max(float(far @ share) / (d * float(share.sum())), 1e-300)
        tail = np.log1p(far / (df * scale)).sum()
        out[i] = -0.5 * len(far) * d * np.log(scale) - 0.5 * (df + d) * tail
    out += len(far) * level_of(_TRIED, d)
    return out


def _peak(x: Array, y: Array) -> float:
    """Return where the parabola through three points is highest, x ascending."""
    one, two = (y[1] - y[0]) / (x[1] - x[0]), (y[2] - y[1]) / (x[2] - x[1])
    bend = (two - one) / (x[2] - x[0])
    if not bend < 0.0:
        return float(x[1])
    return float(np.clip(0.5 * (x[0] + x[1] - one / bend), x[0], x[2]))
