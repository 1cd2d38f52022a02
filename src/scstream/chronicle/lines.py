"""Lines of a chronicle's file: JSON, with numbers that are checked when they come back."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

_DIGITS = 7  # of the numbers in a file
_TINY, _HUGE = 1e-14, 1e21  # between them powers of ten that shift these digits are exact

Floats = NDArray[np.float64]


def to_line(saved: dict[str, Any]) -> str:
    """Return plain values as a line of JSON, its end included."""
    return json.dumps(saved, separators=(",", ":"), allow_nan=False) + "\n"


def to_short(values: ArrayLike) -> Any:
    """Return numbers as lists, with as many digits as a picture can use; None for no number.

    Examples
    --------
    >>> to_short(np.array([[1 / 3, 2.0], [np.inf, 12345678.9]]))
    [[0.3333333, 2.0], [None, 12345680.0]]
    """
    if isinstance(values, np.ndarray):
        quick = _rounded(values)
        if quick is not None:
            return quick.tolist()
        values = values.tolist()
    if isinstance(values, list):
        return [to_short(value) for value in values]
    number = float(f"{values:.{_DIGITS}g}")
    return number if math.isfinite(number) else None


def _rounded(values: NDArray[Any]) -> Floats | None:
    """Return numbers with few digits, all at once; None if some are not finite, or tiny or huge.

    A whole number over a power of ten that is exact is the number nearest to the digits, so that
    it is written with no more of them.
    """
    x = np.asarray(values, dtype=float)
    size = np.abs(x)
    if not x.size or not (((size >= _TINY) & (size < _HUGE)) | (x == 0.0)).all():
        return None
    places = (_DIGITS - 1) - np.floor(np.log10(np.where(x == 0.0, 1.0, size)))
    up, down = 10.0 ** np.maximum(places, 0.0), 10.0 ** np.maximum(-places, 0.0)
    out: Floats = np.rint(x * up / down) / up * down
    return out


def from_line(raw: bytes) -> dict[str, Any]:
    """Return what a line says, as long as it says it in JSON."""
    try:
        saved = json.loads(raw)
    except RecursionError as error:
        raise ValueError("the JSON is nested too deeply") from error
    if not isinstance(saved, dict):
        raise ValueError(f"it holds a {type(saved).__name__} in place of names and values")
    return saved


def read_event(saved: dict[str, Any]) -> dict[str, Any]:
    """Return an event of a file that has what every event has."""
    known: dict[str, Any] = {"kind": str(saved["kind"]), "time": float(saved["time"])}
    if known["kind"] in ("widen", "clock"):  # which are about a column
        known |= {name: str(saved[name]) for name in ("column", "was", "now")}
    else:
        known["cluster"] = int(saved["cluster"])
    return {**saved, **known}


def read_table(values: Any, k: int, width: int | None = None) -> Floats:
    """Return numbers of k clusters, (k,) or (k, width); of any width if that is negative."""
    table = np.array(values, dtype=float)
    if width is None:
        fits = table.shape == (k,)
    else:
        table = table.reshape(0, max(width, 0)) if k == 0 and table.size == 0 else table
        fits = table.ndim == 2 and len(table) == k and (width < 0 or table.shape[1] == width)
    if not fits:
        raise ValueError(f"numbers of shape {table.shape} for {k} clusters")
    return table


def read_ids(values: Any, k: int) -> NDArray[np.int64] | None:
    """Return ids of k clusters, (k,), or None if there are none."""
    if values is None:
        return None
    ids = np.array(values, dtype=np.int64)
    if ids.shape != (k,):
        raise ValueError(f"ids of shape {ids.shape} for {k} clusters")
    return ids


def read_optional(values: Any, k: int, width: int = -1) -> Floats | None:
    """Return numbers of k clusters, (k, width), or None if there are none."""
    return None if values is None else read_table(values, k, width)


def read_texts(saved: Any, k: int) -> tuple[str, ...]:
    """Return what is said of k clusters; nothing if nothing is."""
    if saved and len(saved) != k:
        raise ValueError(f"texts about {len(saved)} clusters, not about {k}")
    return tuple(str(text) for text in saved)


def read_words(saved: Any, k: int) -> tuple[dict[str, dict[str, float]], ...]:
    """Return the likeliest categories of k clusters; nothing if there are none."""
    if not saved:
        return ()
    if len(saved) != k:
        raise ValueError(f"categories of {len(saved)} clusters, not of {k}")
    return tuple(
        {str(name): {str(word): float(share) for word, share in shares.items()}
         for name, shares in one.items()}
        for one in saved
    )  # fmt: skip
