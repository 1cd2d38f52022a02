"""Clusters of a few rows that are far wider, or further out, than all others."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from scstream import Diagonal, Gaussian, Spherical
from scstream.families.pooling import factors_of, middles


def test_a_few_rows_that_are_far_wider_are_cut_down_to_a_hundred_times_the_others():
    count = np.array([[500.0], [450.0], [50.0]])
    variance = np.array([[1.0], [2.0], [1e6]])
    assert_allclose(factors_of(count, count * variance), [[1.0], [1.0], [200.0 / 1e6]])
    assert factors_of(count, count * np.array([[1.0], [2.0], [199.0]])) is None
    many = np.array([[500.0], [200.0], [300.0]])  # which are not a few
    assert factors_of(many, many * variance) is None


def test_means_far_out_are_held_back():
    count, mean = np.array([[400.0], [500.0], [10.0]]), np.array([[-1.0], [1.0], [1e6]])
    whole, held = middles(count, count * mean)
    assert_allclose(whole, (count * mean).sum() / 910.0)
    # the median is 1; of most rows none is further from it than 2
    assert_allclose(held, 1.0 + (400.0 * -2.0 + 10.0 * 20.0) / 910.0)
    assert len(middles(count[:2], count[:2] * mean[:2])) == 1


def clusters_of(family, X, y):
    T = family.statistics(X)
    return np.stack([T[y == c].sum(axis=0) for c in range(int(y.max()) + 1)])


def faulty(rng, n=1000):
    """Return rows of four clusters, twenty of them anywhere, and labels."""
    y = rng.integers(4, size=n)
    X = 8.0 * rng.normal(size=(4, 3))[y] + rng.normal(size=(n, 3))
    y[:20] = 4
    X[:20] = 1e4 * rng.normal(size=(20, 3))
    return X, y


@pytest.mark.parametrize("kind", [Gaussian, Diagonal, Spherical])
def test_faulty_rows_do_not_say_what_a_cluster_looks_like(kind):
    rng = np.random.default_rng(1)
    X, y = faulty(rng)
    family = kind().prepare(X)
    clusters = clusters_of(family, X, y)
    psi, units = [], family._scale**2
    for some in (clusters, clusters[:4]):
        adapted = family.adapt(some)
        for _ in range(20):
            adapted = adapted.follow(some, some)
        expected = np.diag(adapted._psi) if adapted._psi.ndim == 2 else adapted._psi
        psi.append(expected * units)
        assert np.abs(adapted._m * family._scale).max() < 30.0  # of means within 8
    assert (psi[0] < 3.0 * psi[1]).all()
