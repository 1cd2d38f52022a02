"""Clusters of a few rows that are far wider, or further out, than all others."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from scstream import Diagonal, Gaussian, Spherical
from scstream.families.restraint import factors_of, gaussian_middles, middles, restrained
from scstream.kernels import pooling


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


def random_clusters(rng):
    """Return statistics of clusters of all sizes, widths and places."""
    d, k = int(rng.integers(1, 4)), int(rng.integers(1, 9))
    clusters = np.zeros((k, 1 + d + d * (d + 1) // 2))
    for row in clusters:
        n = int(10 ** rng.uniform(0.0, 3.0))
        width = 10 ** rng.normal(0.0, 1.0, size=d)
        z = 10 ** rng.normal(0.0, 1.0, size=d) + width * rng.normal(size=(n, d))
        row[0], row[1 : 1 + d] = n, z.sum(axis=0)
        row[1 + d :] = (z.T @ z)[np.triu_indices(d)]
    return clusters, d


def test_a_quick_look_finds_the_same():
    rng, found = np.random.default_rng(0), [0, 0, 0]
    for _ in range(400):
        clusters, d = random_clusters(rng)
        n, z = np.repeat(clusters[:, :1], d, axis=1), clusters[:, 1 : 1 + d]
        i, j = np.triu_indices(d)
        scatter = clusters[:, 1 + d :][:, i == j] - z**2 / n
        wide = factors_of(n, scatter) is not None
        assert pooling.outlying(clusters, d) == wide
        assert len(restrained(clusters, d)) == 1 + wide
        far = len(middles(n, z)) == 2
        psi, to = np.eye(d), (np.empty(d), np.empty((d, d)))
        _, looked_at, outlying = pooling.expected(clusters, clusters, psi, 1.0, 1.0, *to)
        assert outlying == wide
        found[0] += wide
        found[1] += far
        found[2] += far and looked_at
        if looked_at:
            assert_allclose(gaussian_middles(clusters, d), middles(n, z))
    assert found[0] > 50
    assert found[2] > 20
    assert found[2] >= 0.9 * found[1]  # who is looked at less is hardly too far


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


def test_clusters_that_are_all_unlike_are_pooled_as_they_are():
    rng = np.random.default_rng(2)
    clusters, d = random_clusters(rng)
    clusters[:, 0] = 0.0  # nobody is there
    assert len(restrained(clusters, d)) == 1
    family = Gaussian().prepare(rng.normal(size=(50, d)))
    assert family.follow(clusters, clusters) is family


def plain_quantile(count, values, share):
    """Return the least value that at least a share of rows do not exceed, by counting."""
    reached = [count[values <= v].sum() >= share * count.sum() * (1 - 1e-12) for v in values]
    return values[np.array(reached)].min()


@pytest.mark.parametrize("k", [1, 2, 3, 10, 100, 1000])
def test_middles_and_factors_are_those_of_a_plain_count(k):
    rng = np.random.default_rng(k)
    count = rng.exponential(10.0, size=(k, 2))
    mean = np.round(rng.standard_cauchy(size=(k, 2)), 1)  # some are equal, some far out
    square = rng.standard_cauchy(size=(k, 2)) ** 4
    factors = factors_of(count, count * square)
    most = np.array([100.0 * plain_quantile(count[:, j], square[:, j], 0.8) for j in range(2)])
    expected = np.minimum(1.0, most / square)
    assert_allclose(1.0 if factors is None else factors, expected, rtol=1e-9)
    whole, *held = middles(count, count * mean)
    assert_allclose(whole, (count * mean).sum(axis=0) / count.sum(axis=0))
    centre = np.array([plain_quantile(count[:, j], mean[:, j], 0.5) for j in range(2)])
    off = mean - centre
    most = np.array([100.0 * plain_quantile(count[:, j], off[:, j] ** 2, 0.8) for j in range(2)])
    far = (off**2 > most).any()
    assert len(held) == far
    if far:
        less = np.clip(off, -np.sqrt(most), np.sqrt(most))
        back = centre + (count * less).sum(axis=0) / count.sum(axis=0)
        assert_allclose(held[0], back, rtol=1e-6, atol=1e-9)
