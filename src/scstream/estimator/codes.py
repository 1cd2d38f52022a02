"""Numbers that stand for missing ones, such as -999: a model would make clusters of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scstream.families.contract import Array
from scstream.support.advice import Advice, reason

_MOST = 20_000  # rows, the first of a batch, that are looked at
_OFTEN = 0.002  # the share of a column's rows that a code is in at least
_ENOUGH = 3  # and the number of them
_ROUNDING = 1e-12  # of a number that was on another scale, relatively
_LIMITS = (-(2**15), 2**15 - 1, -(2**31), 2**31 - 1)  # of whole numbers in 16 and in 32 bits


def warning_of_codes(columns: Sequence[tuple[Any, Array]]) -> str:
    """Return a warning if a number looks as if it stood for missing in some columns.

    Columns (n,) have their names in front.
    """
    found = [(name, *code_in(column[:_MOST])) for name, column in columns]
    found = [(name, code, share) for name, code, share in found if share > 0.0]
    if not found:
        return ""
    (name, code, share), others = found[0], len(found) - 1
    also = (
        f" So do {others} other columns." if others > 1 else " So does another." if others else ""
    )
    return reason(
        f"Column {name!r} holds {code:g} in {share:.1%} of the rows, far from all its other "
        f"numbers.{also} If that stands for a missing number put NaN there (pandas.read_csv: "
        f"na_values=[{code:g}]). Otherwise rows that lack a number form clusters of their own.",
        Advice("missing", f"{code:g}", "if it stands for a missing number"),
    )


def code_in(column: Array) -> tuple[float, float]:
    """Return a number of a column (n,) that stands for missing ones, and its share of the rows.

    It is written in nines, or the limit of a type. It is the least or the greatest number, comes
    again and again, and is further from all others than these are from each other. The share is 0
    if there is none.
    """
    known = column[np.isfinite(column)]
    for code in (known.min(initial=np.inf), known.max(initial=-np.inf)):
        if not _is_written_as_code(float(code)):
            continue
        others = known[known != code]
        rows = len(known) - len(others)
        if rows < max(_ENOUGH, _OFTEN * len(column)) or len(others) <= rows:
            continue
        least, greatest = float(others.min()), float(others.max())
        if min(abs(code - least), abs(code - greatest)) > greatest - least > 0.0:
            return float(code), rows / len(column)
    return 0.0, 0.0


def _is_written_as_code(number: float) -> bool:
    if not np.isfinite(number) or abs(number - round(number)) > _ROUNDING * abs(number):
        return False
    digits = f"{abs(number):.0f}"
    return (len(digits) > 1 and set(digits) == {"9"}) or round(number) in _LIMITS
