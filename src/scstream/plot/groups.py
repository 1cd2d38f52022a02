"""Groups of clusters: one colour a group, the outlines of its members, and the tree above."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from scstream.plot._style import axes_or_new, label_axes, write_id
from scstream.plot.clusters import plot_ellipses, two_columns, two_moments
from scstream.plot.colors import ClusterColors
from scstream.plot.projection import Projection

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from scstream.model import ScStream


def plot_groups(
    model: ScStream,
    X: ArrayLike,
    *,
    level: float | None = None,
    features: tuple[int, int] = (0, 1),
    projection: Projection | None = None,
    colors: ClusterColors | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw points in the colours of their groups, and the 95 % ellipses of the groups' clusters.

    Parameters
    ----------
    model : ScStream
        A fitted model with clusters that have a mean and a covariance.
    level : float, optional
        The level of the groups; the model's default if not given.
    X, features, projection, colors, ax
        As in :func:`plot_clusters`; colours are by group id.
    """
    colors = ClusterColors() if colors is None else colors
    points = two_columns(X, features, projection)
    groups = model.groups(level)
    own = {i: colors[group.id] for group in groups for i in group.members}
    shades = [colors[i] for i in np.asarray(model.predict_group(X, level)).tolist()]
    records = model.clusters_
    means, covariances = two_moments(records, features, projection)
    ax = axes_or_new(ax)
    ax.scatter(points[:, 0], points[:, 1], s=5, c=shades, alpha=0.55, linewidths=0)
    plot_ellipses(means, covariances, colors=ClusterColors(own), annotate=False, ax=ax)
    weight = {record.id: record.weight for record in records}
    for group in groups:
        write_id(ax, means[max(group.members, key=weight.__getitem__)], group.id)
    label_axes(ax, projection)
    return ax


def plot_tree(model: ScStream, *, ax: Axes | None = None) -> Axes:
    """Draw the tree above the clusters of a model, and the level of its groups as a line.

    The model needs at least two clusters.
    """
    tree = model.tree_
    if len(tree.ids) < 2:
        raise ValueError("There is no tree to draw: the model has a single cluster.")
    from scipy.cluster.hierarchy import dendrogram

    ax = axes_or_new(ax)
    names = [str(i) for i in tree.ids.tolist()]
    grey = {"color_threshold": 0.0, "above_threshold_color": "#555555"}
    dendrogram(tree.linkage, ax=ax, labels=names, **grey)
    ax.axhline(tree.level, color="#CC6677", linewidth=1.0, linestyle="--")
    ax.set_ylabel("depth of the valley")
    ax.set_xlabel("cluster")
    return ax
