"""Colours that belong to cluster ids, and the check that matplotlib is installed."""

from __future__ import annotations

from scstream.support.extras import need_package

# Paul Tol's muted set, which stays apart under the common kinds of colour blindness, then three of
# his vibrant one; neighbours contrast. The id written on each cluster tells repeats apart.
PALETTE = (
    "#332288", "#CC6677", "#117733", "#88CCEE", "#882255", "#DDCC77",
    "#44AA99", "#AA4499", "#999933", "#0077BB", "#EE7733", "#555555",
)  # fmt: skip
OUTLIER_COLOR = "#BBBBBB"
OUTLIER_LABEL = -1
OTHERS_COLOR = "#C8C8C8"  # of clusters too many to tell apart


class ClusterColors(dict[int, str]):
    """Colours by cluster id, assigned in order of appearance and never changed.

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
        return self.setdefault(cluster_id, PALETTE[len(self) % len(PALETTE)])


def require_matplotlib() -> None:
    """Raise an ``ImportError`` that names the extra if matplotlib is not installed."""
    need_package("matplotlib", "plot", "drawing needs matplotlib")
