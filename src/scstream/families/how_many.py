"""How many principal directions describe rows of many columns.

Noise alone spreads the principal values of few rows by a known law. The directions whose values
lie above it hold what the columns have in common. Groups of rows that are near each other in them
then say whether what is left is noise: that has the same centre and the same variance in all
groups. If it has not, clusters differ there too.
"""

from __future__ import annotations

import numpy as np

from scstream.core.k_means import k_means, sums_of_groups
from scstream.families.scores import Array
from scstream.support.blas import single_threaded

LEAST = 15  # directions, noise or not: as many as steps of the core take, for classes to come
MOST = 48  # directions; and columns that are never too many
_ROWS_EACH = 5  # rows for each direction, where these are more than the least
_MANY_ROWS = 20  # for each: directions of noise, or all columns, may then be taken without need
_ROWS_OF_ALL = 8  # rows for each column, if all columns are taken because they are needed
_LARGE = 128  # columns beyond which clusters are always sought in directions
_HOLD = 0.8  # of the variance that is enough to be held
_NOISE = 0.1  # of the values are those of noise, at least
_ABOVE_NOISE = 1.1  # times the edge of noise
_ROWS_A_GROUP = 10  # rows of a group that shows whether what is left is noise
_LITTLE = 0.04  # of what is left that lies between groups, if it is noise
_NEEDED = 0.08  # of it from which all columns are taken, which takes long
_MUCH = 0.5  # of it, if clusters far apart differ there


def may_be_wide(n: int, w: int) -> bool:
    """Whether n rows of w columns may be better described by a few directions."""
    return w > min(max(n // _MANY_ROWS, MOST), _LARGE)


def how_many(Y: Array, value: Array, vector: Array, n: int) -> int | None:
    """Return how many principal directions describe n rows like Y, None if all columns do.

    A few, if what is left is noise; as a rule, those that hold most of the variance. Where
    there is a level of noise, and nothing else below it, those above it are enough if they are
    fewer, and are taken if they are more and clusters are far apart in them. Where clusters differ
    below that level too, nothing is noise. Without such a level, and if no number of directions
    that may be taken holds most of the variance, as of embeddings of sentences, it is a few: in
    more, most clusters would have fewer rows than numbers that describe them.
    """
    w = Y.shape[1]
    least, most = max(min(LEAST, n // _MANY_ROWS), 2), min(MOST, max(n // _ROWS_EACH, LEAST))
    above = max(_above_noise(value, *Y.shape), least)
    if _share_between(Y, vector[:, :LEAST]) <= _LITTLE:
        return min(above, LEAST)
    q = int(np.searchsorted(np.cumsum(value), _HOLD * value.sum())) + 1
    if min(q, above) > most:
        return LEAST
    q = min(max(q, least), most)
    if above <= most:
        left = _share_between(Y, vector[:, :above])
        if left > _NEEDED and w <= _LARGE and n >= _ROWS_OF_ALL * w:
            return None
        if left <= _LITTLE and above < q:
            return above
    return min(above, most) if _share_between(Y, vector[:, :q]) > _MUCH else q


def _above_noise(value: Array, n: int, w: int) -> int:
    """Return how many squared singular values (m,) of n rows of w columns are above noise.

    Those of noise alone follow the law of Marchenko and Pastur. Their level is taken from the
    lowest values, as the higher ones may hold more than noise.
    """
    ratio = len(value) / max(n, w)
    low, high = (1.0 - np.sqrt(ratio)) ** 2, (1.0 + np.sqrt(ratio)) ** 2
    root = np.linspace(np.sqrt(low), np.sqrt(high), 1002)[1:-1]  # in which the law is smooth
    below = np.cumsum(np.sqrt((high - root**2) * (root**2 - low)) / root)
    lowest = root[np.searchsorted(below, _NOISE * below[-1])] ** 2
    return int((value > _ABOVE_NOISE * high / lowest * np.quantile(value, _NOISE)).sum())


def _share_between(Y: Array, basis: Array) -> float:
    """Return which share of what is left of rows (n, w), outside of a basis (w, q), groups explain.

    It is the share of the variance that lies between groups, less what chance makes of it. Groups
    are of rows near each other inside, which says nothing about a rest that is noise: then the
    share is about 0, or a little less, as the directions were chosen by the same rows.
    """
    n = len(Y)
    if n < 2 * _ROWS_A_GROUP:
        return 0.0
    Z = Y @ basis
    rest = Y - Z @ basis.T
    rest -= rest.mean(axis=0)
    whole = float((rest**2).sum()) / (n - 1)
    if whole <= 1e-10 * float((Y**2).sum()) / n:
        return 0.0
    z = k_means(Z, n // _ROWS_A_GROUP, np.random.default_rng(0))
    sums, count = sums_of_groups(rest, z)
    within = float((rest**2).sum() - (sums**2 / count[:, None]).sum()) / max(n - len(count), 1)
    return 1.0 - within / whole


def principal(Y: Array, m: int) -> tuple[Array, Array]:
    """Return squared singular values, the largest first, and the first m directions (w, m).

    Values of nothing but rounding, as of constant columns and copies, are left out, unless all are.
    """
    n, w = Y.shape
    with single_threaded():  # more threads may give other last digits
        value, vector = np.linalg.eigh(Y.T @ Y if w <= n else Y @ Y.T)
        if not value[-1] > 0.0:
            return np.zeros(1), np.eye(w, 1)
        kept = value > 1e-12 * value[-1]
        value, vector = value[kept][::-1], vector[:, kept][:, ::-1][:, :m]
        return value, vector if w <= n else (Y.T @ vector) / np.sqrt(value[:m])
