"""Streams cut into parts that are learned apart and merged, against one model of all rows.

``python -m benchmarks.merging [first seed] [seeds] [parts ...]`` prints the mean ratio of the ARI
on the last batch to one model's, its least, and the mean ratio of the numbers of clusters.
"""

from __future__ import annotations

import sys
from collections import defaultdict

import numpy as np

from scstream import ScStream, divide, merge
from scstream.datasets import gaussian_stream
from scstream.metrics import adjusted_rand_index

EVERY = 10  # batches from one merge to the next, where workers go on from the whole


def by_row(stream, n: int, seed: int, *, together: bool) -> ScStream:
    """Return the model of n workers that get rows at random."""
    rng, workers = np.random.default_rng(seed), [ScStream(random_state=i) for i in range(n)]
    for number, batch in enumerate(stream, 1):
        part = rng.integers(n, size=len(batch.X))
        for i, worker in enumerate(workers):
            worker.partial_fit(batch.X[part == i])
        if together and number % EVERY == 0 and number < len(stream):
            workers = divide(merge([w.to_bytes() for w in workers]), n)
    return merge([worker.to_bytes() for worker in workers])


def by_cluster(stream, n: int, seed: int) -> ScStream:
    """Return the model of n workers that get clusters of their own."""
    workers = [ScStream(random_state=i) for i in range(n)]
    for batch in stream:
        for i, worker in enumerate(workers):
            own = batch.y % n == i
            if own.any():
                worker.partial_fit(batch.X[own], time=batch.time)
    return merge([worker for worker in workers if worker.n_batches_])


def by_time(stream, n: int, seed: int) -> ScStream:
    """Return the model of n workers that get one piece of the stream after the other."""
    workers = [ScStream(random_state=i) for i in range(n)]
    for number, batch in enumerate(stream):
        workers[number * n // len(stream)].partial_fit(batch.X, time=batch.time)
    return merge(workers)


def main(first: int, seeds: int, parts: list[int]) -> None:
    """Print the table."""
    ways = {
        f"by row, {n} parts, {'every 10 batches' if together else 'at the end'}": (
            lambda stream, seed, n=n, together=together: by_row(stream, n, seed, together=together)
        )
        for n in parts
        for together in (False, True)
    }
    ways["by cluster, 4 parts"] = lambda stream, seed: by_cluster(stream, 4, seed)
    ways["by time, 4 parts"] = lambda stream, seed: by_time(stream, 4, seed)
    found = defaultdict(list)
    for births in (0.0, 1 / 3):
        for seed in range(first, first + seeds):
            stream = list(gaussian_stream(births=births, random_state=seed))
            one, last = ScStream(random_state=0), stream[-1]
            for batch in stream:
                one.partial_fit(batch.X)
            level = adjusted_rand_index(last.y, one.predict(last.X))
            for name, way in ways.items():
                model = way(stream, seed)
                ari = adjusted_rand_index(last.y, model.predict(last.X))
                found[name, births].append((ari / level, model.n_clusters_ / one.n_clusters_))
    print("| cut | clusters | ARI | least | clusters found |\n| --- | --- | --- | --- | --- |")
    for (name, births), rows in sorted(found.items(), key=lambda item: item[0][1]):
        (ari, k), least = np.mean(rows, axis=0), np.min(rows, axis=0)[0]
        kind = "born and die" if births else "drift"
        print(f"| {name} | {kind} | {ari:.3f} | {least:.3f} | {k:.3f} |")


if __name__ == "__main__":
    first, seeds, *parts = [int(word) for word in sys.argv[1:]] or [200, 5]
    main(first, seeds, parts or [2, 4, 16])
