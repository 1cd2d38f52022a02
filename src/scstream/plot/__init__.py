"""Pictures of clusters and of their paths through a stream (needs ``scstream[plot]``).

Colours belong to cluster ids: hand the same :class:`ClusterColors` to every call, and a cluster
keeps its colour from panel to panel as it keeps its id from batch to batch. Data of more than two
columns are seen through a :class:`Projection`, which is made once and reused.
"""

from scstream.plot.clusters import plot_clusters, plot_ellipses
from scstream.plot.colors import (
    OTHERS_COLOR,
    OUTLIER_COLOR,
    OUTLIER_LABEL,
    PALETTE,
    ClusterColors,
    require_matplotlib,
)
from scstream.plot.first_look import overview
from scstream.plot.groups import plot_groups, plot_tree
from scstream.plot.paths import plot_paths
from scstream.plot.projection import Projection
from scstream.plot.time import plot_n_clusters, plot_river, plot_scores

__all__ = [
    "OTHERS_COLOR",
    "OUTLIER_COLOR",
    "OUTLIER_LABEL",
    "PALETTE",
    "ClusterColors",
    "Projection",
    "overview",
    "plot_clusters",
    "plot_ellipses",
    "plot_groups",
    "plot_n_clusters",
    "plot_paths",
    "plot_river",
    "plot_scores",
    "plot_tree",
    "require_matplotlib",
]
