"""Rows of a large batch are shared among threads: no kernel is handed all of them at once."""

from collections import defaultdict

import numpy as np
import pytest

from scstream import ScStream
from scstream.kernels import labelling, large_rows, pooling

N, K = 200_000, 6


@pytest.fixture
def handed(monkeypatch):
    """Return the longest array that kernels are handed in each call, by their names."""
    lengths = defaultdict(list)

    def noted(name, kernel):
        def call(*arguments):
            sizes = [len(a) for a in arguments if isinstance(a, np.ndarray) and a.ndim]
            lengths[name].append(max(sizes, default=0))
            return kernel(*arguments)

        return call

    for module in (labelling, large_rows, pooling):
        for name, kernel in vars(module).items():
            if hasattr(kernel, "py_func") and kernel.__module__ == module.__name__:
                monkeypatch.setattr(module, name, noted(name, kernel))
    return lengths


def rows(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(K, size=N)
    return 20.0 * np.stack([y % 3, y // 3], axis=1) + rng.normal(size=(N, 2)), y


def run(n_jobs):
    model = ScStream(n_jobs=n_jobs, random_state=0, max_sweeps=2)
    X, y = rows(0)
    model.partial_fit(X, labels=np.minimum(y, K - 2))  # a cluster is split: rows are renamed
    for seed in (1, 2):
        X, _ = rows(seed)
        model.partial_fit(X)
        model.predict(X)
    assert model.n_clusters_ == K


def test_each_thread_is_handed_some(handed):
    run(4)
    shared = {name for name in handed if name.endswith("_share")}  # take rows by a counter
    alone = {name for name in set(handed) - shared if max(handed[name]) > N // 3}
    assert alone == set()
    assert {"named", "rename", "take_trial"} <= set(handed)
    assert len(shared) == 3
    assert all(len(handed[name]) % 4 == 0 for name in shared)


def test_one_thread_is_handed_all_which_is_noticed(handed):
    run(1)
    assert max(handed["named"]) == N
