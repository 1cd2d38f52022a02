"""
One row at a time, in a pipeline of river
=========================================

A scaler and a clusterer, fed with one row at a time.

::

    python examples/river_pipeline.py
"""

import matplotlib.pyplot as plt
import numpy as np
from river import preprocessing

from scstream.datasets import gaussian_stream
from scstream.metrics import adjusted_rand_index
from scstream.plot import overview
from scstream.river import StreamClusterer


def main(n_batches=10, seed=1):
    stream = gaussian_stream(
        n_batches=n_batches, batch_size=300, n_clusters=5, speed=1.0, random_state=seed
    )
    model = preprocessing.StandardScaler() | StreamClusterer(batch_size=150, seed=seed)
    true, found = [], []
    for batch in stream:
        for (x, y), label in zip(batch.X.tolist(), batch.y, strict=True):
            row = {"x": x, "y": y}
            found.append(model.predict_one(row))  # from what was learned before: -1 at first
            true.append(label)
            model.learn_one(row)
    clusterer = model["StreamClusterer"].model
    agreement = adjusted_rand_index(np.array(true[300:]), np.array(found[300:]))
    print(f"{len(found)} rows, {clusterer.n_clusters_} clusters, agreement {agreement:.2f}")
    return agreement, clusterer, scaled(model, batch)


def scaled(model, batch):
    """Return the rows of a batch as the clusterer sees them."""
    scaler = model["StandardScaler"]
    rows = [scaler.transform_one({"x": x, "y": y}) for x, y in batch.X.tolist()]
    return np.array([[row["x"], row["y"]] for row in rows])


if __name__ == "__main__":
    overview(*main()[1:])
    plt.show()
