"""What is saved of a family: its arguments, and what it has learned."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, ClassVar, Self, TypeVar

from scstream.encoders import Encoder
from scstream.support.saved import checked, parameters_of

Kind = TypeVar("Kind", bound="Saved")


class Saved:
    """The part of a family that is saved: the constructor's arguments, and what it has learned.

    The latter is named in ``kept``, with forms as `scstream.support.saved` has them. "d" are the
    columns in which the family computes, "w" those of the rows where these are more.
    """

    kept: ClassVar[Mapping[str, str]] = {}

    def __repr__(self) -> str:
        given = ((k, getattr(self, k)) for k in parameters_of(type(self)))
        parts = ", ".join(f"{k}={v!r}" for k, v in given if v is not None)
        return f"{type(self).__name__}({parts})"

    def check_given(self) -> None:
        """Raise `ValueError` if the constructor's arguments, perhaps from a file, are invalid."""
        return

    def remade(self) -> Self:
        """Return a copy with what follows from the saved attributes, or raise `ValueError`."""
        return self

    def hyperparameters(self) -> dict[str, Any]:
        """Return the prior's hyper-parameters in the user's terms and units."""
        given = parameters_of(type(self))
        return {name: copy.copy(getattr(self, f"_{name}", getattr(self, name))) for name in given}

    def columns_taken(self) -> int | None:
        """Return how many columns checked rows have, None as long as that is not known."""
        mine = vars(self)
        known = (name for name, form in self.kept.items() if form[:1] == "d" and name in mine)
        return next((len(mine[name]) for name in known), None)


def saved_of(family: Saved) -> dict[str, Any]:
    """Return what a prepared family knows: numbers, text, lists, arrays, families by name.

    Empty for a family that is not prepared. What follows from the rest is left out.
    """
    mine = vars(family)
    known = {name: mine[name] for name in family.kept if mine.get(name) is not None}
    known |= {name: v.to_saved() for name, v in known.items() if isinstance(v, Encoder)}
    needed = {name for name, form in family.kept.items() if not form.endswith("?")}
    return known if needed <= set(known) else {}


def restored(family: Kind, saved: Mapping[str, Any]) -> Kind:
    """Return a family, as its constructor makes it, with what it had learned.

    The values come from a file: they are checked, or `ValueError` is raised.
    """
    new = copy.copy(family)
    vars(new).update(checked(saved, family.kept))
    return new.remade()
