"""Messages about first batches that take long, or much memory: no wait should be silent."""

from __future__ import annotations

import math
import os

from scipy import sparse

from scstream.families.scores import Points
from scstream.sampler.rules import Rules
from scstream.support.messages import warn

_WIDE = 1000  # statistics of a cluster, with fewer of which any start is quick
_LONG = 10.0  # seconds
_MUCH = 2e9  # bytes
# Numbers of a sweep over all groups, rows times statistics, for each second of the start, on one
# core: by matrix products, and with a log or more for each column. Of sparse rows the entries
# count, and each group's statistics as so many.
_BY_PRODUCTS, _BY_LOGS, _ENTRIES_OF_A_GROUP = 3e8, 2e7, 15.0
_SHARE = 0.8  # of the machine's memory, with more of which something would be killed
_BYTES = 110.0  # for each statistic of each group: 1.4 GB for 200 groups of 65,537


def announce_long_start(X: Points, n: int, p: int, rules: Rules) -> None:
    """Log a warning where the start from n of the rows X, p statistics each, takes long."""
    d, numbers = X.shape[1], float(n) * p
    if sparse.issparse(X):
        numbers = _ENTRIES_OF_A_GROUP * p + X.nnz * n / max(X.shape[0], 1)
    seconds = numbers * _groups(n, rules) / (_BY_PRODUCTS if p > 4 * d else _BY_LOGS)
    if p >= _WIDE and seconds >= _LONG:
        warn(
            f"the first batch has {n:,} rows and {p:,} numbers describe a cluster, which takes "
            f"about {seconds:,.0f} s on one core; verbose=True shows the progress"
        )


def announce_memory(n: int, p: int, rules: Rules) -> None:
    """Log a warning where a start from n rows takes much memory; refuse it if there is not enough.

    It must not begin, progress shown or not: something would be killed.
    """
    memory = _BYTES * _groups(n, rules) * p
    if memory >= _MUCH:
        told = (
            f"{p:,} numbers describe a cluster, so the first batch takes about "
            f"{memory / 1e9:,.0f} GB of memory; fewer columns take less: of hashed words "
            "HashingVectorizer(n_features=2**14) keeps enough"
        )
        if memory > _SHARE * machine_memory():
            raise MemoryError(f"{told}.")
        warn(told)


def _groups(n: int, rules: Rules) -> int:
    """Return from how many groups n rows start."""
    return max(1, min(n // rules.points_a_group, rules.seeds))


def machine_memory() -> float:
    """Return the bytes of memory that the machine has, infinity if it does not say."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return math.inf
