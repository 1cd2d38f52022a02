"""Moments and lengths of time, as users write them: in seconds."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np

_UNITS = {
    "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0,
    "d": 86400.0, "w": 604800.0, "D": 86400.0, "second": 1.0, "minute": 60.0, "hour": 3600.0,
    "day": 86400.0, "week": 604800.0,
}  # fmt: skip
_UNITS |= {f"{word}s": _UNITS[word] for word in ("second", "minute", "hour", "day", "week")}
_LENGTH = re.compile(r"\s*([0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?)\s*([a-zA-Z]+)\s*")


class Moment(float):
    """Seconds since 1970 that are known to be a date."""


def is_moment(value: Any) -> bool:
    """Whether it is a date, with or without a time: Python's, NumPy's, pandas', or ISO 8601."""
    if isinstance(value, str):
        return _of_text(value) is not None
    return isinstance(value, date | np.datetime64 | Moment)


def _of_text(text: str) -> datetime | None:
    """Return the date in a text, None if it is none in ISO 8601."""
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        return None


def moment(value: Any) -> float:
    """Return a date as seconds since 1970: its beginning without a time, UTC without a zone."""
    if isinstance(value, Moment):
        return float(value)
    if isinstance(value, str):
        value = _of_text(value)
    if isinstance(value, np.datetime64):
        if np.isnat(value):
            return math.nan
        return float((value - np.datetime64(0, "s")) / np.timedelta64(1, "s"))
    if value != value:  # NaT of pandas
        return math.nan
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    aware: datetime = value if value.tzinfo else value.replace(tzinfo=UTC)
    return aware.timestamp()


def is_length(value: Any) -> bool:
    """Whether it is a length of time that has a unit, such as ``"12h"`` or a timedelta."""
    return length(value) is not None


def length(value: Any) -> float | None:
    """Return a length of time in seconds, None if it is none or has no unit."""
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, np.timedelta64):
        unit, _ = np.datetime_data(value)
        unknown = np.isnat(value) or unit in ("generic", "M", "Y")
        return None if unknown else float(value / np.timedelta64(1, "s"))
    found = _LENGTH.fullmatch(value) if isinstance(value, str) else None
    if found is None or found[2] not in _UNITS:
        return None
    return float(found[1]) * _UNITS[found[2]]


def as_date(seconds: float) -> str:
    """Return a moment as a date in UTC, as short as it is exact to the millisecond.

    Examples
    --------
    >>> as_date(0.0), as_date(1767225600.25)
    ('1970-01-01 00:00:00', '2026-01-01 00:00:00.250')
    """
    try:
        when = datetime.fromtimestamp(round(seconds, 3), UTC).replace(tzinfo=None)
    except (OverflowError, OSError, ValueError):
        return f"{seconds:g} s since 1970"
    return when.isoformat(" ", "seconds" if when.microsecond == 0 else "milliseconds")


def as_length(seconds: float) -> str:
    """Return a length of time in its two largest units.

    Examples
    --------
    >>> as_length(93784.0), as_length(0.25), as_length(600.0)
    ('1d 2h', '0.25s', '10m')
    """
    if not 60.0 <= seconds < math.inf:
        return f"{seconds:.3g}s"
    left, parts = round(seconds), []
    for unit in ("d", "h", "m", "s"):
        n, left = divmod(left, round(_UNITS[unit]))
        if n:
            parts.append(f"{n}{unit}")
    return " ".join(parts[:2])
