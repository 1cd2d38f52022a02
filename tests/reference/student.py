"""Student-t clusters: Gaussian ones of rows whose tails are drawn in, see docs/heavy-tails.md.

A row moves along its ray from the centre of its cluster to where a normal row of the same rank
would be: it is tamed. Given tamed rows everything is the Gaussian's. Two clusters that may merge
are judged in a frame of both, in which their rows are tamed once more.
"""

from dataclasses import dataclass, replace
from functools import cache
from math import exp, inf, lgamma, log, log1p, sqrt

import numpy as np
from scipy.special import betainc, digamma, gammainccinv, gammaincinv

from reference.gaussian import Gaussian, unpacked, upper

NORMAL = 1e6  # degrees of freedom that leave no tails
LIGHT = 200.0  # those from which there are none
FRAME_ROUNDS = 3  # how often a frame of two clusters is sought anew
HOPELESS = 0.3  # nats a row that a merge may lose, by sums alone, to be judged by rows


@dataclass(frozen=True)
class Student(Gaussian):
    """Full scale matrices, and degrees of freedom for all clusters, given or learned."""

    given: float | None = None  # the degrees of freedom, if they are not learned
    df: float = 2.0
    surely: bool = False  # whether clusters that were found without tails have shown some

    @property
    def tames(self):
        """Whether there are tails. Without, this is the Gaussian family."""
        return self.df < NORMAL

    def prepare(self, X):
        plain = super().prepare(X)
        df = 2.0 if self.given is None else self.given
        return Student(**{**vars(plain), "given": self.given, "df": df})

    def started_again(self, learned):
        """Return the family with which a first batch starts again: tails were hardly heavy."""
        if self.given is not None or learned.has_heavy_tails() or not self.tames:
            return None
        return replace(self, df=learned.df) if learned.df < LIGHT else None

    def untamed(self, learned):
        """Return the family without tails, if none were learned: the batch starts once more."""
        return replace(self, df=NORMAL) if learned.tames and learned.df >= LIGHT else None

    def tamed(self, X, totals, memory):
        """Return the family with tails to start from, if clusters found without show heavy ones."""
        learned = self.shown(X, totals, memory)
        return replace(self, df=2.0, surely=True) if learned.has_heavy_tails() else None

    def shown(self, X, totals, memory):
        """Return the family with the tails that rows of clusters show by themselves."""
        return replace(self, df=NORMAL).with_tails(X, totals, memory)

    def has_heavy_tails(self):
        return self.df < 30.0

    def tails_differ(self, before):
        gap = abs(1.0 / self.df - 1.0 / before.df)
        return gap > 0.1 / min(self.df, before.df) + 0.01

    def with_tails(self, X, totals, memory, *, first=False):
        """Return the family with degrees of freedom that suit rows of clusters (k, p).

        Those before count as so many rows. In a first batch there are always some, if next to none.
        """
        if self.given is not None:
            return self
        T = self.statistics(X)
        scores = [log(max(s[0], 1e-300)) + self.heavy_predictive(T, s) for s in totals]
        z = np.argmax(scores, axis=0)
        far = np.array([self.frame(totals[c]).far(row) for c, row in zip(z, T, strict=True)])
        before, worth = (8.0, 3.0) if first else (self.df, 1.0)
        df = learned_df(far, len(self.m), before, memory, worth)
        most = 27.0 if self.surely else 0.5 * NORMAL
        return replace(self, df=min(df, most) if first else df)

    # -- densities

    def log_predictive(self, T, s):
        """Return densities of rows as they came."""
        return self.heavy_predictive(T, s) if self.tames else super().log_predictive(T, s)

    def heavy_predictive(self, T, s):
        """Return Student-t densities: inverses of degrees of freedom of row and scale add up."""
        d = len(self.m)
        kappa, nu, mean, scatter = self.posterior(s)
        spare = nu - d + 1.0
        df, tight = 1.0 / (1.0 / self.df + 1.0 / spare), kappa / (kappa + 1.0) * spare
        off = T[:, 1 : 1 + d] - mean
        far = (off * np.linalg.solve(scatter / tight, off.T).T).sum(axis=1)
        return log_student(far, df, d) - 0.5 * np.linalg.slogdet(scatter / tight)[1]

    def log_part_predictive(self, T, s):
        """Return densities of tamed rows."""
        return super().log_predictive(T, s)

    def log_label_density(self, T, parameters):
        """Return densities of rows as they came, for a drawn centre and precision."""
        mean, precision = parameters
        if not self.tames:
            return self.log_density(T, parameters)
        d = len(mean)
        off = T[:, 1 : 1 + d] - mean
        far = (off * (off @ precision)).sum(axis=1)
        return log_student(far, self.df, d) + 0.5 * np.linalg.slogdet(precision)[1]

    # -- frames

    def frame(self, s):
        """Return the frame of a cluster: its expected centre and scale matrix."""
        _, nu, mean, scatter = self.posterior(s)
        return Frame(mean, np.linalg.inv(scatter / nu), self.df)


@dataclass(frozen=True)
class Frame:
    """A centre and the inverse of a scale matrix, in which rows are tamed."""

    centre: np.ndarray
    inverse: np.ndarray
    df: float

    def far(self, row):
        """Return the squared distance of a row, given its statistics."""
        off = row[1 : 1 + len(self.centre)] - self.centre
        return max(off @ self.inverse @ off, 0.0)

    def tamed(self, row):
        """Return the statistics of a row that moved along its ray."""
        d, far = len(self.centre), self.far(row)
        table, _, _ = tails(self.df, d)
        by = sqrt(table[0] / self.df)
        if far / self.df > 1e-8:
            by = sqrt(normal_distance(far, self.df, d) / far)
        z = self.centre + by * (row[1 : 1 + d] - self.centre)
        return np.concatenate([[1.0], z, np.outer(z, z)[upper(d)]])

    def shrinkage(self, s):
        """Return what distances of earlier rows, of which a sum is left, are multiplied by.

        They are taken for one row at their mean squared distance, that before they were tamed.
        """
        d, n = len(self.centre), max(s[0], 1e-300)
        mean, square = s[1 : 1 + d] / n, unpacked(s[1 + d :] / n, d)
        about = square - np.outer(mean, self.centre) - np.outer(self.centre, mean)
        about += s[0] / n * np.outer(self.centre, self.centre)
        inside = max((self.inverse * about).sum(), 1e-12)
        _, _, typical = tails(self.df, d)
        return min(sqrt(normal_distance(inside + typical - d, self.df, d) / inside), 1.0)

    def moved(self, s, by):
        """Return a sum of rows whose distances from the centre are multiplied."""
        d, n, c = len(self.centre), s[0], self.centre
        z, square = s[1 : 1 + d], unpacked(s[1 + d :], d)
        new = by * z + (1.0 - by) * n * c
        square = by * by * square + by * (1.0 - by) * (np.outer(z, c) + np.outer(c, z))
        square += (1.0 - by) ** 2 * n * np.outer(c, c)
        return np.concatenate([[n], new, square[upper(d)]])


def log_student(far, df, d):
    """Log density of a Student-t with unit scales at squared distances, ``2 pi`` aside."""
    level = lgamma(0.5 * (df + d)) - lgamma(0.5 * df) - 0.5 * d * log(0.5 * df)
    return level - 0.5 * (df + d) * np.log1p(far / df)


# -- how far a normal row of the same rank is -----------------------------------------------------


@cache
def tails(df, d):
    """Return a table of 65 entries, its reach, and the squared distance that becomes d.

    With ``x = log(1 + far / df)`` the table, at ``x / (x + reach)`` from 0 to 1, has the squared
    distance of a normal row over x. Between entries it is linear.
    """
    reach = 4.0 * (digamma(0.5 * (df + d)) - digamma(0.5 * df))
    x = np.array([reach * i / (64.0 - i) for i in range(1, 64)])
    above = betainc(0.5 * df, 0.5 * d, np.exp(-x))  # the probability of a row further out
    below = betainc(0.5 * d, 0.5 * df, -np.expm1(-x))
    square = np.array(
        [
            2.0 * gammaincinv(0.5 * d, b)
            if b < 0.5
            else 2.0 * gammainccinv(0.5 * d, min(max(a, 1e-280), 0.5))
            for a, b in zip(above, below, strict=True)
        ]
    )
    last = int((above > 1e-280).sum()) - 1  # beyond, probabilities are no numbers
    square[last:] = square[last] + df * (x[last:] - x[last])
    start = 2.0 * exp(2.0 / d * (lgamma(0.5 * (df + d)) - lgamma(0.5 * df)))
    table = np.array([start, *(square / x), df])
    typical = df * np.expm1(np.interp(d, square, x))
    for _ in range(3):
        typical *= d / by_table(log1p(typical / df), table, reach)
    return table, reach, max(typical, d)


def by_table(x, table, reach):
    return x * np.interp(x / (x + reach), np.linspace(0.0, 1.0, 65), table)


def normal_distance(far, df, d):
    """Return the squared distance among normal rows that has the rank of a Student-t row's."""
    table, reach, _ = tails(df, d)
    return by_table(log1p(far / df), table, reach)


# -- degrees of freedom ---------------------------------------------------------------------------


def learned_df(far, d, before, memory, worth):
    """Return the degrees of freedom that squared distances (n,), known up to a scale, show.

    Inverses are averaged with those before. Heavy tails must be better than none by some nats.
    """
    tried = [NORMAL, *np.exp(np.linspace(log(300.0), 0.0, 24))]
    levels, scale = [], 1.0
    for df in tried:
        for _ in range(4):  # of EM, from the scale of the degrees of freedom before
            share = 1.0 / (df * scale + far)
            scale = max((far * share).sum() / (d * share.sum()), 1e-300)
        levels.append(log_student(far / scale, df, d).sum() - 0.5 * len(far) * d * log(scale))
    levels[0] += worth
    best = int(np.argmax(levels))
    if best == 0 and len(far) > memory:
        return NORMAL
    inverse = 1.0 / tried[best]
    if 0 < best < len(tried) - 1:
        inverse = peak([1.0 / tried[best + i] for i in (-1, 0, 1)], levels[best - 1 : best + 2])
    share = len(far) / (len(far) + memory)
    df = exp(0.02 * round(-log((1.0 - share) / before + share * inverse) / 0.02))
    return df if df < LIGHT else NORMAL


def peak(x, y):
    """Return where the parabola through three points is highest."""
    one, two = (y[1] - y[0]) / (x[1] - x[0]), (y[2] - y[1]) / (x[2] - x[1])
    bend = (two - one) / (x[2] - x[0])
    return min(max(0.5 * (x[0] + x[1] - one / bend), x[0]), x[2]) if bend < 0.0 else x[1]


# -- two clusters in one frame --------------------------------------------------------------------


@dataclass(frozen=True)
class Together:
    """Two clusters in a frame of both: the present (2, p), and what the past is multiplied by."""

    frame: Frame
    present: np.ndarray
    past: np.ndarray
    by: list

    def whole(self):
        return (self.present + self.past).sum(axis=0)


def together(batch, clusters, pair):
    """Seek the frame of two clusters, by sums first and then by the rows of the batch."""
    past, whole = clusters.past().sum(axis=1), by_sums(batch.family, clusters.totals(), pair)
    for _ in range(FRAME_ROUNDS):
        frame = batch.family.frame(whole)
        present = np.zeros((2, len(whole)))
        for side, c in enumerate(pair):
            for i in np.flatnonzero(batch.z == c):
                present[side] += batch.weight[i] * frame.tamed(batch.seen[i])
        by = [frame.shrinkage(past[c]) for c in pair]
        moved = [frame.moved(past[c], b) for c, b in zip(pair, by, strict=True)]
        out = Together(frame, present, np.array(moved), by)
        whole = out.whole()
    return out


def by_sums(family, totals, pair):
    """Return the statistics of two clusters in a frame of both, as far as sums tell them."""
    whole = totals[list(pair)].sum(axis=0)
    for _ in range(FRAME_ROUNDS):
        frame = family.frame(whole)
        whole = sum(frame.moved(totals[c], frame.shrinkage(totals[c])) for c in pair)
    return whole


def log_marginal_of_both(batch, clusters, pair, log_apart):
    """Return the log marginal of two clusters together; without hope rows are not looked at.

    ``log_apart`` is everything in the log ratio of a split but this.
    """
    marginal, totals = batch.family.log_marginal, clusters.totals()
    out, n = marginal(by_sums(batch.family, totals, pair)), totals[list(pair), 0]
    if min(n) <= 0.0 or log_apart == -inf:
        return out
    if log_apart - out < HOPELESS * n.sum():
        out = marginal(together(batch, clusters, pair).whole())
    return out
