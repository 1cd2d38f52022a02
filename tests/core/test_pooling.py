"""What Gaussian clusters pool, the row of a prior, and the ends of columns."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

MOST, WIDE, ASTRAY = 0.8, 100.0, 10.0


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def statistics(X):
    row, col = np.triu_indices(X.shape[1])
    return np.column_stack([np.ones(len(X)), X, X[:, row] * X[:, col]]).sum(axis=0)


def clusters(rng, n, d, scale=None):
    """Return the statistics of clusters, and their rows less their means."""
    scale = np.ones(len(n)) if scale is None else scale
    rows = [rng.normal(size=d) + s * rng.normal(size=(m, d)) for m, s in zip(n, scale, strict=True)]
    return np.array(list(map(statistics, rows))), np.concatenate([x - x.mean(axis=0) for x in rows])


@pytest.mark.parametrize("n", [[3, 2, 4], [200, 300, 100]])
def test_the_covariance_within_clusters_is_pooled_and_shrunk(core, rng, n):
    s, rest = clusters(rng, n, 3)
    out = np.empty((3, 3))
    assert core.pool(s, MOST, WIDE, out) == (sum(n) - 3, False)
    scatter, spare = rest.T @ rest, sum(n) - 3
    expected = scatter / (spare + 3.0)
    np.fill_diagonal(expected, (1.0 + 1e-6) * np.diag(scatter) / spare + 1e-14)
    assert_allclose(out, expected, rtol=1e-12)


def test_columns_that_determine_each_other_are_not_shrunk(core, rng):
    s, rest = clusters(rng, [300, 300], 2)
    thin = np.array([[1.0, 1.0], [0.0, 1e-3]])
    rows = [rng.normal(size=(300, 2)) @ thin for _ in range(2)]
    s, out = np.array(list(map(statistics, rows))), np.empty((2, 2))
    core.pool(s, MOST, WIDE, out)
    rest = np.concatenate([x - x.mean(axis=0) for x in rows])
    assert_allclose(out, rest.T @ rest / 598.0, rtol=1e-8)
    s[:, 1], s[:, 3:5] = 0.0, 0.0  # a column of zeros says nothing of the other
    core.pool(s, MOST, WIDE, out)
    assert_array_equal(out[0], [1e-14, 0.0])


def test_few_rows_that_are_far_wider_or_further_out_stand_out(core, rng):
    s, _ = clusters(rng, [100, 100, 5], 2, [1.0, 1.0, 100.0])
    out, mean = np.empty((2, 2)), np.empty(2)
    assert core.pool(s, MOST, WIDE, out)[1]
    assert not core.pool(s[:2], MOST, WIDE, out)[1]
    near, far = rng.normal(size=(200, 2)), 1e3 + rng.normal(size=(5, 2))
    s = np.array([statistics(near[:100]), statistics(near[100:]), statistics(far)])
    assert core.middle(s, MOST, ASTRAY, mean)
    assert_allclose(mean, np.concatenate([near, far]).mean(axis=0))
    assert not core.middle(s[:2], MOST, 1e6, mean)


def test_a_prior_is_rows_that_it_is_worth(core, rng):
    mean, psi, row = rng.normal(size=2), np.array([[2.0, 0.5], [0.5, 1.0]]), np.empty(6)
    level = core.set_prior(0.5, 6.0, mean, psi, row)
    square = 6.0 * psi + 0.5 * np.outer(mean, mean)
    assert_allclose(row, [0.5, *(0.5 * mean), *square[np.triu_indices(2)]], rtol=1e-15)
    out = np.empty(1)
    core.log_normalisers(np.zeros((1, 6)), row, 5.5, out)
    assert level == out[0]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_ends_of_columns_are_widened_by_numbers_alone(core, kind):
    ends = np.array([[0.0, np.nan, np.nan], [1.0, np.nan, np.nan]])
    rows = np.array([[0.5, np.nan, 3.0], [-2.0, np.nan, np.nan], [0.0, np.nan, 7.5]], kind)
    core.widen_ends(rows[:0], ends)
    core.widen_ends(rows, ends)
    assert_array_equal(ends, [[-2.0, np.nan, 3.0], [1.0, np.nan, 7.5]])
