"""Which rows a family takes, and in which form it computes with them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from scstream.families.scores import Array, Points


class RowForms:
    """The part of a family that is about rows. By default it takes finite numbers, as they are."""

    missing: ClassVar[bool] = False
    sparse: ClassVar[bool] = False
    positive_only: ClassVar[bool] = False
    tabular: ClassVar[bool] = False
    text: ClassVar[bool] = False
    real: ClassVar[bool] = False
    _shift: Array = np.zeros(1)  # (d,): the frame's centre and scales
    _scale: Array = np.ones(1)
    _step: Array = np.zeros(0)  # (d,): the width of the cells of columns whose numbers are coarse

    def check(self, X: Points) -> Points:
        """Return numeric rows in the form that the family uses, or raise `ValueError`."""
        return np.ascontiguousarray(X, dtype=np.float64)

    def refusal(self, x: Array) -> str | None:
        """Return what is wrong with the numbers of a column, None if nothing is.

        Called for each column of a data frame, whose name goes before it in the error.
        """
        return None

    def sound(self, X: Points) -> bool:
        """Whether rows have the form that `check` returns."""
        if not isinstance(X, np.ndarray):
            return False
        seen = ~np.isnan(X)
        if np.isinf(X).any() or not (self.missing or seen.all()):
            return False
        return all(self.refusal(x[there]) is None for x, there in zip(X.T, seen.T, strict=True))

    def recoded(self, X: Points, before: Any) -> Points:
        """Return rows that another family of the kind has checked as this one checks them."""
        return X

    def width(self, d: int) -> int:
        """Return how many columns the checked rows of d columns of a table have."""
        return d

    # -- the coordinates in which it computes ---------------------------------------------------

    @property
    def frame(self) -> tuple[Array, Array]:
        """Centre and scale of the columns in which the family computes: by default 0 and 1.

        (d,) each, or (1,) where all columns have the same.
        """
        return self._shift, self._scale

    @property
    def quadratic_rows(self) -> bool:
        """Whether ``T(x)`` is ``(1, z, upper triangle of z z')``, z being x in the `frame`.

        Engines may then compute it themselves, and take rows that are on a device already.
        """
        return False

    def quadratic_frame(self) -> tuple[Array, Array] | None:
        """Return the shift and scale (d,) of rows whose statistics are ``(1, z, z z')``, if so.

        That is of ``z = (x - shift) / scale``. Products with such statistics then bend down, and
        those that are in the logarithm of a Student-t density bend up: engines may rely on it.
        """
        return None
