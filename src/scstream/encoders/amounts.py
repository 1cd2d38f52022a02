"""Amounts on the scale that suits them."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from scstream.core import Floats as Array
from scstream.encoders import rounding
from scstream.encoders.base import Encoder
from scstream.encoders.frame import column_frame
from scstream.encoders.scale import FAR, log_stretch, off_scale, on_scale
from scstream.encoders.skew import scales_of
from scstream.support import rowwise
from scstream.support.given import finite_vector, positive_vector


class ScaleEncoder(Encoder):
    """Columns of amounts on a scale on which they are closer to mixtures of normal distributions.

    Parameters
    ----------
    unit : float or array-like (d,), optional
        Of the scale ``unit * arcsinh(x / unit)``: amounts far below it go by their differences,
        those far above by their ratios. Default: below nearly all of the first amounts if they have
        one sign and the scale suits them better, otherwise a very large one.
    root : bool or array-like (d,), optional
        Whether those far above the unit go by their fourth roots instead, on the scale
        ``4 * unit * sinh(arcsinh(x / unit) / 4)``. Default: where these suit them better.

    Examples
    --------
    >>> ScaleEncoder(unit=1.0, root=False).fit([[1.0]]).transform([[0.0], [1e6]]).round(3).tolist()
    [[0.0], [14.509]]
    """

    learned: ClassVar[Mapping[str, str]] = {"unit_": "d+", "root_": "d", "step_": "d"}

    unit_: Array  # (d,)
    root_: NDArray[np.bool_]  # (d,)
    step_: Array  # (d,): the width of the cells of coarse columns, in the amounts' units

    def __init__(self, unit: ArrayLike | None = None, root: ArrayLike | None = None) -> None:
        self.unit = unit
        self.root = root

    def check_learned(self) -> None:
        """Set which columns go by roots."""
        self.root_ = self.root_ != 0.0

    def learn(self, X: Array, names: Sequence[str]) -> None:
        """Find the units, and which columns go by roots."""
        d = X.shape[1]
        self.step_ = np.zeros(d)
        if self.unit is None:
            self.unit_, self.root_ = scales_of([x[~np.isnan(x)] for x in X.T])
        else:
            self.unit_, self.root_ = positive_vector(self.unit, d, "unit"), np.zeros(d, dtype=bool)
        if self.root is not None:
            self.root_ = finite_vector(self.root, d, "root") != 0.0

    def encode(self, X: Array) -> Array:
        """Return the places of amounts (n, d) on the scale."""
        return on_scale(X, self.unit_, self.root_)

    def decode(self, codes: Array) -> Array:
        """Return the amounts at places (n, d)."""
        return off_scale(codes, self.unit_, self.root_)

    def log_jacobian(self, codes: Array) -> Array:
        """Return minus the log of how much longer the data are than the scale there (n,)."""
        stretch = log_stretch(codes, self.unit_, self.root_)
        return -rowwise.sums(np.where(np.isnan(stretch), 0.0, stretch))

    def quantile(self, level: Array | float, mean: Array, deviation: Array) -> Array:
        """Return a quantile of amounts (k, d) that are normal on the scale."""
        with np.errstate(over="ignore"):
            x = off_scale(mean + deviation * ndtri(level), self.unit_, self.root_)
        return np.asarray(np.clip(x, -FAR, FAR))

    # -- coarse columns -------------------------------------------------------------------------

    def with_cells(self, codes: Array) -> Self:
        """Return a copy that knows how coarse amounts are."""
        new, x = copy.copy(self), off_scale(codes, self.unit_, self.root_)
        new.step_ = rounding.steps(x, column_frame(x)[1])
        return new

    def is_coarse(self) -> bool:
        """Whether amounts of some column stand for cells."""
        return bool(self.step_.any())

    def spread(self, codes: Array, batch: int, first_row: int) -> Array:
        """Return encoded rows with coarse amounts at places within their cells."""
        if not self.is_coarse():
            return codes
        x = rounding.unrounded(
            off_scale(codes, self.unit_, self.root_), self.step_, batch, first_row
        )
        return np.where(self.step_ > 0.0, on_scale(x, self.unit_, self.root_), codes)
