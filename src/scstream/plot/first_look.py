"""The first picture of a model: its clusters and some rows, whatever the columns are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from scstream.families.columns import Columns, columns_of
from scstream.plot._style import axes_or_new, label_axes
from scstream.plot.clusters import plot_ellipses
from scstream.plot.colors import ClusterColors
from scstream.plot.projection import Projection

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from scstream.model import ScStream


def overview(model: ScStream, X: Any, *, ax: Axes | None = None) -> Axes:
    """Draw rows in the colours of their clusters, in the view that separates the clusters best.

    Two or more columns of numbers are drawn from the side from which the clusters lie furthest
    apart, with ellipses where the family has them; a single one as histograms; columns of words
    alone as the clusters' shares.

    Parameters
    ----------
    model : ScStream
        A fitted model.
    X : array-like or data frame (n, d)
        Rows, usually the last batch.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new picture by default.

    Examples
    --------
    >>> import numpy as np
    >>> from scstream import ScStream
    >>> from scstream.plot import overview
    >>> X = np.random.default_rng(1).normal(size=(60, 3))
    >>> overview(ScStream(random_state=1).fit(X), X).get_title()
    '1 cluster'
    """
    from scstream.chronicle.locations import family_order, locations, ranges  # which draws, too

    clusters = model.clusters_
    keys, means, spreads = locations(clusters, family_order(model))
    labels = np.asarray(model.predict(X)).astype(int)
    colors = ClusterColors()
    for cluster in sorted(clusters, key=lambda cluster: cluster.id):
        _ = colors[cluster.id]  # in order of id, whatever the order of the rows
    rows = _numbers(columns_of(X), keys)
    ax = axes_or_new(ax)
    if means is None:
        _draw_shares(ax, clusters, colors)
    elif means.shape[1] == 1:
        _draw_histograms(ax, rows[:, 0], labels, colors, str(keys[0]))
    else:
        view = Projection.from_model(model)
        points = view(rows)
        hues = [colors[i] for i in labels]
        ax.scatter(points[:, 0], points[:, 1], s=6, c=hues, alpha=0.6, linewidths=0)
        ids = [cluster.id for cluster in clusters]
        drawn: Any = () if spreads is None else spreads.seen(view, *ranges(clusters, keys))
        plot_ellipses(
            dict(zip(ids, view(means), strict=True)),
            dict(zip(ids, drawn, strict=False)),
            present=set(labels.tolist()),
            colors=colors,
            ax=ax,
        )
        label_axes(ax, view)
    ax.set_title(f"{len(clusters)} cluster{'s' * (len(clusters) != 1)}")
    return ax


def _numbers(table: Columns, keys: list[Any]) -> Any:
    """Return the columns that have a location as numbers (n, m); what is missing as NaN."""
    places = [table.place(key) for key in keys]
    out = np.full((table.n, len(places)), np.nan)
    for j, place in enumerate(places):
        values = table.values[place]
        there = np.array([value is not None and value == value for value in values], dtype=bool)
        out[there, j] = values[there].astype(np.float64)
    return out


def _draw_shares(ax: Axes, clusters: list[Any], colors: ClusterColors) -> None:
    order = sorted(clusters, key=lambda cluster: cluster.weight)
    names = [str(cluster.id) for cluster in order]
    ax.barh(names, [c.weight for c in order], color=[colors[c.id] for c in order])
    ax.set(xlabel="share", ylabel="cluster")


def _draw_histograms(ax: Axes, x: Any, labels: Any, colors: ClusterColors, name: str) -> None:
    edges = np.histogram_bin_edges(x[np.isfinite(x)], bins=40).tolist()
    for label in np.unique(labels).tolist():
        own = x[(labels == label) & np.isfinite(x)]
        ax.hist(own, bins=edges, color=colors[label], alpha=0.7, label=str(label))
    ax.set(xlabel=name, ylabel="rows")
    ax.legend(title="cluster")
