"""A flat view of many columns that stays the same from batch to batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

_WITHIN = 1e-3  # of the scatter within clusters: settles the axes where means leave them open
_NAMED = 3  # columns that an axis is named after, at most
_NAMED_SHARE = 0.3  # of the largest loading: less is not worth a name


@dataclass(frozen=True)
class Projection:
    """Two axes in the space of the columns, chosen once and reused.

    Pictures drawn through the same projection can be compared: what moves in them has moved.

    Attributes
    ----------
    center : ndarray (d,)
        The point that is drawn at the origin.
    axes : ndarray (d, 2)
        What a unit of each column adds to the two coordinates.
    labels : tuple of str
        What to write on the two axes.
    unit : ndarray (d,)
        Columns with a unit are drawn as ``arcsinh(x / unit)``: by their logarithms, but for
        values near 0. NaN for the others.

    Examples
    --------
    >>> view = Projection.onto_columns(3, (2, 0), names=["a", "b", "c"])
    >>> view.labels
    ('c', 'a')
    >>> view([[1.0, 2.0, 3.0]]).tolist()
    [[3.0, 1.0]]
    >>> Projection.from_dict(view.to_dict()) == view
    True
    """

    center: NDArray[np.float64]
    axes: NDArray[np.float64]
    labels: tuple[str, str]
    unit: NDArray[np.float64]

    # -- making one -----------------------------------------------------------------------------

    @classmethod
    def onto_columns(
        cls, n_columns: int, features: tuple[int, int] = (0, 1), names: Sequence[Any] | None = None
    ) -> Self:
        """Return the view of two columns as they are."""
        if not all(0 <= j < n_columns for j in features):
            raise ValueError(f"there are {n_columns} columns: cannot draw columns {features}")
        axes = np.zeros((n_columns, 2))
        axes[list(features), [0, 1]] = 1.0
        titles = _titles(names, n_columns)
        labels = titles[features[0]], titles[features[1]]
        return cls(np.zeros(n_columns), axes, labels, np.full(n_columns, np.nan))

    @classmethod
    def between(
        cls,
        means: ArrayLike,
        variances: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        names: Sequence[Any] | None = None,
        unit: ArrayLike | None = None,
    ) -> Self:
        """Return the view in which some clusters lie furthest apart.

        The axes are the principal ones between the means, in units of the deviation within a
        cluster, so that the columns' own units do not matter. Two columns stay as they are.

        Parameters
        ----------
        means : array-like (k, d)
        variances : array-like (k, d), optional
            Of the columns within each cluster. Without them, the means' own variance is the unit.
        weights : array-like (k,), optional
            Of the clusters; equal by default.
        names : sequence of d names, optional
            Of the columns.
        unit : array-like (d,), optional
            Of the columns that are drawn by their logarithms, NaN for the others. Their variances
            are those as they are drawn.
        """
        at = np.asarray(means, dtype=float)
        if at.ndim != 2 or not len(at) or not at.shape[1]:
            raise ValueError(f"means must be rows of a table with columns; its shape is {at.shape}")
        k, d = at.shape
        units = np.full(d, np.nan) if unit is None else np.asarray(unit, dtype=float)
        if d == 2:
            return replace(cls.onto_columns(2, names=names), unit=units)
        at = bend(at, units)
        share = np.full(k, 1.0 / k) if weights is None else np.asarray(weights, dtype=float)
        share = share / share.sum()
        center = share @ at
        off = at - center
        spread = share @ off**2
        within = spread if variances is None else share @ np.asarray(variances, dtype=float)
        scale = np.sqrt(np.where(within > 0, within, np.where(spread > 0, spread, 1.0)))
        if d == 1:
            return cls(center, np.array([[1.0, 0.0]]), (_titles(names, 1)[0], ""), units)
        scatter = (off / scale).T @ (share[:, None] * (off / scale)) + _WITHIN * np.eye(d)
        vectors = np.linalg.eigh(scatter)[1][:, :-3:-1]
        # An eigenvector has no sign of its own: make the largest entry positive.
        vectors = vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), [0, 1]])
        titles = _titles(names, d)
        labels = (_name(1, vectors[:, 0], titles), _name(2, vectors[:, 1], titles))
        return cls(center, vectors / scale[:, None], labels, units)

    @classmethod
    def from_model(cls, model: Any) -> Self:
        """Return the view in which the clusters of a fitted model lie furthest apart.

        Make it after the first batch and use it from then on.
        """
        from scstream.chronicle.locations import family_order, locations  # which draws, too

        records = model.clusters_
        names, means, spreads = locations(records, family_order(model))
        if means is None:
            raise ValueError("the clusters have no means to project: their columns hold words")
        variances = None if spreads is None else spreads.variances
        return cls.between(means, variances, [record.weight for record in records], names)

    # -- using it -------------------------------------------------------------------------------

    @property
    def n_columns(self) -> int:
        """The number of columns d that it is a view of."""
        return len(self.center)

    def __call__(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return where points (n, d) are drawn: (n, 2)."""
        points = np.asarray(X, dtype=float)
        if points.ndim != 2 or points.shape[1] != self.n_columns:
            raise ValueError(
                f"this projection is of {self.n_columns} columns; the array has shape "
                f"{points.shape}: give points as rows of that many columns"
            )
        return np.asarray((bend(points, self.unit) - self.center) @ self.axes)

    def covariances(self, covs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the covariances (k, 2, 2) of the coordinates, from k of the columns (k, d, d)."""
        return self.axes.T @ covs @ self.axes

    def variances(self, variances: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the same where the columns are independent, from their variances (k, d)."""
        return self.axes.T * variances[:, None] @ self.axes

    # -- keeping it -----------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return plain numbers and text, fit for JSON."""
        unit = [None if np.isnan(one) else one for one in self.unit.tolist()]
        axes, labels = self.axes.tolist(), list(self.labels)
        return {"center": self.center.tolist(), "axes": axes, "labels": labels, "unit": unit}

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Self:
        """Return the projection that `to_dict` made plain."""
        try:
            center = np.array(saved["center"], dtype=float)
            axes, unit = (np.array(saved[key], dtype=float) for key in ("axes", "unit"))
            first, second = (str(label) for label in saved["labels"])
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"this is not a saved projection: {error}") from error
        if center.ndim != 1 or axes.shape != (len(center), 2) or unit.shape != center.shape:
            shapes = f"{center.shape}, {axes.shape} and {unit.shape}"
            raise ValueError(f"a saved projection has center, axes and units of shapes {shapes}")
        return cls(center, axes, (first, second), unit)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Projection) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]  # it holds arrays


def bend(x: ArrayLike, unit: ArrayLike) -> NDArray[np.float64]:
    """Return values as they are drawn: by their logarithms in columns that have a unit."""
    return np.where(np.isnan(unit), x, np.arcsinh(np.asarray(x) / unit))


def _titles(names: Sequence[Any] | None, n_columns: int) -> list[str]:
    """Return what to call the columns."""
    if names is None:
        return [f"column {j}" for j in range(n_columns)]
    if len(names) != n_columns:
        raise ValueError(f"{len(names)} names for {n_columns} columns")
    return [name if isinstance(name, str) else f"column {name}" for name in names]


def _name(number: int, vector: NDArray[np.float64], titles: list[str]) -> str:
    """Return the name of an axis: the columns that weigh most in it, a minus where they fall.

    Examples
    --------
    >>> _name(1, np.array([0.9, 0.1, -0.5]), ["heat", "rain", "wind"])
    'axis 1: heat, -wind'
    """
    order = np.argsort(-np.abs(vector), kind="stable")[:_NAMED]
    large = [j for j in order if abs(vector[j]) >= _NAMED_SHARE * abs(vector[order[0]])]
    return f"axis {number}: " + ", ".join(("-" if vector[j] < 0 else "") + titles[j] for j in large)
