"""The pictures of a page: which there are, and how each is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from scstream.chronicle import Chronicle
from scstream.plot._style import write_id
from scstream.plot.clusters import plot_ellipses
from scstream.plot.colors import ClusterColors
from scstream.plot.paths import plot_paths
from scstream.plot.time import plot_n_clusters, plot_river, plot_scores
from scstream.report.run import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_CROWDED = 150  # paths: more than these, and only the largest clusters' are drawn
_STROKES = 2000  # of all paths together: more make the page large and show no more


@dataclass(frozen=True)
class Picture:
    """A picture of the page: its heading, what a reader should know, its size, how to draw it."""

    heading: str
    caption: str
    size: tuple[float, float]
    draw: Callable[[Figure, Run], None]


def pictures(chronicle: Chronicle) -> Iterable[Picture]:
    """Return the pictures that the chronicle has something for."""
    yield Picture(
        "Clusters over time",
        "Above, how many clusters there are. Below, what share of the stream each of them holds: "
        "an arm that opens is a cluster that was born, one that closes has died or merged. "
        "Clusters have the same colour in all pictures; beyond the twelve largest they are grey.",
        (9.0, 5.0),
        _draw_river,
    )
    if chronicle.score_quantiles():
        yield Picture(
            "Anomaly score over time",
            "Minus the log predictive density of a row: high where a row was not expected. A "
            "peak is a batch unlike those before it; a slow rise, a model that no longer fits.",
            (9.0, 3.0),
            _draw_scores,
        )
    if chronicle[-1].places is not None:
        yield Picture(
            "Clusters at the end",
            "Each ellipse holds 95 % of its cluster. The axes were chosen at the first batch and "
            "stay the same; where there are more than two columns they are those along which the "
            "clusters of that batch lay furthest apart.",
            (9.0, 5.4),
            _draw_clusters,
        )
        if chronicle[-1].groups is not None:
            yield Picture(
                "Groups at the end",
                "The same clusters, those of one group in one colour: they are parts of one whole, "
                "with no valley between them. The number is the group's.",
                (9.0, 5.4),
                _draw_groups,
            )
        if len(chronicle) > 1:
            yield Picture(
                "Where the clusters went",
                "The path of each cluster's centre, from a ring where it was first seen to a disc "
                "where it is now, or to a cross where it was last seen.",
                (9.0, 5.4),
                _draw_paths,
            )


def _draw_river(figure: Figure, run: Run) -> None:
    top, bottom = figure.subplots(2, sharex=True, height_ratios=[1, 3])
    chronicle = run.chronicle
    times = _axis(chronicle, top, bottom)
    plot_n_clusters(times, chronicle.n_clusters, labels=("", "clusters"), ax=top)
    plot_river(times, run.weights, top=len(run.important), colors=run.colors, ax=bottom)


def _draw_scores(figure: Figure, run: Run) -> None:
    ax = figure.subplots()
    times = _axis(run.chronicle, ax)
    plot_scores(times, run.chronicle.score_quantiles(), ax=ax)


def _axis(chronicle: Chronicle, *axes: Axes) -> NDArray[np.float64]:
    """Return the times as they are drawn: where they are dates, in days on axes of dates."""
    if not chronicle.dates:
        return chronicle.times
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    for ax in axes:
        locator = AutoDateLocator()  # type: ignore[no-untyped-call]  # matplotlib's own
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    return chronicle.times / 86400.0


def _draw_clusters(figure: Figure, run: Run) -> None:
    ax = figure.subplots()
    last = run.chronicle[-1]
    assert last.places is not None  # the picture is not on the page otherwise
    # The largest last, on top of the grey.
    order = np.argsort(np.isin(last.ids, run.important), kind="stable")
    ids = last.ids[order].tolist()
    spreads: dict[int, NDArray[np.float64]] = {}
    if last.spreads is not None:
        seen = last.spreads[order][:, [0, 1, 1, 2]].reshape(-1, 2, 2)
        spreads = dict(zip(ids, seen, strict=True))
    plot_ellipses(
        dict(zip(ids, last.places[order], strict=True)),
        spreads,
        colors=run.colors,
        annotate=run.important,
        ax=ax,
    )
    _name_view(ax, run.chronicle)


def _draw_groups(figure: Figure, run: Run) -> None:
    ax = figure.subplots()
    last = run.chronicle[-1]
    assert last.places is not None  # the picture is not on the page otherwise
    assert last.groups is not None
    names, own = np.unique(last.groups, return_inverse=True)
    heaviest = np.argsort(-np.bincount(own, last.weights), kind="stable")
    by_group = ClusterColors.of_few(names[heaviest].tolist())
    ids, groups = last.ids.tolist(), last.groups.tolist()
    colors = ClusterColors({i: by_group[g] for i, g in zip(ids, groups, strict=True)})
    spreads: dict[int, NDArray[np.float64]] = {}
    if last.spreads is not None:
        spreads = dict(zip(ids, last.spreads[:, [0, 1, 1, 2]].reshape(-1, 2, 2), strict=True))
    places = dict(zip(ids, last.places, strict=True))
    plot_ellipses(places, spreads, colors=colors, annotate=False, ax=ax)
    for name in names.tolist():
        largest = np.argmax(np.where(last.groups == name, last.weights, -1.0))
        write_id(ax, last.places[largest], name)  # the middle of a ring is not in it
    _name_view(ax, run.chronicle)


def _draw_paths(figure: Figure, run: Run) -> None:
    ax = figure.subplots()
    paths = run.chronicle.paths()
    if len(paths) > _CROWDED:
        paths = {i: path for i, path in paths.items() if i in run.important}
    most = max(10, _STROKES // max(len(paths), 1))
    paths = {i: _thinned(path, most) for i, path in paths.items()}
    # The largest last, on top of the grey.
    order = sorted(paths, key=lambda i: i in run.important)
    alive = set(run.chronicle[-1].ids.tolist())
    shown = {i: paths[i] for i in order}
    plot_paths(shown, alive=alive, colors=run.colors, annotate=run.important, ax=ax)
    _name_view(ax, run.chronicle)


def _thinned(path: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """Return at most so many points of a path, the first and the last among them."""
    chosen = np.linspace(0, len(path) - 1, min(len(path), most)).round().astype(int)
    out: NDArray[np.float64] = path[chosen]
    return out


def _name_view(ax: Axes, chronicle: Chronicle) -> None:
    assert chronicle.projection is not None  # places come from it
    ax.set_xlabel(chronicle.projection.labels[0])
    ax.set_ylabel(chronicle.projection.labels[1])
    ax.grid(linewidth=0.6)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
