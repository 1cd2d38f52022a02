"""Numbers and shares in words, for tables and pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def in_shares(shares: Mapping[Any, float], most: int = 3) -> str:
    """Return the largest shares in words; those below one in twenty are left out.

    Examples
    --------
    >>> in_shares({"red": 0.04, "blue": 0.9, "green": 0.06})
    'blue 90%, green 6%'
    """
    top = sorted(shares.items(), key=lambda pair: -pair[1])[:most]
    few = [(word, share) for word, share in top if share >= 0.05] or top[:1]
    return ", ".join(f"{word} {share:.0%}" for word, share in few)


def counted(n: int, one: str, many: str | None = None) -> str:
    """Return how many there are of something, the plural with an s unless it is given.

    Examples
    --------
    >>> counted(1, "birth"), counted(1200, "merge"), counted(2, "batch", "batches")
    ('1 birth', '1,200 merges', '2 batches')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def in_number(value: float) -> str:
    """Return a number with as many digits as a reader wants.

    Examples
    --------
    >>> in_number(3.0), in_number(0.123456), in_number(1234567.8)
    ('3', '0.123', '1.23e+06')
    """
    return f"{value:.3g}" if abs(value) < 1e5 or abs(value) >= 1e6 else f"{value:,.0f}"
