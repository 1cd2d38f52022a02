"""
Eight streams, five methods
===========================

Eight shapes of streams, and how five methods cluster their last batch. The numbers in the corner
are the mean adjusted Rand index of all batches, each predicted before it was learned, and the
seconds for the whole stream. Methods with a star are given the true number of clusters. The two
methods of river have one setting for all streams.

::

    python examples/eight_streams.py
"""

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from river import cluster
from sklearn.cluster import Birch, MiniBatchKMeans

from scstream import ScStream
from scstream.metrics import adjusted_rand_index

N_BATCHES, ROWS = 8, 150


def ring(k, radius, turn=0.0):
    angle = 2 * np.pi * np.arange(k) / k + turn
    return radius * np.column_stack([np.cos(angle), np.sin(angle)])


def shape(name, t, rng):
    """Return a batch (n, 2) of a stream at time t from 0 to 1, and the true labels (n,)."""
    k = 2 + int(4 * t) if name == "growing" else 4
    y = rng.integers(k, size=ROWS)
    centers = ring(k, 10.0)
    spread = np.ones((k, 2))
    if name == "drifting":
        centers = ring(k, 10.0, turn=1.5 * t)
    elif name == "jumping":
        centers = ring(k, 10.0, turn=0.8 * (t > 0.5))
    elif name == "stretched":
        spread = np.array([[4.0, 0.4]] * k)
        centers = np.column_stack([np.zeros(k), 4.0 * np.arange(k)])
    elif name == "sizes":
        spread = np.array([[0.3, 0.3], [1.0, 1.0], [2.0, 2.0], [0.6, 0.6]])
    elif name == "unbalanced":
        y = np.where(rng.random(ROWS) < 0.85, 0, y)
    X = centers[y] + spread[y] * rng.normal(size=(ROWS, 2))
    if name == "crescents":
        y = rng.integers(2, size=ROWS)
        angle = np.pi * rng.random(ROWS)
        X = np.column_stack([np.cos(angle), np.sin(angle)]) * (1 - 2 * y)[:, None] * 8.0
        X += np.column_stack([8.0 * y, 4.0 * y]) + rng.normal(size=X.shape) * 0.6
    return X, y


class OneByOne:
    """A clusterer of river, row by row."""

    def __init__(self, model):
        self.model = model

    def partial_fit(self, X):
        for row in X.tolist():
            self.model.learn_one(dict(enumerate(row)))

    def predict(self, X):
        return np.array([self.model.predict_one(dict(enumerate(row))) for row in X.tolist()])


METHODS = {
    "ScStream": lambda k: ScStream(random_state=0),
    "Mini-Batch K-Means*": lambda k: MiniBatchKMeans(k, random_state=0, n_init=3),
    "BIRCH*": lambda k: Birch(n_clusters=k),
    "DBSTREAM": lambda k: OneByOne(cluster.DBSTREAM(clustering_threshold=1.5)),
    "DenStream": lambda k: OneByOne(cluster.DenStream(n_samples_init=100)),
}
SHAPES = (
    "still", "drifting", "jumping", "growing", "stretched", "sizes", "unbalanced", "crescents",
)  # fmt: skip


def follow(model, name):
    """Return the last batch, the labels it was predicted, the score and the seconds."""
    rng, start, scores = np.random.default_rng(0), perf_counter(), []
    for i in range(N_BATCHES):
        X, y = shape(name, i / (N_BATCHES - 1), rng)
        if i:
            labels = model.predict(X)
            scores.append(adjusted_rand_index(y, labels))
        model.partial_fit(X)
    return X, labels, float(np.mean(scores)), perf_counter() - start


def main(shapes=SHAPES):
    figure, axes = plt.subplots(
        len(shapes), len(METHODS), figsize=(11, 2.1 * len(shapes)), squeeze=False
    )
    found = {}
    for row, name in zip(axes, shapes, strict=True):
        true = len(np.unique(shape(name, 1.0, np.random.default_rng(0))[1]))
        for ax, (method, make) in zip(row, METHODS.items(), strict=True):
            X, labels, score, seconds = follow(make(true), name)
            found[name, method] = score
            colours = np.unique(labels, return_inverse=True)[1] % 20
            ax.scatter(*X.T, c=colours, cmap="tab20", s=5, vmin=0, vmax=19)
            ax.set(xticks=[], yticks=[])
            text = f"{score:.2f}  {seconds:.1f} s"
            ax.text(0.98, 0.02, text, transform=ax.transAxes, ha="right", fontsize=8,
                    bbox={"color": "white", "alpha": 0.8, "pad": 1})  # fmt: skip
        row[0].set_ylabel(name)
    for ax, method in zip(axes[0], METHODS, strict=True):
        ax.set_title(method, fontsize=10)
    figure.tight_layout()
    return found


if __name__ == "__main__":
    main()
    plt.show()
