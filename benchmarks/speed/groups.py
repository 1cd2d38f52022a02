"""What groups cost: each batch is learned with and without ``group_level``, in turns.

Run ``python -m benchmarks.speed.groups``. Times are of the processor. What is added to a batch is
the mean difference without the fifth at either end, over the median of a batch without groups.
"""

from __future__ import annotations

from time import process_time

import numpy as np
from scipy.stats import trim_mean

from scstream import ScStream
from scstream.datasets import gaussian_stream

STREAMS = {
    "1,000 x 2-D, 20 clusters": {"n_batches": 60, "batch_size": 1000, "n_features": 2},
    "20,000 x 5-D, 20 clusters": {"n_batches": 12, "batch_size": 20_000, "n_features": 5},
    "500 x 64-D, 20 clusters": {"n_batches": 15, "batch_size": 500, "n_features": 64},
}
_TURNS = 10
_SETTLED = 3  # batches that are not counted


def seconds(model: ScStream, X: np.ndarray) -> float:
    began = process_time()
    model.partial_fit(X)
    return process_time() - began


def turn(batches: list[np.ndarray], groups_first: bool) -> np.ndarray:
    """Return the seconds (b, 2) of each batch without and with groups."""
    models = [ScStream(random_state=0, n_jobs=1, group_level=level) for level in (None, 0.3)]
    taken = np.empty((len(batches), 2))
    for b, X in enumerate(batches):
        order = (0, 1) if (b % 2 == 0) != groups_first else (1, 0)
        for which in order:
            taken[b, which] = seconds(models[which], X)
    return taken[_SETTLED:]


def main() -> None:
    print("| stream | ms a batch | groups add, us | share |")
    print("| --- | --- | --- | --- |")
    for name, how in STREAMS.items():
        batches = [batch.X for batch in gaussian_stream(**how, random_state=0)]
        turn(batches, False)  # compiles
        taken = np.concatenate([turn(batches, i % 2 == 0) for i in range(_TURNS)])
        plain, more = np.median(taken[:, 0]), trim_mean(taken[:, 1] - taken[:, 0], 0.2)
        print(f"| {name} | {1e3 * plain:.2f} | {1e6 * more:.0f} | {more / plain:.1%} |", flush=True)


if __name__ == "__main__":
    main()
