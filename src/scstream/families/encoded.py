"""Families of rows in another form: an encoder, and plain families of what it makes of columns."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from scstream.encoders import Encoder
from scstream.encoders.rounding import Rounding
from scstream.families.columns import columns_of, finite_numbers
from scstream.families.contract import Array, Family
from scstream.families.joined import Joined
from scstream.families.product_blocks import beside_others, prepared_beside, slices
from scstream.families.recoding import Line, lines
from scstream.families.scores import Points
from scstream.support.saved import parameters_of

Kinds = tuple[type[Family], ...]


class Encoded(Joined):
    """Clusters of rows that an encoder turns into others.

    A family of this kind names its encoder and the plain families of the blocks that this makes.
    Parameters of its constructor that are not such a family are the encoder's.

    Attributes
    ----------
    kind : type
        Of the encoder.
    inner : dict
        For each block the parameter that gives its family, and which these may be: the first, by
        default.
    """

    missing: ClassVar[bool] = True
    tabular: ClassVar[bool] = True
    kept: ClassVar[Mapping[str, str]] = {"encoder": "any", "_families": "any"}
    kind: ClassVar[type[Encoder]]
    inner: ClassVar[Mapping[str, Kinds]]

    encoder: Any = None  # once it has met rows

    def _open_encoder(self) -> Encoder:
        """Return the encoder as the user gave it, or left it open."""
        names = [name for name in parameters_of(type(self)) if name not in self.inner]
        return self.kind(**{name: getattr(self, name) for name in names})

    def _given(self) -> list[Family]:
        """Return the families of the other form, as the user gave them or left them open."""
        return [getattr(self, name) or kinds[0]() for name, kinds in self.inner.items()]

    @property
    def form(self) -> Any:
        """The encoder, of its `kind`, which has met rows."""
        assert self.encoder is not None
        return self.encoder

    # -- set-up ---------------------------------------------------------------------------------

    def check_given(self) -> None:
        """Raise `ValueError` if the parameters are not what they must be."""
        for name, kinds in self.inner.items():
            given = getattr(self, name)
            if given is not None and type(given) not in kinds:
                expected = " or ".join(kind.__name__ for kind in kinds)
                raise ValueError(f"{name} must be a {expected}; got {given!r}.")

    def meet(self, X: Points, before: Family | None) -> Family:
        """Return a copy that knows the other form, and whose families have met the rows."""
        table, new = columns_of(X), copy.copy(self)
        old = before if isinstance(before, Encoded) and before.encoder is not None else None
        if self.encoder is None and old is not None:
            new.encoder = old.encoder
        elif self.encoder is None:
            self.check_given()
            rows = finite_numbers(table, self)
            new.encoder = self._open_encoder().fitted(rows, table.labels)
        new._families = self._families or self._given()
        new._columns = slices(new.form.widths)
        if any(family.text for family in new._families):
            (own,), codes = new._families, new.form.encode(finite_numbers(table, self))
            new._families = [own.meet(codes, old and old._families[0])]
        return new

    def check(self, X: Points) -> Points:
        """Return rows in the other form, as the families take them."""
        if self.encoder is None:
            return self.meet(X, None).check(X)
        codes = self.encoder.encode(finite_numbers(columns_of(X), self))
        return codes if codes.dtype == np.float64 else self._families[0].check(codes)

    def prepare(self, X: Points) -> Self:
        """Return a copy whose families are prepared."""
        new = copy.copy(self)
        new.encoder = self.form.with_cells(X)
        rows = new.encoder.spread(X, 0, 0)
        pairs = zip(self._families, self._columns, strict=True)
        new._families = [prepared_beside(family, rows[:, c]) for family, c in pairs]
        return new._with_parts()

    def enough_rows(self, d: int) -> int:
        """Return how many rows set the families' priors for good."""
        return max(f.enough_rows(d) for f in self._given())

    def remade(self) -> Self:
        """Return the copy with its encoder, and with the parts of rows and statistics."""
        encoder, families = self._open_encoder().from_saved(self.encoder), self._families
        kinds, widths = list(self.inner.values()), encoder.widths
        if not isinstance(families, list) or len(families) != len(kinds):
            raise ValueError("the families of the other form are others in number")
        for family, some, width in zip(families, kinds, widths, strict=True):
            if type(family) not in some or family.columns_taken() != width:
                raise ValueError("the family within is of another kind, or for other columns")
        new = self._having([beside_others(family) for family in families])
        new.encoder, new._columns = encoder, slices(widths)
        return new._with_parts()

    def hyperparameters(self) -> dict[str, Any]:
        """Return what the encoder has learned, and the priors, as families."""
        inner = (type(f)(**f.hyperparameters()) for f in self._families)
        return {**self.form.hyperparameters(), **dict(zip(self.inner, inner, strict=True))}

    # -- codes of another encoder -----------------------------------------------------------------

    def _alike_in(self, before: Joined) -> Sequence[Family] | None:
        """Return another's families as those of these codes, None if there are no lines."""
        same = super()._alike_in(before)
        if same is not None:
            return same
        found = self._lines_from(before)
        if isinstance(found, str):
            return None
        return [line.carried(f) for line, f in zip(found, before._families, strict=True)]

    def _lines_from(self, before: Family) -> list[Line] | str:
        if type(before) is not type(self) or self._families[0].text:
            return super().difference(before)
        return lines(self.form, before.form, before._families)

    def difference(self, before: Family) -> str:
        """Return in what the codes differ."""
        found = self._lines_from(before)
        return found if isinstance(found, str) else super().difference(before)

    def recoded(self, X: Points, before: Any) -> Points:
        """Return rows in another's codes in these."""
        if self._families[0].text:
            return super().recoded(X, before)
        return X if self.form is before.form else self.form.encode(before.form.decode(X))

    # -- rows -----------------------------------------------------------------------------------

    @property
    def rounding(self) -> Rounding | None:
        """The rounding of entries of the other form that stand for a range, and of the families."""
        inner = super().rounding
        return CodeRounding(self.form, inner) if self.form.is_coarse() else inner

    def embed(self, X: Points) -> Points:
        """Return the first family's embedding."""
        return self._families[0].embed(X)

    def log_base(self, X: Points) -> Array:
        """Return the families' base measures, and the change from the other form (n,)."""
        out: Array = super().log_base(X) + self.form.log_jacobian(X)
        return out

    # -- how it shows itself --------------------------------------------------------------------

    def parts(self, tau: Array) -> list[tuple[Family, Array]]:
        """Return the families of the other form and their posteriors."""
        return list(zip(self._families, self._divided_posterior(tau), strict=True))


class CodeRounding:
    """Spreads entries of another form that stand for a range, then coarse numbers."""

    def __init__(self, form: Encoder, inner: Rounding | None) -> None:
        self._form, self._inner = form, inner

    def spread(self, X: Array, batch: int, first_row: int = 0) -> Array:
        """Return rows of the other form with such entries at places within."""
        X = self._form.spread(X, batch, first_row)
        return X if self._inner is None else self._inner.spread(X, batch, first_row)
