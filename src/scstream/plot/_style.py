"""What all pictures share: ids that can be read on any ground, and the names of axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from scstream.plot.colors import require_matplotlib
from scstream.plot.projection import Projection

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def axes_or_new(ax: Axes | None) -> Axes:
    """Return the axes that were given, or those of a new picture that ``plt.show()`` shows."""
    require_matplotlib()
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1]


def write_id(
    ax: Axes,
    where: NDArray[np.float64],
    cluster_id: int,
    offset: tuple[float, float] = (0.0, 1.0),
    *,
    centred: bool = False,
) -> None:
    """Write a cluster's id at a point, with a halo that keeps it readable on the data.

    Ink and halo are matplotlib's colours of text and of the axes' ground.
    """
    import matplotlib as mpl
    from matplotlib.patheffects import withStroke

    font = {"fontsize": 8, "fontweight": "bold", "color": mpl.rcParams["text.color"]}
    ax.annotate(
        str(cluster_id),
        (float(where[0]), float(where[1])),
        xytext=offset,
        textcoords="offset points",
        ha="left" if offset[0] > 0.0 else "center",
        va="center" if centred else "bottom",
        path_effects=[withStroke(linewidth=2.5, foreground=mpl.rcParams["axes.facecolor"])],
        annotation_clip=True,
        zorder=5,
        **font,
    )


def label_axes(ax: Axes, projection: Projection | None) -> None:
    """Write the projection's names on the axes, unless the caller has written others."""
    if projection is not None:
        x, y = projection.labels
        ax.set(xlabel=ax.get_xlabel() or x, ylabel=ax.get_ylabel() or y)
