"""The quality that is promised of every family, untuned, on streams whose truth is known.

The slow version takes five seeds that the defaults were not tuned to, on the streams of
``python benchmarks/families.py``, which prints the same figures and more.
"""

import numpy as np
import pytest

from scstream import Product, ScStream
from scstream.datasets import (
    directional_stream,
    gaussian_stream,
    mixed_stream,
    multinomial_stream,
)
from scstream.evaluate import prequential

MIXED = {"diagonal": 2, "poisson": 2, "gamma": 1, "bernoulli": 2, "categorical": 2}
COLUMNS = {
    "diagonal": 3,
    "spherical": 3,
    "poisson": 5,
    "gamma": 6,
    "exponential": 14,
    "bernoulli": 30,
    "categorical": 10,
}


def table(columns, **options):
    return lambda batches, seed: mixed_stream(columns, batches, random_state=seed, **options)


# a stream of so many batches, and the least share of the oracle's ARI
STREAMS = {
    "gaussian": (lambda batches, seed: gaussian_stream(batches, random_state=seed), 0.95),
    "multinomial": (
        lambda batches, seed: multinomial_stream(
            batches, n_clusters=20, n_features=50, n_trials=50, random_state=seed
        ),
        0.95,
    ),
    "directional": (lambda batches, seed: directional_stream(batches, random_state=seed), 0.95),
    **{kind: (table({kind: number}), 0.95) for kind, number in COLUMNS.items()},
    "mixed": (table(MIXED), 0.95),
    "mixed, 30 % missing": (table(MIXED, missing=0.3), 0.9),
}


def share(name, batches, seeds):
    """Return mean ARI over the oracle's, which sees the same entries."""
    scores = []
    for seed in seeds:
        stream = STREAMS[name][0](batches, seed)
        columns = getattr(stream[0].truth, "columns", {name: []})
        family = next(iter(columns)) if len(columns) == 1 else Product(columns)
        mean = prequential(ScStream(family, random_state=seed), stream).mean()
        scores.append((mean["ari"], mean["oracle_ari"]))
    ari, oracle = np.mean(scores, axis=0)
    return ari / oracle


@pytest.mark.slow
@pytest.mark.parametrize("name", STREAMS)
def test_every_family_recovers_drifting_clusters(name):
    found = share(name, 60, range(5))
    print(f"{name}: {found:.3f} of the oracle's ARI")
    assert found >= STREAMS[name][1]


@pytest.mark.parametrize("name", ["poisson", "mixed, 30 % missing"])
def test_families_recover_clusters_of_a_short_stream(name):
    """Seeds 100 to 109, one by one, gave 0.967 to 0.993 and 0.936 to 0.980."""
    assert share(name, 5, [100]) >= 0.9
