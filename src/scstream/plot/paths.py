"""Where the clusters went: the path of each one's mean."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scstream.plot._style import axes_or_new, label_axes, write_id
from scstream.plot.clusters import two_columns
from scstream.plot.colors import ClusterColors
from scstream.plot.projection import Projection

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_paths(
    paths: Mapping[int, Sequence[ArrayLike] | NDArray[np.float64]],
    *,
    alive: Collection[int] | None = None,
    features: tuple[int, int] = (0, 1),
    projection: Projection | None = None,
    colors: ClusterColors | None = None,
    annotate: bool | Collection[int] = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw the path of each cluster's mean, faint where it is old.

    A path starts with a ring and ends with a disc, or with a cross if the cluster is gone.

    Parameters
    ----------
    paths : mapping of int to sequence of array-likes of shape (d,)
        The means of each cluster, oldest first, such as `Chronicle.paths`.
    alive : collection of int, optional
        Ids of the clusters that still exist; all of them if not given.
    features, projection, colors, ax
        As in :func:`plot_clusters`.
    annotate : bool or collection of int
        Write the id at the end of each path that continues, or the ids named here.
    """
    colors = ClusterColors() if colors is None else colors
    ways = {
        i: two_columns(np.asarray(means, dtype=float), features, projection)
        for i, means in paths.items()
    }
    ax = axes_or_new(ax)
    for cluster_id, way in ways.items():
        gone = alive is not None and cluster_id not in alive
        _draw_trail(ax, way, colors[cluster_id], end="x" if gone else "o")
        named = annotate is True or (annotate is not False and cluster_id in annotate)
        if named and not gone:
            write_id(ax, way[-1], cluster_id, offset=(5.0, 4.0))
    label_axes(ax, projection)
    ax.autoscale_view()
    return ax


def _draw_trail(ax: Axes, way: NDArray[np.float64], color: str, end: str) -> None:
    """Draw one path (n, 2), growing in strength from a ring to its end marker."""
    import matplotlib as mpl
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgba

    strokes = np.stack([way[:-1], way[1:]], axis=1)
    strength = np.linspace(0.0, 1.0, len(strokes))
    shades = np.tile(to_rgba(color), (len(strokes), 1))
    shades[:, 3] = 0.2 + 0.8 * strength
    widths = 1.0 + 2.5 * strength
    ax.add_collection(
        LineCollection(list(strokes), colors=shades, linewidths=widths, capstyle="round")
    )
    ground = mpl.rcParams["axes.facecolor"]
    ax.scatter(way[0, 0], way[0, 1], s=22, facecolors=ground, edgecolors=color, zorder=3)
    ax.scatter(way[-1, 0], way[-1, 1], s=34, c=color, marker=end, zorder=4)
