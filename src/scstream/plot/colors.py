"""Colours that belong to cluster ids, and the check that matplotlib is installed."""

from __future__ import annotations

from collections.abc import Iterable

from scstream.support.extras import need_package

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

    @classmethod
    def of_few(cls, important: Iterable[int], others: Iterable[int] = ()) -> ClusterColors:
        """Return colours of their own for the important ids, and one grey for all others.

        Parameters
        ----------
        important : iterable of int
            Ids, the most important first. Those beyond the palette's length are grey.
        others : iterable of int
            Ids that are grey.

        Examples
        --------
        >>> colors = ClusterColors.of_few([5, 2], others=[5, 7])
        >>> colors[5] == PALETTE[0], colors[2] == PALETTE[1], colors[7] == OTHERS_COLOR
        (True, True, True)
        """
        ids = list(dict.fromkeys(int(i) for i in important if i != OUTLIER_LABEL))
        colors = cls(zip(ids, PALETTE, strict=False))
        for cluster_id in [*ids, *others]:
            colors.setdefault(int(cluster_id), OTHERS_COLOR)
        return colors

    def __missing__(self, cluster_id: int) -> str:
        """Give the next colour to an id seen for the first time."""
        if cluster_id == OUTLIER_LABEL:
            return OUTLIER_COLOR
        color = PALETTE[len(self) % len(PALETTE)]
        self[cluster_id] = color
        return color


def require_matplotlib() -> None:
    """Raise an ``ImportError`` that names the extra if matplotlib is not installed."""
    need_package("matplotlib", "plot", "drawing needs matplotlib")
