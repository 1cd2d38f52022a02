"""A message about first batches that take long: nobody should wait in silence."""

from __future__ import annotations

from scstream.sampler.rules import Rules
from scstream.support.messages import warn

_WIDE = 1000  # statistics of a cluster, with fewer of which any start is quick
_LONG = 10.0  # seconds
# Numbers of a sweep over all groups, rows times statistics, for each second of the start, on one
# core: by matrix products, and with a log or more for each column.
_BY_PRODUCTS, _BY_LOGS = 3e8, 2e7


def announce_long_start(n: int, d: int, p: int, rules: Rules) -> None:
    """Log a warning where the start from n rows of d columns, p statistics each, takes long."""
    groups = max(1, min(n // rules.points_a_group, rules.seeds))
    products_of_columns = p > 4 * d
    seconds = float(n) * p * groups / (_BY_PRODUCTS if products_of_columns else _BY_LOGS)
    if p >= _WIDE and seconds >= _LONG:
        warn(
            f"the first batch has {n:,} rows and {p:,} numbers describe a cluster, which takes "
            f"about {seconds:,.0f} s on one core; verbose=True shows the progress"
        )
