"""Clusters of amounts, many of which are exactly zero: money spent, rain, times on a page.

A column's entry is zero with a probability of the cluster's own; if it is not, it has a gamma
distribution. So each column has the statistics of a gamma one, over its positive entries, and the
number of its zeros.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln

from scstream.families.contract import Array
from scstream.families.cutting import Projection, Side
from scstream.families.draws import log_gammas
from scstream.families.factorised import ColumnScore, Plane
from scstream.families.gamma import Gamma
from scstream.families.given import positive_vector
from scstream.families.scores import Points, Score

_WORTH = 2.0  # points that the expected share of zeros is worth
_LOW = -2.0  # where zeros are, beside logs of amounts in units of the middle one


class Amount(Gamma):
    """Clusters of amounts: zero with some probability, else positive; independent columns.

    Parameters
    ----------
    shape, mean, strength : float or array-like (d,), optional
        Of the positive entries, as in `scstream.Gamma`.
    zero : float or array-like (d,), optional
        The share of zeros expected of a cluster. Default: the first batch's.

    Notes
    -----
    Missing entries are left out. The unit of a column does not matter.

    Examples
    --------
    >>> import numpy as np
    >>> from scstream import ScStream
    >>> rng = np.random.default_rng(0)
    >>> X = np.r_[rng.gamma(4, [1, 9, 2], (90, 3)), rng.gamma(4, [8, 1, 9], (90, 3))]
    >>> X[rng.random(X.shape) < 0.3] = 0.0
    >>> ScStream("amount", random_state=0).fit(X).n_clusters_
    2
    """

    name: ClassVar[str] = "amount"
    n_statistics: ClassVar[int] = 4
    kept: ClassVar[Mapping[str, str]] = {**Gamma.kept, "_zero": "d+"}

    _zero: Array  # (d,): the share of zeros that is expected

    def __init__(
        self,
        shape: ArrayLike | None = None,
        mean: ArrayLike | None = None,
        strength: ArrayLike | None = None,
        zero: ArrayLike | None = None,
    ) -> None:
        super().__init__(shape, mean, strength)
        self.zero = zero

    # -- set-up ---------------------------------------------------------------------------------

    def refusal(self, x: Array) -> str | None:
        """Return why numbers cannot be amounts."""
        low = x.min(initial=0.0)
        if low >= 0:
            return None
        return f"holds {low:g}: 'amount' takes no negative numbers. Use 'gaussian' or 'diagonal'."

    def prepare(self, X: Points) -> Self:
        """Return a copy with its unit and a prior, the open parts of it still to be adapted."""
        seen = (~np.isnan(X)).sum(axis=0)
        new = copy.copy(self)
        new._zero = ((X == 0).sum(axis=0) + 0.5) / (seen + 1.0)
        if self.zero is not None:
            new._zero = positive_vector(self.zero, X.shape[1], "zero")
        new._check_shares()
        return super(Amount, new).prepare(_positive(X))

    def _check_shares(self) -> None:
        if np.any(self._zero >= 1):
            raise ValueError(f"zero must be less than 1; got {self._zero.max():g}.")

    def _with(self, c: Array, mean: Array, strength: Array) -> Self:
        new = copy.copy(self)
        new._c, new._mean, new._strength = c, mean, strength
        return new.with_prior(strength / c, strength * mean / c, 0.0 * c, _WORTH * self._zero)

    def remade(self) -> Self:
        """Return the copy with its prior."""
        self._check_shares()
        return super().remade()

    def hyperparameters(self) -> dict[str, Any]:
        """Return those of the positive entries, and the expected shares of zeros."""
        return {**super().hyperparameters(), "zero": self._zero.copy()}

    # -- the family proper ----------------------------------------------------------------------

    def split_up(self, tau: Array) -> list[Array]:
        """Return the blocks (..., d) of the positive entries alone, their counts first."""
        return super().split_up(tau)[:3]

    def shares(self, tau: Array) -> tuple[Array, Array]:
        """Return the parameters (..., d) of beta densities of entries being positive, or zero."""
        d = len(self._zero)
        own = self._strength / self._c  # what the count has from the prior of the rates
        return tau[..., 1 : 1 + d] - own + _WORTH * (1.0 - self._zero), tau[..., 1 + 3 * d :]

    def statistics(self, X: Points) -> Points:
        """Return those of the positive entries, and where the zeros are."""
        T = super().statistics(_positive(X))
        T[:, 1 + 3 * X.shape[1] :] = X == 0
        return T

    def log_base(self, X: Points) -> Array:
        """Return the change of unit (n,) of the positive entries."""
        return super().log_base(_positive(X))

    def log_partitions(self, tau: Array) -> Array:
        """Return the log-normalisers of the rates' densities and of the shares'."""
        out: Array = super().log_partitions(tau) + betaln(*self.shares(tau))
        return out

    def draw(self, rng: np.random.Generator, tau: Array) -> Array:
        """Draw rates, and shares of zeros."""
        some, none = (log_gammas(rng, a) for a in self.shares(tau))
        both = np.logaddexp(some, none)
        return _with_shares(super().draw(rng, tau), some - both, none - both)

    def predictive_score(self, s: Array, log_weight: Array) -> Score:
        """Score points by the expected shares, and compound gamma predictives."""
        some, none = self.shares(self.prior + s)
        score = super().predictive_score(s, log_weight)
        assert isinstance(score, ColumnScore)
        log_some, log_none = np.log(some / (some + none)), np.log(none / (some + none))
        return replace(score, eta=_with_shares(score.eta, log_some, log_none))

    def describe(self, tau: Array) -> dict[str, Array]:
        """Return the means of clusters' positive entries, their shape, and the shares of zeros."""
        some, none = self.shares(tau)
        return {**super().describe(tau), "zero": none / (some + none)}

    def example(self, rng: np.random.Generator) -> tuple[Any, Any]:
        """Return amounts with zeros, and some missing."""
        groups = super().example(rng)
        for group, p in zip(groups, (0.1, 0.3), strict=True):
            group[rng.random(group.shape) < p] = 0.0
        return groups

    def moments(self, s: Array) -> tuple[Array, Array, Array]:
        """Return number, sum and sum of squares (..., d) of entries, in the user's units."""
        n, x, _ = sums = self.split_up(s)
        squares = n * self.spread(sums) + x * x / np.maximum(n, 1e-300)
        return n + s[..., 1 + 3 * len(self._zero) :], x * self._scale, squares * self._scale**2

    # -- moves ----------------------------------------------------------------------------------

    def directions(self, s: Array, member: Array, attempt: NDArray[np.int64]) -> Array:
        """Propose to cut towards a random point, by amounts and by what is zero."""
        out = super().directions(s, member, attempt)
        d = len(self._zero)
        some, none = self.shares(self.prior + s)
        p = none / (some + none)
        pull = (member[:, 1 + 3 * d :] - p * (member[:, 1 : 1 + d] + member[:, 1 + 3 * d :])) / (
            p * (1.0 - p)
        )
        out[:, 1 : 1 + d] -= pull * p
        out[:, 1 + 3 * d :] = pull * (1.0 - p)
        return out

    def embed(self, X: Points) -> Array:
        """Return logs, zeros far below the middle one."""
        return np.where(X == 0, _LOW, super().embed(_positive(X)))

    def discriminant(self, first: Array, second: Array) -> Plane:
        """Return slopes, and levels of positive entries and of zeros (k, 3, d); no offset."""
        rates, some, none = [], [], []
        for tau in (self.prior + first, self.prior + second):
            count, x, _ = self.split_up(tau)
            positive, zeros = self.shares(tau)
            rates.append(self._c * count / x)
            some.append(self._c * np.log(rates[-1]) + np.log(positive / (positive + zeros)))
            none.append(np.log(zeros / (positive + zeros)))
        each = [rates[0] - rates[1], some[1] - some[0], none[1] - none[0]]
        return np.stack(each, axis=1), np.zeros(len(first))

    def project(self, past: Array, discriminant: Plane) -> Projection:
        """Return mean and variance of the discriminant over the past (..., k, p)."""
        past_of = self._over(past, discriminant)
        p, gap = past_of.p, past_of.gap
        mean = discriminant[0][:, 2] + p * gap
        variance = p * past_of.slope * past_of.along + p * (1.0 - p) * gap**2
        return Projection(mean.sum(axis=-1), variance.sum(axis=-1))

    def cut(self, past: Array, discriminant: Plane, side: Side) -> Array:
        """Return the part of the past on a side: its share of zeros moves, and its means do."""
        seen, p, mean, _, along, gap = self._over(past, discriminant)
        pull, d = side.pull[..., None], len(self._zero)
        out = past * side.share[..., None]
        n, x, log_x = self.split_up(past)
        some, total, logs = self.split_up(out)
        part = seen * side.share[..., None]
        more = p * (1.0 - p) * gap
        some[...] = np.clip(
            part * (p - more * pull), np.maximum(n - (seen - part), 0.0), np.minimum(n, part)
        )
        total[...] = part * (p * mean - (p * along + more * mean) * pull)
        np.clip(total, 0.1 * mean * some, x - 0.1 * mean * (n - some), out=total)
        logs[...] = log_x * some / np.maximum(n, 1e-300)
        out[..., 1 + 3 * d :] = part - some
        return out

    def _over(self, past: Array, discriminant: Plane) -> _Past:
        """Return what the discriminant is made up of over the past (..., k, p)."""
        slope, some, none = np.moveaxis(discriminant[0], 1, 0)
        sums = self.split_up(past)
        n, x, _ = sums
        seen = n + past[..., 1 + 3 * len(self._zero) :]
        p, mean = n / np.maximum(seen, 1e-300), x / np.maximum(n, 1e-300)
        return _Past(seen, p, mean, slope, slope * self.spread(sums), slope * mean + some - none)


class _Past(NamedTuple):
    """What is known of the columns of a past, and of a discriminant over it, (..., k, d) each."""

    seen: Array  # entries
    p: Array  # the share of them that is positive
    mean: Array  # of those
    slope: Array  # of the discriminant
    along: Array  # its covariance with positive entries
    gap: Array  # by how much its mean over them is above that of zeros


def _positive(X: Points) -> Array:
    """Return rows without their zeros."""
    out: Array = np.where(X == 0, np.nan, X)
    return out


def _with_shares(eta: Array, log_some: Array, log_none: Array) -> Array:
    """Return functionals (k, p) that also count the logs of the shares (k, d) each."""
    d = log_some.shape[1]
    out = np.concatenate([eta[:, : 1 + 3 * d], log_none], axis=1)
    out[:, 1 : 1 + d] += log_some
    return out
