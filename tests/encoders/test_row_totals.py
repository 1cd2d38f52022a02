"""Counts that go with what their row adds up to, and others that do not."""

import numpy as np
import pytest

from scstream.encoders.row_totals import of_one_total, totals_tell


def rates(rng, n, d=8, k=4):
    """Return the rates of four clusters that differ in their shares, and the clusters."""
    share = np.exp(rng.normal(0.0, 1.0, (k, d)))
    y = rng.integers(k, size=n)
    return (share / share.sum(axis=1, keepdims=True))[y], y


def activity(rng, n, spread=100.0):
    """Return totals of rows (n, 1), the largest so many times the least."""
    return 30.0 * np.exp(rng.uniform(0.0, np.log(spread), (n, 1)))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n", [300, 3_000])
def test_rows_of_a_cluster_that_differ_in_activity_are_noticed(seed, n):
    rng = np.random.default_rng(seed)
    mean = rates(rng, n)[0] * activity(rng, n)
    wide = rng.gamma(5.0, 0.2, mean.shape)
    assert of_one_total(rng.poisson(mean * wide).astype(float)).all()
    assert of_one_total(rng.poisson(mean).astype(float)).all()


@pytest.mark.parametrize("seed", range(3))
def test_counts_that_are_independent_in_clusters_are_not(seed):
    rng = np.random.default_rng(seed)
    mean, y = rates(rng, 1_000)
    levels = np.array([15.0, 60.0, 240.0, 900.0])[y][:, None]
    wide = rng.gamma(2.0, 0.5, mean.shape)
    for X in (
        rng.poisson(100.0 * mean),
        rng.poisson(100.0 * mean * wide),
        rng.poisson(levels * mean),  # clusters that differ in level
        np.array([rng.multinomial(60, p) for p in mean]),  # all totals are the same
        np.clip(np.rint(rng.normal(20.0 + 300.0 * mean, 6.0)), 0.0, None),
        rng.integers(1, 6, (1_000, 8)),
    ):
        assert not of_one_total(X.astype(float)).any()


def test_many_columns_of_0_and_1_may_be_counts_too() -> None:
    rng = np.random.default_rng(0)
    active = activity(rng, 1_000)
    X = rng.poisson(rates(rng, 1_000)[0] * active)
    rare = np.minimum(rng.poisson(np.full(100, 1e-4) * active), 1)
    assert of_one_total(np.column_stack([X, rare]).astype(float)).all()


@pytest.mark.parametrize("seed", range(3))
def test_whether_totals_differ_by_cluster(seed):
    rng = np.random.default_rng(seed)
    share, y = rates(rng, 1_000)
    assert not totals_tell(rng.poisson(share * activity(rng, 1_000)).astype(float))
    levels = np.array([60.0, 1_500.0, 300.0, 4_000.0])[y][:, None]
    by_cluster = share * levels * np.exp(rng.normal(0.0, 0.4, (1_000, 1)))
    assert totals_tell(rng.poisson(by_cluster).astype(float))
