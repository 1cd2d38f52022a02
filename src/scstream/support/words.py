"""Numbers and shares in words, for tables and pages."""

from __future__ import annotations

import math
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


def in_number(value: float, digits: int = 3) -> str:
    """Return a number as people write it, with as many digits as a reader wants.

    Examples
    --------
    >>> in_number(3.0), in_number(0.123456), in_number(1234567.8), in_number(2e-7)
    ('3', '0.123', '1,234,568', '2e-07')
    """
    size = abs(value)
    if not 1e-4 <= size < 1e15:
        return f"{value:.{digits}g}"
    places = max(digits - 1 - math.floor(math.log10(size)), 0)
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if places else text


def in_numbers(one: float, other: float) -> tuple[str, str]:
    """Return two numbers with as many digits as it takes to tell them apart.

    Examples
    --------
    >>> in_numbers(2001.3, 1984.0), in_numbers(0.50012, 0.5001)
    (('2,001', '1,984'), ('0.50012', '0.5001'))
    """
    digits = 3
    while in_number(one, digits) == in_number(other, digits) and digits < 15:
        digits += 1
    return in_number(one, digits), in_number(other, digits)
