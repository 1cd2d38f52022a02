"""Pictures of clusters and of their paths through a stream (needs ``scstream[plot]``).

Colours belong to cluster ids: hand the same :class:`ClusterColors` to every call, and a cluster
keeps its colour from panel to panel as it keeps its id from batch to batch.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from scstream.model import ScStream

__all__ = ["ClusterColors", "extend_paths", "plot_clusters", "plot_paths", "require_matplotlib"]

# Paul Tol's muted set, which stays apart under the common kinds of colour blindness, then three of
# his vibrant one; neighbours contrast. The id written on each cluster tells repeats apart.
PALETTE = (
    "#332288",
    "#CC6677",
    "#117733",
    "#88CCEE",
    "#882255",
    "#DDCC77",
    "#44AA99",
    "#AA4499",
    "#999933",
    "#0077BB",
    "#EE7733",
    "#555555",
)
OUTLIER_COLOR = "#BBBBBB"
OUTLIER_LABEL = -1

_RADIUS_95 = math.sqrt(-2.0 * math.log(0.05))  # of a 2-D Gaussian, in standard deviations


class ClusterColors(dict[int, str]):
    """Colours by cluster id, given out in order of first sight and kept from then on.

    Examples
    --------
    >>> colors = ClusterColors()
    >>> first = colors[17]
    >>> colors[4] == first
    False
    >>> colors[17] == first
    True
    """

    def __missing__(self, cluster_id: int) -> str:
        """Give the next colour to an id seen for the first time."""
        if cluster_id == OUTLIER_LABEL:
            return OUTLIER_COLOR
        color = PALETTE[len(self) % len(PALETTE)]
        self[cluster_id] = color
        return color


def require_matplotlib() -> None:
    """Raise an ``ImportError`` that names the extra if matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401 - only asked whether it is there
    except ImportError as error:
        raise ImportError(
            "drawing needs matplotlib, which is not installed: pip install 'scstream[plot]'"
        ) from error


def plot_clusters(
    ax: Axes,
    model: ScStream,
    X: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    features: tuple[int, int] = (0, 1),
    colors: ClusterColors | None = None,
    annotate: bool = True,
) -> ClusterColors:
    """Draw points in the colours of their clusters, and each cluster's 95 % ellipse.

    A cluster that holds none of the points is dashed: it is remembered, not seen.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    model : ScStream
        A fitted model with clusters that have a mean and a covariance.
    X : array-like of shape (n, d)
        The points, usually the last batch.
    labels : array-like of shape (n,), optional
        Their cluster ids; ``model.predict(X)`` if not given.
    features : (int, int)
        The two columns of ``X`` to draw.
    colors : ClusterColors, optional
        Colours to keep to, extended by ids not seen before.
    annotate : bool
        Write each cluster's id beside it.

    Returns
    -------
    ClusterColors
        The colours used, to be given to the next call.
    """
    require_matplotlib()
    from matplotlib.patches import Ellipse

    colors = ClusterColors() if colors is None else colors
    points = _two_columns(X, features)
    ids = np.asarray(model.predict(X) if labels is None else labels).astype(int)
    if len(ids) != len(points):
        raise ValueError(f"{len(ids)} labels for {len(points)} points: give one label per point")
    records = sorted(model.clusters_, key=lambda record: record.id)
    for record in records:
        _ = colors[record.id]  # in order of id, whatever the order of the points

    ax.scatter(
        points[:, 0], points[:, 1], s=5, c=[colors[i] for i in ids], alpha=0.55, linewidths=0
    )
    present = set(ids.tolist())
    for record in records:
        mean, cov = _two_moments(record, features)
        width, height, angle = _ellipse_axes(cov)
        seen = record.id in present
        ax.add_patch(
            Ellipse(
                (mean[0], mean[1]),
                width,
                height,
                angle=angle,
                facecolor="none",
                edgecolor=colors[record.id],
                linewidth=1.4 if seen else 0.9,
                linestyle="-" if seen else "--",
            )
        )
        if annotate:
            top = mean + np.array([0.0, _RADIUS_95 * math.sqrt(cov[1, 1])])
            _write_id(ax, top, record.id)
    return colors


def extend_paths(paths: MutableMapping[int, list[NDArray[np.float64]]], model: ScStream) -> None:
    """Add the present mean of every cluster to ``paths``; call it after each ``partial_fit``.

    Parameters
    ----------
    paths : mutable mapping of int to list of arrays of shape (d,)
        The means so far by cluster id; start with an empty ``dict``.
    model : ScStream
        A fitted model.
    """
    for record in model.clusters_:
        paths.setdefault(record.id, []).append(np.array(record.mean, dtype=float))


def plot_paths(
    ax: Axes,
    paths: Mapping[int, Sequence[ArrayLike]],
    *,
    alive: Collection[int] | None = None,
    features: tuple[int, int] = (0, 1),
    colors: ClusterColors | None = None,
    annotate: bool = True,
) -> ClusterColors:
    """Draw the path of each cluster's mean, faint where it is old.

    A path starts with a ring and ends with a disc, or with a cross if the cluster has gone.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    paths : mapping of int to sequence of array-likes of shape (d,)
        The means of each cluster, oldest first (see :func:`extend_paths`).
    alive : collection of int, optional
        Ids of the clusters that still exist; all of them if not given.
    features, colors, annotate
        As in :func:`plot_clusters`.

    Returns
    -------
    ClusterColors
        The colours used, to be given to the next call.
    """
    require_matplotlib()
    colors = ClusterColors() if colors is None else colors
    for cluster_id, means in paths.items():
        way = _two_columns(np.asarray(means, dtype=float), features)
        gone = alive is not None and cluster_id not in alive
        _draw_trail(ax, way, colors[cluster_id], end="x" if gone else "o")
        if annotate and not gone:
            _write_id(ax, way[-1], cluster_id, offset=(5.0, 4.0))
    ax.autoscale_view()
    return colors


def _draw_trail(ax: Axes, way: NDArray[np.float64], color: str, end: str) -> None:
    """Draw one path (n, 2), growing in strength from a ring to its end marker."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgba

    strokes = np.stack([way[:-1], way[1:]], axis=1)
    strength = np.linspace(0.0, 1.0, len(strokes))
    shades = np.tile(to_rgba(color), (len(strokes), 1))
    shades[:, 3] = 0.2 + 0.8 * strength
    ax.add_collection(
        LineCollection(
            list(strokes), colors=shades, linewidths=1.0 + 2.5 * strength, capstyle="round"
        )
    )
    first, last = way[0], way[-1]
    ax.scatter(first[0], first[1], s=22, facecolors="white", edgecolors=color, zorder=3)
    ax.scatter(last[0], last[1], s=34, c=color, marker=end, zorder=4)


def _two_columns(X: ArrayLike, features: tuple[int, int]) -> NDArray[np.float64]:
    """Return the two columns to draw, shape (n, 2)."""
    points = np.asarray(X, dtype=float)
    if points.ndim != 2 or points.shape[1] <= max(features) or min(features) < 0:
        raise ValueError(
            f"cannot draw features {features} of an array of shape {points.shape}: "
            "give points as rows, and two columns that exist"
        )
    return points[:, list(features)]


def _two_moments(
    record: Any, features: tuple[int, int]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a cluster's mean (2,) and covariance (2, 2) in the two columns to draw."""
    covariance = getattr(record, "covariance", None)
    if covariance is None and getattr(record, "variance", None) is not None:
        covariance = np.diag(record.variance)  # of independent columns
    if getattr(record, "mean", None) is None or covariance is None:
        raise ValueError(
            f"cluster {record.id} has no mean and covariance to draw: "
            "pictures of clusters are for families on real-valued data, such as 'gaussian'"
        )
    columns = list(features)
    mean = np.asarray(record.mean, dtype=float)[columns]
    cov = np.asarray(covariance, dtype=float)[np.ix_(columns, columns)]
    return mean, cov


def _ellipse_axes(cov: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return width, height and angle in degrees of the ellipse that holds 95 % of a Gaussian.

    Examples
    --------
    >>> width, height, angle = _ellipse_axes(np.diag([1.0, 4.0]))
    >>> round(width, 3), round(height, 3), round(angle) % 180
    (4.895, 9.791, 0)
    """
    variances, vectors = np.linalg.eigh(cov)
    lengths = 2.0 * _RADIUS_95 * np.sqrt(np.maximum(variances, 0.0))
    angle = math.degrees(math.atan2(vectors[1, 0], vectors[0, 0]))
    return float(lengths[0]), float(lengths[1]), angle


def _write_id(
    ax: Axes,
    where: NDArray[np.float64],
    cluster_id: int,
    offset: tuple[float, float] = (0.0, 1.0),
) -> None:
    """Write a cluster's id above a point, with a white halo that keeps it readable on the data."""
    from matplotlib.patheffects import withStroke

    ax.annotate(
        str(cluster_id),
        (float(where[0]), float(where[1])),
        xytext=offset,
        textcoords="offset points",
        ha="left" if offset[0] > 0.0 else "center",
        va="bottom",
        fontsize=8,
        fontweight="bold",
        color="#222222",
        path_effects=[withStroke(linewidth=2.5, foreground="white")],
        annotation_clip=True,
        zorder=5,
    )
