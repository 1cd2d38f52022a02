"""What a checkpoint saves of a family."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from scstream.support.saved import checked, parameters_of


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

    def to_saved(self) -> dict[str, Any]:
        """Return what a prepared copy knows: numbers, text, lists, arrays, families by name.

        Empty for a family that is not prepared. What follows from the rest is left out.
        """
        mine = vars(self)
        return {name: mine[name] for name in self.kept if name in mine}

    def from_saved(self, saved: Mapping[str, Any]) -> Self:
        """Return the prepared copy that `to_saved` describes, or raise `ValueError`.

        Called on a family as its constructor makes it. The values come from a file: they are
        checked before use.
        """
        new = copy.copy(self)
        vars(new).update(checked(saved, self.kept))
        return new.remade()

    def check_given(self) -> None:
        """Raise `ValueError` if the constructor's arguments, perhaps from a file, are invalid."""
        return

    def remade(self) -> Self:
        """Return a copy with everything that follows from the saved attributes."""
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
