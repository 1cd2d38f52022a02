"""What the columns of a source are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from scstream.sources.base import Place
from scstream.sources.guess.dates import is_form
from scstream.sources.guess.looks import Role
from scstream.sources.guess.values import EPOCHS
from scstream.sources.places import unsound, whole


@dataclass(frozen=True)
class Schema:
    """What the columns of a source are.

    Attributes
    ----------
    names : list of str
        All of them.
    used : list of int
        Those that are learned from.
    kinds : list of {"number", "truth", "text"}
        What each of these holds.
    time : int or None
        The column of the times.
    dates : str
        What the times are, as in `Role`: dates of some form, or numbers.
    units : mapping of str to str
        What stands next to the numbers of a column, by its name.
    named : bool
        Whether the columns have names of their own.
    """

    names: list[str]
    used: list[int]
    kinds: list[str]
    time: int | None
    dates: str = ""
    units: Mapping[str, str] = field(default_factory=dict)
    named: bool = True

    @classmethod
    def of_roles(
        cls, roles: Sequence[Role], used: list[int], time: int | None, named: bool
    ) -> Self:
        """Return what a look has found."""
        return cls(
            [role.name for role in roles],
            used,
            [roles[j].kind for j in used],
            time,
            "" if time is None else roles[time].dates,
            {role.name: role.unit for role in roles if role.unit},
            named,
        )

    @property
    def labels(self) -> list[str]:
        """The names of the columns that are learned from."""
        return [self.names[j] for j in self.used]

    @property
    def keys(self) -> list[Any]:
        """What a model knows the columns by: their names, or numbers if they have none."""
        if self.named or len(self.used) < len(self.names):
            return list(self.labels)
        return list(self.used)

    @property
    def clock(self) -> str:
        """The name of the column of the times."""
        return "time" if self.time is None else self.names[self.time]

    @property
    def n_numbers(self) -> int:
        """How many of the columns are numbers, or become numbers."""
        return sum(kind != "text" for kind in self.kinds)

    @property
    def time_is_text(self) -> bool:
        """Whether the times are written as dates."""
        return self.time is not None and self.dates not in ("", *EPOCHS)

    def to_place(self) -> Place:
        """Return what a place holds of it."""
        place = {name: getattr(self, name) for name in ("names", "used", "kinds", "time", "dates")}
        return place | {"header": self.named, "units": dict(self.units)}

    @classmethod
    def of_place(cls, place: Place) -> Self:
        """Return what a place says; raise `ValueError` if no run has written it."""
        names, used, kinds = place.get("names"), place.get("used"), place.get("kinds")
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise unsound("names", names)
        if not isinstance(used, list) or not all(type(j) is int for j in used):
            raise unsound("used", used)
        if not used or len(set(used)) < len(used) or not all(0 <= j < len(names) for j in used):
            raise unsound("used", used)
        known = {"number", "truth", "text"}
        if not isinstance(kinds, list) or len(kinds) != len(used) or {*map(str, kinds)} - known:
            raise unsound("kinds", kinds)
        if place.get("time") is not None:
            whole(place, "time", 0, len(names) - 1)
        if type(place.get("header")) is not bool:
            raise unsound("header", place.get("header"))
        units, dates = place.get("units"), place.get("dates")
        if not isinstance(units, dict) or not all(isinstance(unit, str) for unit in units.values()):
            raise unsound("units", units)
        if not isinstance(dates, str) or not (dates in ("", *EPOCHS) or is_form(dates)):
            raise unsound("dates", dates)
        return cls(names, used, kinds, place.get("time"), dates, units, place["header"])
