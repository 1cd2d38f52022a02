"""Rows with missing entries on the CPU."""

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
    key = None if best else Key(1, 2, 3)

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


def test_rows_with_gaps_are_left_to_the_sweeps_that_complete_them():
    X = np.random.default_rng(0).normal(size=(300, 2))
    family, engine = Gaussian().prepare(X), CpuEngine()
    for gaps in (0, 1, 0):
        X[:gaps, 0] = np.nan
        engine.load(family, np.nan_to_num(X) if gaps == 0 else X, np.ones(300))
        assert (engine.few_rows() is None) == (gaps > 0)
