"""Draws the pictures of docs/how-it-works.md; the documentation's build runs it.

``python docs/pictures/how_it_works.py FOLDER`` writes them into a folder.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from scstream import ScStream
from scstream.chronicle import Chronicle
from scstream.datasets import gaussian_stream
from scstream.plot import PALETTE, ClusterColors, plot_clusters, plot_n_clusters, plot_river

AGES = np.linspace(0.0, 20.0, 200)


def two_blobs(n, rng, gap=6.0):
    side = rng.integers(2, size=n)
    return rng.normal(size=(n, 2)) * [1.0, 1.4] + np.column_stack([gap * side, 0.0 * side])


def bare(ax, title):
    ax.set_title(title, fontsize=10)
    ax.set(xticks=[], yticks=[], aspect="equal")


def draw_mixture():
    """Draw a batch, the clusters that describe it, and their density."""
    stream = gaussian_stream(n_batches=30, n_clusters=5, batch_size=600, box=18.0, random_state=4)
    model = ScStream(random_state=0)
    for batch in stream:
        model.partial_fit(batch.X)
    figure = Figure(figsize=(9.0, 3.4), layout="constrained")
    left, middle, right = figure.subplots(1, 3, sharex=True, sharey=True)
    left.scatter(*batch.X.T, s=4, color="#777777", linewidths=0)
    bare(left, "the rows of a batch")
    plot_clusters(model, batch.X, ax=middle)
    bare(middle, f"{model.n_clusters_} clusters, found")
    (low_x, low_y), (high_x, high_y) = batch.X.min(axis=0) - 4.0, batch.X.max(axis=0) + 4.0
    x, y = np.meshgrid(np.linspace(low_x, high_x, 120), np.linspace(low_y, high_y, 120))
    score = model.score_samples(np.column_stack([x.ravel(), y.ravel()])).reshape(x.shape)
    right.contourf(x, y, np.maximum(score, -16.0), levels=14, cmap="Blues")
    bare(right, "how expected a row is")
    return figure


def draw_split():
    """Draw how two sub-clusters show that a cluster is two."""
    rng = np.random.default_rng(1)
    X = two_blobs(500, rng)
    one = ScStream(random_state=0, max_clusters=1).fit(X)
    two = ScStream(random_state=0).fit(X)
    figure = Figure(figsize=(9.0, 2.0), layout="constrained")
    axes = figure.subplots(1, 3, sharex=True, sharey=True)
    plot_clusters(one, X, ax=axes[0], annotate=False)
    bare(axes[0], "one cluster")
    for side in (0, 1):
        rows = one.sublabels_ == side
        axes[1].scatter(*X[rows].T, s=5, color=PALETTE[side + 2], alpha=0.6, linewidths=0)
    bare(axes[1], "its two sub-clusters")
    plot_clusters(two, X, ax=axes[2])
    bare(axes[2], "after the split")
    return figure


def draw_forgetting():
    """Draw the weight of a batch over its age, and models that follow a moving cluster."""
    figure = Figure(figsize=(9.0, 3.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    rng = np.random.default_rng(2)
    batches = [rng.normal(size=(200, 1)) + 0.8 * max(0, t - 10) for t in range(30)]
    right.plot([batch.mean() for batch in batches], ":", color="#777777", label="the truth")
    for color, half_life in zip(PALETTE[2:5], (1.0, 5.0, None), strict=True):
        name = "never forgets" if half_life is None else f"half-life {half_life:g}"
        weight = np.ones_like(AGES) if half_life is None else 0.5 ** (AGES / half_life)
        left.plot(AGES, weight, color=color, label=name)
        model, means = ScStream(random_state=0, half_life=half_life, max_clusters=1), []
        for batch in batches:
            means.append(float(model.partial_fit(batch).clusters_[0].mean[0]))
        right.plot(means, color=color, label=name)
    left.set(xlabel="age of a batch", ylabel="weight", ylim=(0.0, 1.05))
    right.set(xlabel="batch", ylabel="mean of a cluster")
    left.legend(frameon=False, fontsize=8)
    right.legend(frameon=False, fontsize=8)
    return figure


def draw_ids():
    """Draw the number of clusters, and the share of each, over time."""
    stream = gaussian_stream(
        n_batches=60, n_clusters=8, batch_size=500, births=0.5, speed=8.0, random_state=6
    )
    model, chronicle = ScStream(random_state=0), Chronicle()
    for batch in stream:
        chronicle.observe(model.partial_fit(batch.X))
    figure = Figure(figsize=(9.0, 4.0), layout="constrained")
    top, river = figure.subplots(2, sharex=True, height_ratios=[1, 3])
    plot_n_clusters(chronicle.times, chronicle.n_clusters, labels=("", "clusters"), ax=top)
    plot_river(chronicle.times, chronicle.weights(), colors=ClusterColors(), ax=river)
    return figure


PICTURES = {
    "mixture.png": draw_mixture,
    "split.png": draw_split,
    "forgetting.png": draw_forgetting,
    "ids.png": draw_ids,
}


def main(folder):
    """Draw all pictures into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in PICTURES.items():
        draw().savefig(folder / name, dpi=110)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
