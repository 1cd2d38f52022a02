"""Single points given new labels one by one: the move by which a point may found a cluster alone.

Neal's algorithm 3 (Markov chain sampling methods for Dirichlet process mixture models, 2000) on
some points: each draws its label by the others' labels, all parameters integrated out. That is
exact, whatever the other moves do, but takes a step for each point: it is for `fit` on few rows.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from scstream.engines import FewRows, Sums
from scstream.families.contract import Array
from scstream.families.scores import to_dense
from scstream.sampler.clusters import Ints, State
from scstream.sampler.context import Context
from scstream.sampler.split_merge import drop_forgotten


def move_single_points(ctx: Context, state: State, time: float) -> State:
    """Draw new labels of as many random points as `Rules.single_points` says.

    A point with the weight w joins a cluster that counts N without it by
    ``Gamma(N + w) / Gamma(N)`` times the predictive, or founds one by ``alpha Gamma(w)`` times its
    own marginal.
    """
    rows, m = ctx.engine.few_rows(), ctx.rules.single_points
    if ctx.family.weighs_rows:
        raise ValueError(
            f"The rule single_points is not for the family {ctx.family.name!r}, whose rows depend "
            "on their labels. Set it to 0."
        )
    if rows is None:
        raise ValueError(
            "The rule single_points is for up to 4,096 rows on engine='cpu'; got "
            f"{ctx.engine.n_rows} rows on {type(ctx.engine).__name__}. Set it to 0."
        )
    generator = ctx.rng
    picks, u = generator.integers(len(rows.labels), size=m), generator.random(m)
    T = to_dense(ctx.family.statistics(ctx.engine.sample(generator, len(rows.labels))))
    groups = _Groups(ctx, state, rows, T, m)
    for i, chance in zip(picks.tolist(), u.tolist(), strict=True):
        if rows.labels[i] >= 0:
            groups.draw(i, chance)
    if not groups.changed:
        return state
    founded = groups.k - state.k
    state = state.found(np.zeros((founded, T.shape[1])), time)
    now = state.now
    state = state.having(now=Sums(*_sums(rows, T, groups.k), now.rivals, now.entropy))
    return drop_forgotten(ctx, state)


class _Groups:
    """The clusters while points change them, with room for as many new ones as there are draws."""

    def __init__(self, ctx: Context, state: State, rows: FewRows, T: Array, m: int) -> None:
        self.ctx, self.rows, self.T, self.k, self.changed = ctx, rows, T, state.k, False
        self.totals = np.concatenate([state.totals, np.zeros((m, T.shape[1]))])
        self.size = np.bincount(rows.labels[rows.labels >= 0], minlength=self.k + m)
        past = state.past[..., 0].sum(axis=1) > 0.0
        self.lasting = np.concatenate([past, np.zeros(m, dtype=bool)])  # though it has no points
        self.level = np.concatenate([ctx.family.log_marginal(state.totals), np.zeros(m)])

    def draw(self, i: int, chance: float) -> None:
        """Draw the label of point i by a uniform."""
        family, rows, before = self.ctx.family, self.rows, int(self.rows.labels[i])
        w = rows.weight[i]
        t = w * self.T[i]
        self.totals[before] -= t
        self.size[before] -= 1
        self.level[before] = family.log_marginal(self.totals[before : before + 1])[0]
        there = np.flatnonzero((self.size > 0) | self.lasting)
        n = np.maximum(self.totals[there, 0], 1e-300)
        joined = family.log_marginal(np.concatenate([self.totals[there] + t, t[None]]))
        score = joined.copy()
        score[:-1] += gammaln(n + w) - gammaln(n) - self.level[there]
        score[-1] += np.log(self.ctx.alpha) + gammaln(w)
        weight = np.cumsum(np.exp(score - score.max()))
        at = int(np.searchsorted(weight, chance * weight[-1], side="right"))
        at = min(at, len(there))
        if at == len(there):
            self._settle(i, before, self._free(before), t, joined[-1])
        else:
            self._settle(i, before, int(there[at]), t, joined[at])

    def _free(self, before: int) -> int:
        """Return the place of a new cluster: the one that the point left empty, or the next."""
        if self.size[before] == 0 and not self.lasting[before]:
            return before
        self.k += 1
        return self.k - 1

    def _settle(self, i: int, before: int, label: int, t: Array, level: float) -> None:
        """Put point i into a cluster, whose log marginal is given then."""
        if self.size[label] == 0 and not self.lasting[label]:
            self.totals[label] = 0.0  # what rounding left
        self.totals[label] += t
        self.size[label] += 1
        self.level[label] = level
        if label != before:
            self.rows.labels[i], self.rows.sublabels[i] = label, 0
            self.changed = True


def _sums(rows: FewRows, T: Array, k: int) -> tuple[Array, Ints]:
    """Return sums (k, 2, p) of statistics, and numbers (k, 2), by label and sub-label."""
    mine = np.flatnonzero(rows.labels >= 0)
    z, sub = rows.labels[mine], rows.sublabels[mine]
    current, count = np.zeros((k, 2, T.shape[1])), np.zeros((k, 2), dtype=np.int64)
    np.add.at(current, (z, sub), rows.weight[mine, None] * T[mine])
    np.add.at(count, (z, sub), 1)
    return current, count
