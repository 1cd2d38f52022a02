"""Compiled sums of past and present, where many numbers describe clusters: one pass over them."""

from __future__ import annotations

from typing import Any

import numpy as np

from scstream.kernels.compiling import exact


@exact
def summed(past: Any, now: Any, parts: Any, totals: Any, here: Any) -> None:
    """Fill statistics of sub-clusters (k, 2, p), of clusters (k, p) and of their present (k, p).

    Each operation is rounded as it stands: a cluster is the sum of its parts to the last bit.
    """
    for r in range(len(past)):
        before, present, both = past[r], now[r], parts[r]
        for q in range(past.shape[2]):
            one, other = before[0, q] + present[0, q], before[1, q] + present[1, q]
            both[0, q], both[1, q] = one, other
            totals[r, q] = one + other
            here[r, q] = present[0, q] + present[1, q]


@exact
def divided(past: Any, now: Any, first: Any, out: Any) -> None:
    """Fill statistics (k, 2, p) if the first sub-clusters' past were ``first`` (k, p).

    The present ones are given. The last bits are those that `summed` finds afterwards.
    """
    for r in range(len(past)):
        before, present, share, both = past[r], now[r], first[r], out[r]
        for q in range(past.shape[2]):
            rest = (before[0, q] + before[1, q]) - share[q]
            both[0, q], both[1, q] = share[q] + present[0, q], rest + present[1, q]


@exact
def still(known: Any, s: Any, before: Any, out: Any) -> None:
    """Fill what is known (m,) of statistics (m, p) before, NaN where they are others now."""
    for r in range(len(out)):
        one, other, q = s[r], before[r], 0
        while q < len(one) and one[q] == other[q]:
            q += 1
        out[r] = known[r] if q == len(one) else np.nan
