"""Single fields of text: truth values and dates, in the forms that tables use."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

TRUTH = {"true": 1.0, "false": 0.0}

ISO = "iso"
FORMATS = (  # of dates besides ISO 8601; with slashes the month may come first or the day
    "%d.%m.%Y %H:%M:%S", "%d.%m.%Y %H:%M", "%d.%m.%Y", "%d.%m.%y %H:%M", "%d.%m.%y",
    "%m/%d/%Y %H:%M:%S", "%m/%d/%Y %I:%M:%S %p", "%m/%d/%Y %H:%M", "%m/%d/%Y %I:%M %p", "%m/%d/%Y",
    "%d/%m/%Y %H:%M:%S", "%d/%m/%Y %I:%M:%S %p", "%d/%m/%Y %H:%M", "%d/%m/%Y %I:%M %p", "%d/%m/%Y",
    "%m/%d/%y %H:%M", "%m/%d/%y", "%d/%m/%y %H:%M", "%d/%m/%y",
    "%Y/%m/%d %H:%M:%S", "%Y/%m/%d %H:%M", "%Y/%m/%d", "%d-%m-%Y %H:%M:%S", "%d-%m-%Y %H:%M",
    "%d-%m-%Y", "%d %b %Y %H:%M:%S", "%d %b %Y %H:%M", "%d %b %Y", "%d-%b-%Y", "%b %d, %Y",
    "%d %B %Y", "%B %d, %Y", "%a, %d %b %Y %H:%M:%S %z", "%d/%b/%Y:%H:%M:%S %z",
    "%Y-%m-%d %H:%M:%S %Z", "%a %b %d %H:%M:%S %Y", "%Y-%m", "%m/%Y", "%b %Y", "%B %Y",
)  # fmt: skip
EPOCHS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}  # parts of a second that numbers may count
_YEARS = (6.3e8, 4.1e9)  # 1990 to 2100, in seconds since 1970


def is_truth(field: str) -> bool:
    """Whether a field is True or False, in letters of any size."""
    return field.strip().lower() in TRUTH


def is_moment_text(field: str) -> bool:
    """Whether a field is a date in one of the forms that are known."""
    return date_format([field]) is not None


def date_format(texts: Sequence[str]) -> str | None:
    """Return the form that all dates have, None if there is none.

    If the month may come first or the day, the form in which the dates are in order is taken.

    Examples
    --------
    >>> date_format(["2026-01-31", "2026-02-01T12:00Z"]), date_format(["31.01.2026 12:00"])
    ('iso', '%d.%m.%Y %H:%M')
    >>> date_format(["03/01/2026", "04/01/2026", "01/02/2026"])
    '%d/%m/%Y'
    """
    few = [text.strip() for text in texts]
    if not few or any(len(text) < 6 or len(text) > 40 for text in few):
        return None
    if not any(character.isdigit() for character in few[0]):
        return None
    if not any(text.isdecimal() for text in few) and np.isfinite(seconds(few)).all():
        return ISO
    fitting = [form for form in FORMATS if _fits(few[0], form)]
    fitting = [form for form in fitting if np.isfinite(seconds(few, form)).all()]
    return max(fitting, key=lambda form: in_order(seconds(few, form)), default=None)


def _fits(text: str, form: str) -> bool:
    return bool(np.isfinite(seconds([text], form)[0]))


def seconds(texts: Sequence[str], form: str = ISO) -> NDArray[np.float64]:
    """Return dates as seconds since 1970 (n,), NaN for other text; without a zone, in UTC."""
    out = np.full(len(texts), np.nan)
    for i, text in enumerate(texts):
        try:
            word = text.strip()
            when = datetime.fromisoformat(word) if form == ISO else datetime.strptime(word, form)
        except ValueError:
            continue
        out[i] = (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    return out


def epoch_unit(numbers: NDArray[np.float64]) -> str | None:
    """Return the unit of times since 1970, None if numbers are not such times.

    Examples
    --------
    >>> epoch_unit(np.array([1.76e12, 1.77e12])), epoch_unit(np.array([1.0, 2.0]))
    ('ms', None)
    """
    low, high = float(np.min(numbers)), float(np.max(numbers))
    for unit, parts in EPOCHS.items():
        if _YEARS[0] * parts <= low and high <= _YEARS[1] * parts:
            return unit
    return None


def in_order(times: NDArray[np.float64]) -> float:
    """Return the share of steps that do not go back in time; 1 for a single time."""
    steps = np.diff(times)
    return float(np.mean(steps >= 0)) if len(steps) else 1.0
