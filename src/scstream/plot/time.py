"""What changed over time: the river of weights, the number of clusters, the scores."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scstream.plot._style import axes_or_new, write_id
from scstream.plot.colors import OTHERS_COLOR, PALETTE, ClusterColors

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# A legend above the picture covers nothing of it.
_ABOVE: dict[str, Any] = {
    "loc": "lower left",
    "bbox_to_anchor": (0.0, 1.0),
    "ncols": 4,
    "fontsize": 8,
    "frameon": False,
}
_READABLE = 0.035  # share of the river's height that a band needs for its id


def most_important(weights: Sequence[Mapping[int, float]], top: int) -> list[int]:
    """Return the ids with the largest weight over all time, the largest first.

    Examples
    --------
    >>> most_important([{1: 0.9, 2: 0.1}, {1: 0.2, 2: 0.1, 3: 0.7}], top=2)
    [1, 3]
    """
    total: dict[int, float] = {}
    for at_once in weights:
        for cluster_id, weight in at_once.items():
            total[cluster_id] = total.get(cluster_id, 0.0) + weight
    return sorted(total, key=lambda i: (-total[i], i))[:top]


def plot_river(
    times: ArrayLike,
    weights: Sequence[Mapping[int, float]],
    *,
    top: int = len(PALETTE),
    colors: ClusterColors | None = None,
    annotate: bool = True,
    labels: tuple[str, str] = ("time", "share of the stream"),
    ax: Axes | None = None,
) -> Axes:
    """Draw the clusters' weights over time, stacked: a river whose arms come and go.

    Parameters
    ----------
    times : array-like of shape (n,)
        The times, increasing.
    weights : sequence of n mappings of int to float
        The weight of each cluster at each time, by its id; a cluster that is missing has none.
    top : int
        How many clusters get an arm of their own; the rest flow together, in grey, on top.
    colors : ClusterColors, optional
        Colours to use, extended by ids not seen before.
    annotate : bool
        Write each cluster's id where its arm is widest.
    labels : (str, str)
        What to write on the two axes.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new picture by default.

    Returns
    -------
    matplotlib.axes.Axes
        Where it was drawn.
    """
    when = _times(times, len(weights))
    ax = axes_or_new(ax)
    if colors is None:
        colors = ClusterColors()
    shown = _by_first_sight(weights, most_important(weights, top))
    for cluster_id in shown:
        _ = colors[cluster_id]  # in order of first sight
    bands = np.array([[w.get(i, 0.0) for w in weights] for i in shown]).reshape(len(shown), -1)
    total = np.array([sum(w.values()) for w in weights])
    rest = np.maximum(total - bands.sum(axis=0), 0.0)
    whole = np.where(total > 0, total, 1.0)
    bands, rest = bands / whole, rest / whole
    paint = [colors[i] for i in shown]
    if rest.max() > 1e-9:
        bands, paint = np.vstack([bands, rest]), [*paint, OTHERS_COLOR]
    ax.stackplot(when, bands, colors=paint, linewidth=0.4, edgecolor=_ground())
    if annotate:
        _name_bands(ax, when, bands, shown)
    if len(bands) > len(shown):
        ax.legend([ax.collections[-1]], ["all others"], **_ABOVE)
    _frame(ax, when, labels)
    ax.set_ylim(0.0, 1.0)
    return ax


def plot_n_clusters(
    times: ArrayLike,
    counts: ArrayLike,
    *,
    labels: tuple[str, str] = ("time", "clusters"),
    ax: Axes | None = None,
) -> Axes:
    """Draw the number of clusters over time, as steps.

    Parameters
    ----------
    times : array-like of shape (n,)
        The times, increasing.
    counts : array-like of shape (n,)
        The number of clusters at each.
    labels : (str, str)
        What to write on the two axes.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new picture by default.

    Returns
    -------
    matplotlib.axes.Axes
        Where it was drawn.
    """
    k = np.asarray(counts)
    when = _times(times, len(k))
    ax = axes_or_new(ax)
    from matplotlib.ticker import MaxNLocator

    ax.step(when, k, where="post", color=PALETTE[9], linewidth=1.6)
    ax.set_ylim(0.0, max(1.0, 1.12 * float(k.max())))
    ax.yaxis.set_major_locator(MaxNLocator(nbins=4, integer=True))
    _frame(ax, when, labels)
    return ax


def plot_scores(
    times: ArrayLike,
    quantiles: Mapping[float, ArrayLike],
    *,
    labels: tuple[str, str] = ("time", "score (log density)"),
    ax: Axes | None = None,
) -> Axes:
    """Draw the scores over time: their middle, and bands between their quantiles.

    Parameters
    ----------
    times : array-like of shape (n,)
        The times, increasing.
    quantiles : mapping of float to array-like of shape (n,)
        For each share of the rows, such as 0.05, 0.5 and 0.95, the score that it lies below.
        A pair of shares that add up to 1 is a band, 0.5 is a line, and one alone is dotted.
        Times without scores hold NaN.
    labels : (str, str)
        What to write on the two axes.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new picture by default.

    Returns
    -------
    matplotlib.axes.Axes
        Where it was drawn.
    """
    lines = {float(q): np.asarray(v, dtype=float) for q, v in quantiles.items()}
    if not lines:
        raise ValueError("there are no quantiles to draw: give at least the one of 0.5")
    when = _times(times, *(len(line) for line in lines.values()))
    ax = axes_or_new(ax)
    shares = sorted(lines)
    # Decimal shares such as 0.05 and 0.95 add up to 1 only nearly.
    pairs = [(q, p) for q in shares for p in shares if q < p and abs(q + p - 1.0) < 1e-9]
    for depth, (low, high) in enumerate(pairs):
        ax.fill_between(
            when,
            lines[low],
            lines[high],
            color=PALETTE[9],
            alpha=0.18 + 0.17 * depth,
            linewidth=0,
            label=f"{_percent(high - low)} of the rows",
        )
    paired = {q for pair in pairs for q in pair}
    for share in shares:
        if share == 0.5:
            ax.plot(when, lines[share], color=PALETTE[9], linewidth=1.6, label="half of the rows")
        elif share not in paired:
            name = "the lowest" if share == 0.0 else f"{_percent(share)} lie below"
            ax.plot(when, lines[share], ":", color=PALETTE[10], linewidth=1.3, label=name)
    ax.legend(**_ABOVE)
    _frame(ax, when, labels)
    return ax


def _by_first_sight(weights: Sequence[Mapping[int, float]], ids: Collection[int]) -> list[int]:
    """Return the ids in the order in which they first had a weight."""
    seen: dict[int, None] = {}
    for at_once in weights:
        for cluster_id in sorted(set(at_once) & set(ids)):
            seen.setdefault(cluster_id)
    return list(seen)


def _name_bands(
    ax: Axes, when: NDArray[np.float64], bands: NDArray[np.float64], ids: Sequence[int]
) -> None:
    """Write each id where its band is widest, away from the edges, if it is wide enough."""
    upper = np.cumsum(bands, axis=0)
    margin = min(len(when) // 25 + 1, (len(when) - 1) // 2)
    inner = slice(margin, len(when) - margin)
    for row, cluster_id in enumerate(ids):
        at = margin + int(bands[row, inner].argmax())
        if bands[row, at] >= _READABLE:
            middle = upper[row, at] - bands[row, at] / 2
            write_id(ax, np.array([when[at], middle]), cluster_id, (0.0, 0.0), centred=True)


def _times(times: ArrayLike, *lengths: int) -> NDArray[np.float64]:
    when = np.asarray(times, dtype=float)
    if when.ndim != 1 or not len(when) or any(n != len(when) for n in lengths):
        raise ValueError(
            f"times of shape {when.shape} and values of length {set(lengths)}: "
            "give at least one time, and one value for each"
        )
    return when


def _frame(ax: Axes, when: NDArray[np.float64], labels: tuple[str, str]) -> None:
    """Name the axes, leave no empty margin in time, take away lines that say nothing."""
    ax.set_xlabel(labels[0])
    ax.set_ylabel(labels[1])
    if when[-1] > when[0]:
        ax.set_xlim(when[0], when[-1])
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def _percent(share: float) -> str:
    return f"{100.0 * share:.3g} %"


def _ground() -> str:
    import matplotlib as mpl

    return str(mpl.rcParams["axes.facecolor"])
