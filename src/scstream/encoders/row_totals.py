"""Whether counts go with what their row adds up to, as it varies within clusters.

Cells are read to different depths, hosts are active for minutes or all day. As independent counts
each amount of activity would be a cluster. But a count may also be large because of its cluster.
So each count is predicted twice, by groups of rows that have like counts, and by groups of rows
that have like shares, times what the *other* counts of its row add up to. Groups and rates are
those of one half of the rows, and the counts those of the other half.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, ndtri, xlog1py

from scstream.core import Floats as Array
from scstream.core.k_means import k_means, sums_of_groups
from scstream.support import rowwise

ADDED = 0.375  # to each count: then the roots of rare ones have about the deviation of others
_FEWEST_ROWS = 60  # that show it,
_ROWS = 1024  # and the most that are looked at
_FEWEST_COLUMNS = 3  # of fewer, groups of like counts say all that totals say
_GROUPS = (1, 2, 4, 8, 16, 32)  # of which the best number is taken, for either way
_ROWS_A_GROUP = 4.0  # at least, on average
_DISPERSIONS = (1e-6, 16.0)  # the least and the most
_WORTH = 0.5  # nats a row that totals are worth at least: those that divide a cluster gain ln 2
_ERRORS = 4.0  # standard errors that this must be, at least
_BY_CHANCE = 0.01  # how often one of the columns may be left out that goes with the others
_KINDS, _RANGES = 4, 6  # groups of like shares, and ranges of totals, by which these are compared
_TELLING = 0.06  # nats a row that the groups say of totals, where these differ by cluster


def of_one_total(X: Array) -> NDArray[np.bool_]:
    """Return which columns (d,) of counts (n, d) go with what their row adds up to; often none.

    Columns that do not, as ages beside counts, are left out, and the others looked at once more.
    Columns of 0 and 1 may be flags: all of them join the others, or none.
    """
    some = X[:: -(-max(len(X), 1) // _ROWS)]
    nothing = np.zeros(X.shape[1], dtype=bool)
    if len(some) < _FEWEST_ROWS:
        return nothing
    flags = (some.min(axis=0) == 0.0) & (some.max(axis=0) == 1.0)
    found = (some.min(axis=0) < some.max(axis=0)) & ~flags
    while found.sum() >= _FEWEST_COLUMNS:
        gain = _gains(some[:, found])
        each = gain.mean(axis=0) / (gain.std(axis=0) / np.sqrt(len(gain)) + 1e-12)
        against = each < ndtri(_BY_CHANCE / len(each))
        if not against.any():
            if not _is_clear(gain.sum(axis=1)):
                return nothing
            both = found | flags
            joined = flags.any() and _is_clear(_gains(some[:, both])[:, flags[both]].sum(axis=1))
            return np.asarray((both if joined else found) | (X.max(axis=0) == 0.0))
        found[np.flatnonzero(found)[against]] = False
    return nothing


def totals_tell(X: Array) -> bool:
    """Whether the totals of counts (n, d) differ by cluster: by groups of rows with like shares."""
    some = X[:: -(-len(X) // _ROWS)]
    n, kind = len(some), k_means(roots_of_shares(some), _KINDS, np.random.default_rng(0))
    place = np.argsort(np.argsort(some.sum(axis=1), kind="stable"))
    times = np.zeros((int(kind.max()) + 1, _RANGES))
    np.add.at(times, (kind, place * _RANGES // n), 1.0)
    return float(_log_marginals(times).sum() - _log_marginals(times.sum(axis=0))) > _TELLING * n


def roots_of_shares(X: Array) -> Array:
    """Return the fourth roots (n, d) of the shares of counts."""
    more = X + ADDED
    out: Array = np.sqrt(np.sqrt(more / rowwise.sums(more)[:, None]))
    return out


def _is_clear(gain: Array) -> bool:
    """Whether gains of rows (n,) are large enough, and not by chance."""
    error = float(gain.std()) / np.sqrt(len(gain))
    return bool(gain.mean() > max(_WORTH, _ERRORS * error))


def _gains(X: Array) -> Array:
    """Return the nats (n, d) by which totals predict counts better."""
    out = np.empty(X.shape)
    first = np.arange(len(X)) % 2 == 0
    both = _Halves(X, first), _Halves(X, ~first)
    ways = [
        max((_predicted(both, k, by_total) for k in _GROUPS), key=lambda some: some.sum())
        for by_total in (True, False)
    ]
    more = ways[0] - ways[1]
    m = int((~first).sum())
    out[~first], out[first] = more[:m], more[m:]
    return out


class _Halves(NamedTuple):
    """Counts (n, d), and which rows (n,) are known; the others are predicted."""

    counts: Array
    known: NDArray[np.bool_]


def _predicted(both: tuple[_Halves, _Halves], k: int, by_total: bool) -> Array:
    """Return the log densities (n, d) of the counts of both halves, by k groups of the other."""
    return np.concatenate([_of_half(half, k, by_total) for half in both])


def _of_half(half: _Halves, k: int, by_total: bool) -> Array:
    """Return the log densities (m, d) of the counts of one half."""
    counts, known = half
    k = max(min(k, int(known.sum() / _ROWS_A_GROUP)), 1)
    places = roots_of_shares(counts) if by_total else np.sqrt(np.sqrt(counts + ADDED))
    group = k_means(places[known], k, np.random.default_rng(0))
    sums, rows = sums_of_groups(places[known], group)
    centres = sums / rows[:, None]
    away = (centres**2).sum(axis=1) - 2.0 * places[~known] @ centres.T
    nearest = away.argmin(axis=1)
    rate = _rates(counts[known], group, by_total)
    expected, own = rate[nearest], rate[group]
    if by_total:
        expected, own = _by_others(counts[~known], expected), _by_others(counts[known], own)
    return _log_density(counts[~known], expected, _dispersions(counts[known], own))


def _rates(X: Array, group: NDArray[np.int64], by_total: bool) -> Array:
    """Return the rates (k, d) of groups, or their shares; one row of all is added to each."""
    sums, rows = sums_of_groups(X, group)
    usual = np.maximum(X.mean(axis=0), 1.0 / len(X))
    rate: Array = (sums + usual) / (rows[:, None] + 1.0)
    return rate / rate.sum(axis=1, keepdims=True) if by_total else rate


def _by_others(X: Array, share: Array) -> Array:
    """Return the counts (n, d) that are expected by shares and by the other counts of each row."""
    total = X.sum(axis=1, keepdims=True)
    usual = float(total.mean())
    size = (total - X + 1.0) / (np.maximum(1.0 - share, 1e-3) + 1.0 / usual)
    out: Array = size * share
    return out


def _dispersions(X: Array, mean: Array) -> Array:
    """Return how much wider than Poisson counts columns are (d,), by their moments."""
    wide = ((X - mean) ** 2 - mean).sum(axis=0) / (mean**2).sum(axis=0)
    return np.asarray(np.clip(wide, *_DISPERSIONS))


def _log_density(X: Array, mean: Array, dispersion: Array) -> Array:
    """Return the log densities (n, d) of negative binomial counts."""
    r = 1.0 / dispersion
    wide = mean * dispersion
    out = gammaln(X + r) - gammaln(r) - gammaln(X + 1.0) - xlog1py(r, wide)
    out += X * (np.log(wide) - np.log1p(wide))
    return np.asarray(out)


def _log_marginals(times: Array) -> Array:
    """Return the log marginals (...) of numbers of rows (..., m), where any shares may be."""
    m, prior = times.shape[-1], 0.5
    each = gammaln(times + prior) - gammaln(prior)
    whole = gammaln(m * prior) - gammaln(times.sum(axis=-1) + m * prior)
    out: Array = whole + each.sum(axis=-1)
    return out
