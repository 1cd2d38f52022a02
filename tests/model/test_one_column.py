"""One column: clusters are not sliced."""

import numpy as np
import pytest

from scstream import ScStream


@pytest.mark.parametrize("n", [300, 1000, 8000])
def test_one_cluster_is_one(n):
    for seed in range(3):
        X = np.random.default_rng(seed).normal(size=(n, 1))
        assert ScStream(random_state=seed).partial_fit(X).n_clusters_ == 1


@pytest.mark.parametrize("apart", [4.0, 6.0, 10.0])
def test_three_clusters_are_three(apart):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        model = ScStream(random_state=seed)
        for _ in range(4):
            places = apart * rng.integers(3, size=(3000, 1))
            assert model.partial_fit(places + rng.normal(size=(3000, 1))).n_clusters_ == 3
