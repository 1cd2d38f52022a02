"""Compiled: which shares of the past of Gaussian clusters are worth keeping.

A share is tried for all clusters that it may be the best of, since many matrices side by side take
less time than one after the other.
"""

from __future__ import annotations

from math import log
from typing import Any, NamedTuple

import numpy as np

from scstream.kernels.arguments import Floats, Ints, Prior
from scstream.kernels.compiling import brief_part
from scstream.kernels.elementary import log_gamma
from scstream.kernels.gaussian_moves import log_marginal
from scstream.kernels.workspace import line, table


class Trial(NamedTuple):
    """Past and present (k, 2, p) of clusters, and what is known of shares of their past (k,).

    Those that are ``kept``, the one that is tried, how probable it makes the present, how probable
    all of the past makes it, and what another share must exceed.
    """

    past: Floats
    now: Floats
    kept: Floats
    share: Floats
    evidence: Floats
    whole: Floats
    best: Floats


@brief_part
def shares_kept(
    trial: Trial, shares: Floats, margins: Any, alpha: float, prior: Prior, which: Ints,
    room: Floats,
) -> Any:  # fmt: skip
    """Fill the shares that are kept, see `small_batch.forget`; returns how many matrices fail."""
    reluctance, behind, least, moved, margin = margins
    _, now, kept, share, evidence, whole, best = trial
    k, m, failed = len(kept), 0, 0
    for r in range(k):
        kept[r] = 1.0
        if now[r, 0, 0] + now[r, 1, 0] > 0.0:
            which[m] = r
            m += 1
    for i in range(len(shares)):
        for a in range(m):
            share[which[a]] = shares[i]
        failed += _try(trial, which[:m], prior, room)
        left = 0
        for a in range(m):
            r = which[a]
            if i == 0:
                whole[r], best[r] = evidence[r], evidence[r] + reluctance
            elif i == 1 and not evidence[r] > whole[r]:
                continue  # then all of it is kept
            elif evidence[r] > best[r]:
                best[r], kept[r] = evidence[r], shares[i]
            which[left] = r
            left += 1
        m = left
    left = 0
    for a in range(m):
        if kept[which[a]] < 1.0:
            share[which[a]] = 0.0
            which[left] = which[a]
            left += 1
    failed += _try(trial, which[:left], prior, room)
    left, apart = _unless_anew(trial, which[:left], alpha, moved, margin)
    failed += _try(trial, which[:apart], prior, room)
    m = _far_gone(trial, which[:left], apart, shares[len(shares) - 1], behind)
    return failed + _halve(trial, which[:m], least, prior, room)


@brief_part
def _unless_anew(trial: Trial, which: Ints, alpha: float, moved: float, margin: float) -> Any:
    """Let clusters keep all of their past whose present is rather a new cluster.

    The evidence is that of the present alone. The others come first in ``which``, and of these
    those that a split would keep apart from all of their past; returns how many of either. The
    share to try of these is what a place that was left counts, and ``whole`` what it must exceed.
    """
    left = apart = 0
    for a in range(len(which)):
        r = which[a]
        n, m = _points(trial.past, r), trial.now[r, 0, 0] + trial.now[r, 1, 0]
        anew = log(alpha) + log_gamma(m) + log_gamma(n) - log_gamma(n + m) + trial.evidence[r]
        if not anew < trial.best[r]:
            trial.kept[r] = 1.0
            continue
        which[left] = which[apart]
        left += 1
        if anew >= trial.whole[r]:
            trial.share[r] = min(1.0, moved / n)
            trial.whole[r] = trial.evidence[r] - margin
            which[apart] = r
            apart += 1
        else:
            which[left - 1] = r
    return left, apart


@brief_part
def _far_gone(trial: Trial, which: Ints, apart: int, lowest: float, behind: float) -> Any:
    """Let clusters keep all of their past whose present is not near it; returns who moved far.

    That may be so of the first ones. The evidence is what a place that was left says of the
    present, and must exceed ``whole``. Those come first in ``which`` then that keep
    the lowest share, and would leave too many points behind with it.
    """
    left = 0
    for a in range(len(which)):
        r = which[a]
        if a < apart and not trial.evidence[r] > trial.whole[r]:
            trial.kept[r] = 1.0
        elif trial.kept[r] <= lowest and lowest * _points(trial.past, r) >= behind:
            which[left] = r
            left += 1
    return left


@brief_part
def _halve(trial: Trial, which: Ints, least: float, prior: Prior, room: Floats) -> Any:
    """Halve shares while that is better, and enough points are kept; returns failures."""
    kept, m, failed = trial.kept, len(which), 0
    while m > 0:
        left = 0
        for a in range(m):
            r = which[a]
            trial.share[r] = 0.5 * kept[r]
            if trial.share[r] * _points(trial.past, r) >= least:
                which[left] = r
                left += 1
        failed += _try(trial, which[:left], prior, room)
        m = 0
        for a in range(left):
            r = which[a]
            if trial.evidence[r] > trial.best[r]:
                trial.best[r], kept[r] = trial.evidence[r], trial.share[r]
                which[m] = r
                m += 1
    return failed


@brief_part
def _try(trial: Trial, which: Ints, prior: Prior, room: Floats) -> Any:
    """Fill how probable the shares make the present of some clusters; returns failures."""
    past, now, m = trial.past, trial.now, len(which)
    rows, at = table(room, np.int64(0), 2 * m, past.shape[2])
    level, at = line(room, at, 2 * m)
    for a in range(m):
        r = which[a]
        for q in range(past.shape[2]):
            rows[a, q] = trial.share[r] * (past[r, 0, q] + past[r, 1, q])
            rows[m + a, q] = rows[a, q] + now[r, 0, q] + now[r, 1, q]
    failed = log_marginal(rows, prior, room[at:], level)
    for a in range(m):
        trial.evidence[which[a]] = level[m + a] - level[a]
    return failed


@brief_part
def _points(past: Floats, r: int) -> Any:
    """Return how many points the past of a cluster counts."""
    return max(past[r, 0, 0] + past[r, 1, 0], 1e-12)
