"""Clusters at one moment: points in their clusters' colours, and covariance ellipses."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scstream.plot._style import axes_or_new, label_axes, write_id
from scstream.plot.colors import ClusterColors
from scstream.plot.projection import Projection

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from scstream.model import ScStream

_RADIUS_95 = math.sqrt(-2.0 * math.log(0.05))  # of a 2-D Gaussian, in standard deviations


def plot_clusters(
    model: ScStream,
    X: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    features: tuple[int, int] = (0, 1),
    projection: Projection | None = None,
    colors: ClusterColors | None = None,
    annotate: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw points in the colours of their clusters, and each cluster's 95 % ellipse.

    A cluster that holds none of the points is dashed: it is remembered, not seen.

    Parameters
    ----------
    model : ScStream
        A fitted model with clusters that have a mean and a covariance.
    X : array-like of shape (n, d)
        The points, usually the last batch.
    labels : array-like of shape (n,), optional
        Their cluster ids; ``model.predict(X)`` if not given.
    features : (int, int)
        The two columns of ``X`` to draw, if there is no projection.
    projection : Projection, optional
        The view to draw in; it names the axes. Give every picture the same.
    colors : ClusterColors, optional
        Colours to use, extended by ids not seen before.
    annotate : bool
        Write each cluster's id next to it.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new picture by default.
    """
    colors = ClusterColors() if colors is None else colors
    points = two_columns(X, features, projection)
    ids = np.asarray(model.predict(X) if labels is None else labels).astype(int)
    if len(ids) != len(points):
        raise ValueError(f"{len(ids)} labels for {len(points)} points: give one label per point")
    records = sorted(model.clusters_, key=lambda record: record.id)
    for record in records:
        _ = colors[record.id]  # in order of id, whatever the order of the points
    means, covariances = two_moments(records, features, projection)
    ax = axes_or_new(ax)
    hues, present = [colors[i] for i in ids], set(ids.tolist())
    ax.scatter(points[:, 0], points[:, 1], s=5, c=hues, alpha=0.55, linewidths=0)
    plot_ellipses(means, covariances, present=present, colors=colors, annotate=annotate, ax=ax)
    label_axes(ax, projection)
    return ax


def plot_ellipses(
    means: Mapping[int, ArrayLike],
    covariances: Mapping[int, ArrayLike],
    *,
    present: Collection[int] | None = None,
    colors: ClusterColors | None = None,
    annotate: bool | Collection[int] = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw the 95 % ellipse of each cluster, without points.

    Parameters
    ----------
    means : mapping of int to array-like of shape (2,)
        Where each cluster is, by its id.
    covariances : mapping of int to array-like of shape (2, 2)
        How far each spreads. A cluster that is missing here is a dot.
    present : collection of int, optional
        Ids of the clusters that hold points; the others are dashed. All of them if not given.
    annotate : bool or collection of int
        Write each cluster's id next to it, or the ids named here.
    colors, ax
        As in :func:`plot_clusters`.
    """
    ax = axes_or_new(ax)
    colors = ClusterColors() if colors is None else colors
    for cluster_id, where in means.items():
        mean = np.asarray(where, dtype=float)
        top = mean
        if cluster_id in covariances:
            cov = np.asarray(covariances[cluster_id], dtype=float)
            seen = present is None or cluster_id in present
            _draw_ellipse(ax, mean, cov, colors[cluster_id], dashed=not seen)
            top = mean + np.array([0.0, _RADIUS_95 * math.sqrt(max(cov[1, 1], 0.0))])
        else:
            ax.scatter(mean[0], mean[1], s=34, c=colors[cluster_id])
        if annotate is True or (annotate is not False and cluster_id in annotate):
            write_id(ax, top, cluster_id)
    ax.autoscale_view()
    return ax


def _draw_ellipse(
    ax: Axes, mean: NDArray[np.float64], cov: NDArray[np.float64], color: str, *, dashed: bool
) -> None:
    """Draw the ellipse that holds 95 % of a Gaussian."""
    from matplotlib.patches import Ellipse

    variances, vectors = np.linalg.eigh(cov)
    width, height = (2.0 * _RADIUS_95 * np.sqrt(np.maximum(variances, 0.0))).tolist()
    angle = math.degrees(math.atan2(vectors[1, 0], vectors[0, 0]))
    look: dict[str, Any] = {"facecolor": "none", "edgecolor": color}
    look |= {"linewidth": 0.9, "linestyle": "--"} if dashed else {"linewidth": 1.4}
    ax.add_patch(Ellipse((mean[0], mean[1]), width, height, angle=angle, **look))


def two_columns(
    X: ArrayLike, features: tuple[int, int], projection: Projection | None
) -> NDArray[np.float64]:
    """Return the two coordinates to draw, shape (n, 2)."""
    points = np.asarray(X, dtype=float)
    if projection is not None:
        return projection(points)
    if points.ndim != 2 or points.shape[1] <= max(features) or min(features) < 0:
        raise ValueError(
            f"cannot draw features {features} of an array of shape {points.shape}: "
            "give points as rows, and two columns that exist"
        )
    return points[:, list(features)]


def two_moments(
    records: Sequence[Any], features: tuple[int, int], projection: Projection | None
) -> tuple[dict[int, NDArray[np.float64]], dict[int, NDArray[np.float64]]]:
    """Return clusters' means (2,) and covariances (2, 2) as they are drawn, by id."""
    means, covariances, columns = {}, {}, list(features)
    for record in records:
        covariance = getattr(record, "covariance", None)
        if covariance is None and getattr(record, "variance", None) is not None:
            covariance = np.diag(record.variance)  # of independent columns
        if getattr(record, "mean", None) is None or covariance is None:
            raise ValueError(
                f"cluster {record.id} has no mean and covariance to draw: "
                "pictures of clusters are for families on real-valued data, such as 'gaussian'"
            )
        mean, cov = np.asarray(record.mean, dtype=float), np.asarray(covariance, dtype=float)
        if projection is not None:
            mean, cov = projection(mean[None])[0], projection.covariances(cov[None])[0]
        else:
            mean, cov = mean[columns], cov[np.ix_(columns, columns)]
        means[record.id], covariances[record.id] = mean, cov
    return means, covariances
