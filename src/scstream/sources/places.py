"""Places that come from a checkpoint: their parts are checked before they are used."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

from scstream.sources.base import Place
from scstream.sources.batch_times import Pace

_MOST = 2**62


def unsound(name: str, value: Any) -> ValueError:
    """Return the error of a place that no source of this kind could have made."""
    return ValueError(
        f"The checkpoint's place in the source is not sound: {name} is {str(value)[:80]!r}. "
        "It was not written by a run over this kind of source."
    )


def whole(place: Place, name: str, low: int = 0, high: int = _MOST) -> int:
    """Return a whole number of a place."""
    value = place.get(name)
    if type(value) is not int or not low <= value <= high:
        raise unsound(name, value)
    return value


def check_counts(place: Place) -> None:
    """Raise `ValueError` unless a place says how many bytes, lines and rows come before it."""
    for name in ("offset", "line", "row"):
        whole(place, name)
    if "period" in place:
        whole(place, "period", -_MOST)
    rows = place.get("rows", [0, 0, 0])
    if not isinstance(rows, list) or [*map(type, rows)] != [int] * 3 or min(rows) < 0:
        raise unsound("rows", rows)
    check_clock(place)


def check_clock(place: Place) -> None:
    """Raise `ValueError` unless a place says how time went on before it, if it says anything."""
    clock = place.get("clock", {})
    known = {field.name for field in fields(Pace)}
    if not isinstance(clock, dict) or not clock.keys() <= known:
        raise unsound("clock", clock)
    for name, value in clock.items():
        none = value is None and name in ("last", "step")
        if not none and (type(value) not in (int, float) or not math.isfinite(value)):
            raise unsound("clock", clock)


def seen_before(place: Place) -> Place | None:
    """Return what the stream looked like before a place; None if that was not saved."""
    if "seen" not in place:
        return None
    seen = place["seen"]
    if not isinstance(seen, dict) or not isinstance(seen.get("digest"), str):
        raise unsound("seen", seen)
    whole(seen, "base", 0, place["offset"])
    file = seen.get("file", [])
    if not isinstance(file, list) or not all(type(number) is int for number in file):
        raise unsound("seen", seen)
    return seen
