"""Single values: what is missing, truth, and times that are numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MOSTLY = 0.9  # share of a column's values that are numbers, or dates, for it to be one of these
MISSING = ("", "na", "n/a", "nan", "null", "none")  # in a column of numbers, in any case
ALSO_MISSING = (  # where the user says nothing else; words like "unknown" are asked about
    "-", "--", "---", "\u2013", "\u2014", "?", ".", "*", "n.a.", "n. a.", "k.a.", "k. a.", "n.d.",
    "n/d", "nd", "nil", "<na>", "<null>", "(null)", "[null]", "\\n",
    "-nan", "nan(ind)", "-nan(ind)", "1.#qnan", "-1.#ind",
    "#n/a", "#nv", "#n/d", "#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!",
)  # fmt: skip
TRUTH = {"true": 1.0, "false": 0.0}

EPOCHS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}  # parts of a second that numbers may count
_YEARS = (6.3e8, 4.1e9)  # 1990 to 2100, in seconds since 1970


def is_truth(field: str) -> bool:
    """Whether a field is True or False, in letters of any size."""
    return field.strip().lower() in TRUTH


def epoch_unit(numbers: NDArray[np.float64]) -> str | None:
    """Return the usual unit of times since 1970, None if numbers are not such times.

    Examples
    --------
    >>> epoch_unit(np.array([1.76e12, 1.77e12])), epoch_unit(np.array([1.0, 2.0]))
    ('ms', None)
    """
    shares = {unit: float(np.mean(_counts(numbers, parts))) for unit, parts in EPOCHS.items()}
    return max(shares, key=lambda unit: shares[unit]) if sum(shares.values()) >= MOSTLY else None


def in_seconds(
    numbers: NDArray[np.float64], unit: str
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return times that are numbers in seconds, and the rows that have another unit.

    Those are from 1990 to 2100 by a unit of their own.

    Examples
    --------
    >>> times, odd = in_seconds(np.array([1.76e9, 1.76e12, 0.0]), "s")
    >>> times.tolist(), odd.tolist()
    ([1760000000.0, 1760000000.0, 0.0], [1])
    """
    if unit not in EPOCHS:
        return numbers, np.empty(0, dtype=np.int64)
    times, odd = numbers / EPOCHS[unit], np.zeros(len(numbers), dtype=bool)
    for other in EPOCHS.keys() - {unit}:
        own = _counts(numbers, EPOCHS[other])
        times[own] = numbers[own] / EPOCHS[other]
        odd |= own
    return times, np.flatnonzero(odd)


def _counts(numbers: NDArray[np.float64], parts: float) -> NDArray[np.bool_]:
    """Whether numbers count such parts of a second since 1970."""
    return (_YEARS[0] * parts <= numbers) & (numbers <= _YEARS[1] * parts)


def in_order(times: NDArray[np.float64]) -> float:
    """Return the share of steps that do not go back in time; 1 for a single time."""
    steps = np.diff(times)
    return float(np.mean(steps >= 0)) if len(steps) else 1.0
