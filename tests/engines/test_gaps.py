"""Rows with missing entries on the CPU, where statistics of a batch are too many to be kept."""

import numpy as np
import pytest

from scstream import Gaussian
from scstream.engines import CpuEngine, Key


@pytest.mark.slow
@pytest.mark.parametrize("best", [False, True])
def test_batches_whose_statistics_are_not_kept_are_as_their_parts(best):
    rng = np.random.default_rng(0)
    n, d, half = 80_000, 20, 40_960
    y = rng.integers(3, size=n)
    X = rng.normal(size=(n, d)) + 4.0 * y[:, None]
    X[rng.random(X.shape) < 0.002] = np.nan
    X[5] = np.nan
    family = Gaussian().prepare(X)
    T = family.statistics(family.filled(X[:3000]))
    groups = np.stack([T[y[:3000] == c].sum(axis=0) for c in range(3)])
    score = family.predictive_score(groups, np.zeros(3))
    sub = family.predictive_score(0.5 * np.repeat(groups, 2, axis=0), np.zeros(6))
    key = Key(1, 2, 3, best)

    def swept(rows, first, threads):
        engine = CpuEngine(threads)
        engine.load(family, rows, np.ones(len(rows)), first)
        return engine.sweep(score, sub, 3, key).current, engine.labels

    whole, labels = swept(X, 0, 2)
    parts = [swept(X[:half], 0, 1), swept(X[half:], half, 1)]
    np.testing.assert_array_equal(labels, np.concatenate([z for _, z in parts]))
    np.testing.assert_allclose(whole, parts[0][0] + parts[1][0], rtol=1e-9, atol=1e-6)
    assert whole[..., 0].sum() == n - 1  # the row of which nothing is observed does not count
    assert (labels == y).mean() > 0.999
