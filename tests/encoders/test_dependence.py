"""Columns that depend on each other within clusters, and others that do not."""

import numpy as np
import pytest

from scstream.encoders.dependence import depend_on_each_other


def images(rng, n, d=8, k=6, grey=16):
    """Return images (n, d * d) of k kinds: three blots each, about the same places."""
    y, places = rng.integers(k, size=n), rng.uniform(1.0, d - 2.0, (k, 3, 2))
    across, down = np.meshgrid(np.arange(d), np.arange(d))
    X = np.zeros((n, d, d))
    for blot in range(3):
        at = (places[y, blot] + rng.normal(0.0, 0.4, (n, 2)))[:, :, None, None]
        X += np.exp(-((across - at[:, 0]) ** 2 + (down - at[:, 1]) ** 2) / 2.5)
    X = grey * X * rng.uniform(0.7, 1.0, (n, 1, 1)) + rng.normal(0.0, 0.02 * grey, X.shape)
    return np.clip(np.rint(X), 0.0, grey).reshape(n, -1), y


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("n", "grey"), [(300, 16), (2_000, 255), (2_000, 4)])
def test_pixels_do(seed, n, grey):
    assert depend_on_each_other(images(np.random.default_rng(seed), n, grey=grey)[0])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("k", "d"), [(3, 6), (4, 30), (40, 6)])
def test_counts_and_marks_that_are_independent_in_clusters_do_not(seed, k, d):
    rng = np.random.default_rng(seed)
    y, rate = rng.integers(k, size=1_000), np.exp(rng.normal(2.0, 1.0, (k, d)))
    shares = rng.dirichlet(np.full(5, 0.8), (k, d))
    marks = (rng.random((1_000, d, 1)) > np.cumsum(shares[y], axis=2)).sum(axis=2)
    wide = rate[y] * rng.gamma(2.0, 0.5, (1_000, d))
    for X in (rng.poisson(rate[y]), rng.poisson(wide), 1 + np.minimum(marks, 4)):
        assert not depend_on_each_other(X.astype(float))


def test_few_rows_or_columns_show_nothing() -> None:
    X = images(np.random.default_rng(0), 300)[0]
    assert not depend_on_each_other(X[:50])
    assert not depend_on_each_other(X[:, 20:23])
    assert not depend_on_each_other(np.ones((300, 8)))
    assert not depend_on_each_other(np.zeros((300, 0)))
    assert not depend_on_each_other(np.zeros((0, 8)))
