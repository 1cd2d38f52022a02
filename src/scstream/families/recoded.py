"""Families that turn the columns of a table into others, for which they have a family."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from scstream.families.columns import Columns, columns_of
from scstream.families.contract import Array, Family
from scstream.families.joined import Joined
from scstream.families.product_blocks import as_alone, beside_others, prepared_beside
from scstream.families.scores import Points


class Recoded(Joined):
    """Clusters of rows in another form: one part, the family of that form."""

    missing: ClassVar[bool] = True
    tabular: ClassVar[bool] = True

    _names: tuple[str, ...] = ()  # of the table's columns

    @abstractmethod
    def inner(self) -> Family:
        """Return the family of the other form, as the user gave it or left it open."""

    @abstractmethod
    def recoded(self, table: Columns) -> Points | Columns:
        """Return a table in the other form, as the inner family checks it."""

    def learned_form(self, table: Columns) -> Self:
        """Return a copy that knows how a first batch is brought into the other form."""
        new = copy.copy(self)
        new._names = tuple(map(str, table.labels))
        return new

    # -- set-up ---------------------------------------------------------------------------------

    def meet(self, X: Points, before: Family | None) -> Family:
        """Return a copy that knows the other form, and whose inner family has met the rows."""
        table = columns_of(X)
        known = self if self._names else before
        if not isinstance(known, Recoded) or not known._names:
            known = self.learned_form(table)
        new = copy.copy(self)
        new.__dict__ |= known.form()
        own = self._families[0] if self._families else self.inner()
        old = before._families[0] if isinstance(before, Recoded) and before._families else None
        new._columns = [slice(0, new.width(len(new._names)))]
        return new._having([own.meet(new.recoded(table), old)])

    def form(self) -> dict[str, Any]:
        """Return the attributes that say how rows are brought into the other form."""
        return {"_names": self._names}

    def check(self, X: Points) -> Points:
        """Return rows in the other form, as the inner family takes them."""
        if not self._families:
            return self.meet(X, None).check(X)
        return self._families[0].check(self.recoded(columns_of(X)))

    def sound(self, X: Points) -> bool:
        """Whether rows have the form that `check` returns."""
        return self._families[0].sound(X)

    def columns_taken(self) -> int | None:
        """Return how many columns checked rows have, None as long as that is not known."""
        return self.width(len(self._names)) if self._names else None

    def prepare(self, X: Points) -> Self:
        """Return a copy whose inner family is prepared."""
        return self._having([prepared_beside(self._families[0], X)])._with_parts()

    def enough_rows(self, d: int) -> int:
        """Return how many rows set the inner family's prior for good."""
        own = self._families[0] if self._families else self.inner()
        return as_alone(own).enough_rows(d)

    def saved_form(self) -> dict[str, Any]:
        """Return what a checkpoint holds of the form."""
        return {"names": list(self._names)}

    def from_saved_form(self, saved: Mapping[str, Any]) -> Self:
        """Return a copy with the form that `saved_form` describes."""
        names = saved.get("names")
        if not isinstance(names, list) or not names or not all(type(n) is str for n in names):
            raise ValueError("the columns have no names")
        new = copy.copy(self)
        new._names = tuple(names)
        return new

    def to_saved(self) -> dict[str, Any]:
        """Return the form and the inner family."""
        return {**self.saved_form(), "family": self._families[0]} if self._parts else {}

    def from_saved(self, saved: Mapping[str, Any]) -> Self:
        """Return the prepared copy that `to_saved` describes."""
        new, inner = self.from_saved_form(saved), saved.get("family")
        width = new.width(len(new._names))
        if type(inner) is not type(self.inner()) or inner.columns_taken() != width:
            raise ValueError("the family within is of another kind, or for other columns")
        new = new._having([beside_others(inner)])
        new._columns = [slice(0, width)]
        return new._with_parts()

    def _given_inner(self) -> Family:
        """Return the inner family with its prior, as a user may give it."""
        inner = self._families[0]
        return type(inner)(**inner.hyperparameters())

    # -- rows -----------------------------------------------------------------------------------

    @property
    def cell_widths(self) -> Array:
        """Those of the other form."""
        return self._families[0].cell_widths

    def unrounded(self, X: Points, batch: int, first_row: int = 0) -> Points:
        """Return rows of the other form at places within their cells."""
        return self._families[0].unrounded(X, batch, first_row)

    def embed(self, X: Points) -> Points:
        """Return the inner family's embedding."""
        return self._families[0].embed(X)

    # -- how it shows itself --------------------------------------------------------------------

    def part(self, tau: Array) -> tuple[Family, Array]:
        """Return the inner family and its posteriors."""
        return self._families[0], self._divided_posterior(tau)[0]

    @abstractmethod
    def as_table(self, rows: Any) -> Array:
        """Return rows (n, d) of the table for rows of the other form, drawn or described."""
