"""A word about first batches that take long: nobody should wait in silence."""

from __future__ import annotations

import sys

from scstream.sampler.rules import Rules

_WIDE = 1000  # statistics of a cluster, with fewer of which any start is quick
_LONG = 1.5e8  # numbers that a sweep over the groups of the start adds up: some ten seconds in all
_A_SECOND = 1.5e7  # of these numbers for each second of the start, on one core


def announce_long_start(n: int, p: int, rules: Rules) -> None:
    """Say on standard error that the start from n rows with p statistics each takes long."""
    groups = max(1, min(n // rules.points_a_group, rules.seeds))
    work = float(n) * p * groups
    if p >= _WIDE and work >= _LONG:
        print(
            f"scstream: clusters of {p:,} numbers each are sought in {n:,} rows, which takes some "
            f"{work / _A_SECOND:,.0f} s on one core; verbose=True shows how far it is.",
            file=sys.stderr,
            flush=True,
        )
