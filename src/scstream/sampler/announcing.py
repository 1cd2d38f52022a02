"""A message about first batches that take long: nobody should wait in silence."""

from __future__ import annotations

from scstream.sampler.rules import Rules
from scstream.support.messages import warn

_WIDE = 1000  # statistics of a cluster, with fewer of which any start is quick
_LONG = 1.5e8  # numbers that a sweep over the groups of the start adds up: some ten seconds in all
_A_SECOND = 1.5e7  # of these numbers for each second of the start, on one core


def announce_long_start(n: int, p: int, rules: Rules) -> None:
    """Log a warning where the start from n rows with p statistics each takes long."""
    groups = max(1, min(n // rules.points_a_group, rules.seeds))
    work = float(n) * p * groups
    if p >= _WIDE and work >= _LONG:
        warn(
            f"the first batch has {n:,} rows and {p:,} numbers describe a cluster, which takes "
            f"about {work / _A_SECOND:,.0f} s on one core; verbose=True shows the progress"
        )
