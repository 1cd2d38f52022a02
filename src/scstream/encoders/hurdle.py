"""Amounts that are one common value in many rows, such as 0: whether they are, and the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from scstream.core import Floats as Array
from scstream.encoders.amounts import ScaleEncoder
from scstream.encoders.skew import common_value
from scstream.support.given import as_floats, finite_vector

_LEAST = 1e-12  # chance that a normal number is less is as small as one need be


class HurdleEncoder(ScaleEncoder):
    """Columns of amounts as whether each is another one than a common value, and as the others.

    Parameters
    ----------
    value : float or array-like (d,), optional
        The common value, NaN for a column that has none. Default: what at least 5 % of the first
        rows have, and ten, and five times as many as any other value, if two of the other rows are
        equal in one case of ten at most.
    unit, root
        As in `ScaleEncoder`, of the other values.

    Notes
    -----
    The other form has 2 d columns: 1 for an entry with another value, and these on the scale. NaN
    stands for what is missing: the amounts at the common value, and whether it is that in a column
    that has none.

    Examples
    --------
    >>> encoder = HurdleEncoder(value=0.0, unit=1.0).fit([[0.0], [3.0]])
    >>> encoder.transform([[0.0], [3.0]]).round(3).tolist()
    [[0.0, nan], [1.0, 1.818]]
    """

    learned: ClassVar[Mapping[str, str]] = {"value_": "d~", **ScaleEncoder.learned}

    value_: Array  # (d,)

    def __init__(
        self,
        value: ArrayLike | None = None,
        unit: ArrayLike | None = None,
        root: ArrayLike | None = None,
    ) -> None:
        super().__init__(unit, root)
        self.value = value

    def learn(self, X: Array, names: Sequence[str]) -> None:
        """Find the common values, and the scale of the others."""
        if self.value is None:
            self.value_ = np.array([common_value(x[~np.isnan(x)]) for x in X.T])
        else:
            given = as_floats(self.value, "value")
            none = np.isnan(given)
            value = finite_vector(np.where(none, 0.0, given), X.shape[1], "value")
            self.value_ = np.where(none, np.nan, value)
        super().learn(np.where(self.value_ != X, X, np.nan), names)

    @property
    def widths(self) -> list[int]:
        """The columns twice."""
        return [self.n_features_in_] * 2

    def encode(self, X: Array) -> Array:
        """Return whether entries are others than the common value, and these, (n, 2 d)."""
        other = self.value_ != X
        unknown = np.isnan(X) | np.isnan(self.value_)
        scaled = super().encode(np.where(other, X, np.nan))
        return np.concatenate([np.where(unknown, np.nan, other), scaled], axis=1)

    def decode(self, codes: Array) -> Array:
        """Return the rows (n, d)."""
        other, own = self._halves(codes)
        common = (other == 0) & ~np.isnan(self.value_)
        return np.where(common, self.value_, super().decode(own))

    def log_jacobian(self, codes: Array) -> Array:
        """Return that of the others (n,)."""
        return super().log_jacobian(self._halves(codes)[1])

    def with_cells(self, codes: Array) -> Self:
        """Return a copy that knows how coarse the others are."""
        return super().with_cells(self._halves(codes)[1])

    def spread(self, codes: Array, batch: int, first_row: int) -> Array:
        """Return encoded rows with coarse amounts at places within their cells."""
        other, own = self._halves(codes)
        return np.concatenate([other, super().spread(own, batch, first_row)], axis=1)

    def _halves(self, codes: Array) -> tuple[Array, Array]:
        d = self.n_features_in_
        return codes[:, :d], codes[:, d:]

    def quantile_of_all(self, level: float, share: Array, mean: Array, deviation: Array) -> Array:
        """Return the same of all entries of columns, of which a share are others (k, d).

        The rest has the common value; in a column without one the share counts as 1.
        """
        none = np.isnan(self.value_)
        at = super().encode(np.where(none, 0.0, self.value_) + 0.0 * share)
        below = share * ndtr((at - mean) / deviation)  # of all values, those below the common one
        common = (level >= below) & (level <= below + 1.0 - share) & ~none
        own = np.where(level < below, level, level - (1.0 - share)) / share
        own = np.where(none, level, np.clip(own, _LEAST, 1.0 - _LEAST))
        return np.where(common, self.value_, self.quantile(own, mean, deviation))
