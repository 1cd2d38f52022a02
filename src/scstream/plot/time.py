"""What changed over time: the river of weights, the number of clusters, the scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scstream.plot._style import axes_or_new, write_id
from scstream.plot.colors import OTHERS_COLOR, PALETTE, ClusterColors

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# A legend above the picture covers nothing of it.
_ABOVE: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": 4}
_ABOVE |= {"fontsize": 8, "frameon": False}
_READABLE = 0.035  # share of the river's height that a band needs for its id


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
        Increasing.
    weights : sequence of n mappings of int to float
        The weight of each cluster at each time, by its id; a cluster that is missing has none.
    top : int
        How many clusters get an arm of their own, those of the largest weight over all time; the
        rest flow together, in grey, on top.
    annotate : bool
        Write each cluster's id where its arm is widest.
    labels : (str, str)
        What to write on the two axes.
    colors, ax
        As in :func:`plot_clusters`.
    """
    when = _times(times, len(weights))
    ax = axes_or_new(ax)
    colors = ClusterColors() if colors is None else colors
    mass: dict[int, float] = {}  # by id, in order of first sight
    for at_once in weights:
        for cluster_id in sorted(at_once):
            mass[cluster_id] = mass.get(cluster_id, 0.0) + at_once[cluster_id]
    largest = sorted(mass, key=lambda i: (-mass[i], i))[:top]
    shown = [i for i in mass if i in largest]
    paint = [colors[i] for i in shown]
    bands = np.array([[w.get(i, 0.0) for w in weights] for i in shown]).reshape(len(shown), -1)
    total = np.array([sum(w.values()) for w in weights])
    whole = np.where(total > 0, total, 1.0)
    bands, rest = bands / whole, np.maximum(total - bands.sum(axis=0), 0.0) / whole
    if rest.max() > 1e-9:
        bands, paint = np.vstack([bands, rest]), [*paint, OTHERS_COLOR]
    ax.stackplot(when, bands, colors=paint, linewidth=0.4, edgecolor=ax.get_facecolor())
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
    """Draw the number of clusters (n,) over time, as steps; the rest is as in `plot_river`."""
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
        Increasing.
    quantiles : mapping of float to array-like of shape (n,)
        For each share of the rows, such as 0.05, 0.5 and 0.95, the score that it lies below.
        A pair of shares that add up to 1 is a band, 0.5 is a line, and one alone is dotted.
        Times without scores hold NaN.
    labels, ax
        As in :func:`plot_river`.
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
        name, strength = f"{_percent(high - low)} of the rows", 0.18 + 0.17 * depth
        band = ax.fill_between(when, lines[low], lines[high], label=name, alpha=strength)
        band.set(color=PALETTE[9], linewidth=0)
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
        shapes = f"times of shape {when.shape} and values of length {set(lengths)}"
        raise ValueError(f"{shapes}: give at least one time, and one value for each")
    return when


def _frame(ax: Axes, when: NDArray[np.float64], labels: tuple[str, str]) -> None:
    """Name the axes, leave no empty margin in time, take away lines that say nothing."""
    ax.set(xlabel=labels[0], ylabel=labels[1])
    if when[-1] > when[0]:
        ax.set_xlim(when[0], when[-1])
    ax.spines[["top", "right"]].set_visible(False)


def _percent(share: float) -> str:
    return f"{100.0 * share:.3g} %"
