"""Rows of a large batch are shared among threads: no kernel is handed all of them at once."""

from collections import defaultdict

import numpy as np
import pytest

from scstream import ScStream
from scstream.kernels import labelling, large_rows, pooling
from scstream.kernels.crew import Crew
from scstream.kernels.sharing import Shares

N, K = 200_000, 6


@pytest.fixture
def handed(monkeypatch):
    """Return the longest array that kernels are handed in each call, and to how many threads."""
    lengths = defaultdict(list)

    def noted(name, kernel):
        def call(*arguments):
            sizes = [len(a) for a in arguments if isinstance(a, np.ndarray) and a.ndim]
            crews = [a.crew if isinstance(a, Shares) else a for a in arguments]
            threads = [a.threads for a in crews if isinstance(a, Crew)]
            lengths[name].append((max(sizes, default=0), max(threads, default=1)))
            return kernel(*arguments)

        call.as_part, call.compile = kernel.as_part, kernel.compile  # what is compiled meanwhile
        return call

    for module in (labelling, large_rows, pooling):
        for name, kernel in vars(module).items():
            if hasattr(kernel, "as_part") and kernel.__module__ == module.__name__:
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
    shared = {name for name in handed if handed[name][0][1] > 1}  # whose threads take rows by turns
    alone = {name for name in set(handed) - shared if max(n for n, _ in handed[name]) > N // 2}
    assert alone == set()
    assert {"named", "rename", "take_trial"} <= set(handed)
    assert shared == {"sweep", "resplit", "shared_zeros"}
    assert all(threads > 1 for name in shared for _, threads in handed[name])
    assert all(threads == 4 for name in ("sweep", "resplit") for _, threads in handed[name])


def test_one_thread_is_handed_all_which_is_noticed(handed):
    run(1)
    assert max(handed["named"]) == (N, 1)
