"""What words say about how much clusters of counts differ, before clusters are known and after.

Two words of a row are the same one more often than two words of any two rows are. Either rows are
of different clusters, each with words of its own; or words come in bursts. In the first case two
rows of a cluster share words as often as a row repeats one. In the second they do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.special import gammaln

from scstream.core.k_means import sums_of_groups
from scstream.families.contract import Array
from scstream.families.scores import Labels, Points

if TYPE_CHECKING:
    from scstream.families.multinomial import Multinomial

_MEANS = 2.0 ** np.arange(4.0, -10.25, -0.25)  # prior counts a category from which to choose
_CLEAR = 1.0  # nats by which the best of them must be more probable than 1
_ROWS = 4096  # that are looked at, at most
# If words that rows share suggest so many times the prior that repeats suggest, these are bursts.
# It is 1 to 2.4 for short rows and mild bursts, 2.8 to 108 for bursts (20 newsgroups: 11).
_BURSTS = 2.5
_MANY = 32.0  # counts of rows for each category, with which their prior hardly matters
_WEAKER = 0.25  # of a prior: the next weaker one that is tried
_LEAST = 16.0  # what the weakest counts, all categories together


@dataclass(frozen=True)
class CountTrials:
    """Weak priors of counts that are tried on some rows of a first batch.

    Attributes
    ----------
    family : Multinomial
        With its usual prior.
    by_repeats : float
        The mean prior count that words repeated within rows suggest.
    """

    family: Multinomial
    by_repeats: float

    @property
    def suggested(self) -> Multinomial | None:
        """The family with the prior that repeated words suggest, if it is weak."""
        return self.family.faint(self.by_repeats) if self.by_repeats < 1.0 else None

    def borne_out(self, X: Points, labels: Labels) -> bool:
        """Whether rows of a cluster share words about as often as each repeats them.

        If not the words come in bursts, and under so weak a prior every burst is a cluster.
        """
        return mean_by_sharing(X, labels) <= _BURSTS * self.by_repeats

    def weaker(self, X: Points) -> list[Multinomial]:
        """Return copies with weaker priors if rows do not repeat words, as bursts would have them.

        So it is with lines of logs, baskets and tags: what tells clusters apart are the words that
        their rows share. Under one prior count for each of many words these are nothing special.
        """
        d, out, mean = X.shape[1], list["Multinomial"](), _WEAKER
        if self.by_repeats < 1.0 or X.sum() > _MANY * d:
            return out
        while mean * d >= _LEAST:
            out.append(self.family.faint(mean))
            mean *= _WEAKER
        return out

    def of_columns_in(self, family: Any, X: Points) -> tuple[Multinomial, Points]:
        """Return a trial for the words of rows (n, d), with one for all others, and the rows."""
        X = sparse.csr_array(X)
        some, places = np.unique(X.indices, return_inverse=True)
        shape = X.shape[0], len(some) + 1
        rows = sparse.csr_array((X.data, places.astype(X.indices.dtype), X.indptr), shape=shape)
        return family.of_columns(some), rows


def frequencies(X: Points) -> Array:
    """Return the share (d,) of each category in all counts, each counted once more than it is."""
    total = np.asarray(X.sum(axis=0), dtype=float).ravel()
    out: Array = (total + 1.0) / (total.sum() + len(total))
    return out


def mean_by_repeats(X: Points, base: Array) -> float:
    """Return the mean prior count a category under which single rows X (n, d) are most probable.

    It is that of a Dirichlet prior proportional to ``base`` (d,), each row having probabilities of
    its own: the more often rows repeat words, the smaller it is. Without bursts it is also the one
    that suits clusters, since a row repeats the words of its cluster. It is 1 unless rows say
    otherwise clearly.
    """
    X = sparse.csr_array(X)
    return _most_probable(X[:: max(1, -(-X.shape[0] // _ROWS))], base)


def mean_by_sharing(X: Points, labels: Labels) -> float:
    """Return the same for clusters of rows, given by labels (n,), in which a row has a word or not.

    So it is by words that different rows share, and not by those that a row repeats.
    """
    X = sparse.csr_array(X)
    there = sparse.csr_array((np.ones(X.nnz), X.indices, X.indptr), shape=X.shape)
    sums = sums_of_groups(there, np.unique(labels, return_inverse=True)[1])[0]
    return _most_probable(sparse.csr_array(sums), frequencies(there))


def _most_probable(X: Points, base: Array) -> float:
    """Return the mean prior count under which the rows of counts are the most probable."""
    sizes, times = np.unique(X @ np.ones(X.shape[1]), return_counts=True)
    cells, often = np.unique(X.indices + 1j * X.data, return_counts=True)  # categories and counts
    level = np.empty(len(_MEANS))
    for i, mean in enumerate(_MEANS):
        prior = mean * len(base) * base
        own, whole = prior[cells.real.astype(np.int64)], prior.sum()
        level[i] = often @ (gammaln(own + cells.imag) - gammaln(own))
        level[i] += times @ (gammaln(whole) - gammaln(whole + sizes))
    best, usual = int(np.argmax(level)), int(np.flatnonzero(_MEANS == 1.0)[0])
    return float(_MEANS[best if level[best] > level[usual] + _CLEAR else usual])
