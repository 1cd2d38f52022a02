"""
One row at a time, in a pipeline of river
=========================================

One row at a time, in a pipeline of river.

::

    python examples/river_pipeline.py
"""

import numpy as np
from river import preprocessing

from scstream.datasets import gaussian_stream
from scstream.metrics import adjusted_rand_index
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
            found.append(model.predict_one(row))  # by what was learned before: -1 at first
            true.append(label)
            model.learn_one(row)
    clusterer = model["StreamClusterer"].model
    agreement = adjusted_rand_index(np.array(true[300:]), np.array(found[300:]))
    print(f"{len(found)} rows, {clusterer.n_clusters_} clusters, agreement {agreement:.2f}")
    return agreement


if __name__ == "__main__":
    main()
