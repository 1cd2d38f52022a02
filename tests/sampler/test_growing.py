"""Streams whose clusters become wider or narrower: what is expected of clusters follows them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score

from scstream import Diagonal, Gaussian, ScStream, Spherical

K, D, N = 8, 16, 200


def growing(seed, rate, n_batches=20):
    """Give batches of clusters all of whose measures grow by a rate."""
    rng = np.random.default_rng(seed)
    mean = 2.0 * rng.normal(size=(K, D))
    for b in range(n_batches):
        y = rng.integers(K, size=N)
        yield rate**b * (mean[y] + rng.normal(size=(N, D))), y


@pytest.mark.parametrize("rate", [0.85, pytest.param(1.15, marks=pytest.mark.slow)])
@pytest.mark.parametrize("family", ["gaussian", "diagonal", "spherical"])
def test_clusters_that_grow_or_shrink_are_followed(family, rate) -> None:
    model = ScStream(family, random_state=0)
    for X, y in growing(0, rate):
        model.partial_fit(X)
        assert adjusted_rand_score(y, model.labels_) > 0.9


@pytest.mark.parametrize("family", [Gaussian, Diagonal, Spherical])
def test_a_prior_that_is_given_stays(family) -> None:
    given = "cov" if family is Gaussian else "variance"
    model = ScStream(family(mean=np.zeros(D), **{given: 2.0}), random_state=0)
    for X, _ in growing(0, 1.1, n_batches=3):
        model.partial_fit(X)
        prior = model._learner.family.hyperparameters()
        assert_allclose(prior["mean"], 0.0, atol=1e-12)
        assert_allclose(prior[given], 2.0 * np.eye(D) if family is Gaussian else 2.0, atol=1e-12)


def test_the_expected_covariance_goes_half_of_the_way() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3)) @ np.diag([1.0, 2.0, 3.0])
    family = Gaussian().prepare(X)
    T = family.statistics(X)
    groups = np.repeat(np.eye(3), 300, axis=0).T @ T
    family = family.adapt(groups)
    later = family.follow(groups, 4.0 * groups)  # each point four times, about the same centres
    z = family.embed(X).reshape(3, 300, 3)
    z -= z.mean(axis=1, keepdims=True)
    scatter = np.einsum("gni,gnj->ij", z, z)

    def within(times):
        spare = 900 * times - 3
        shrunk = times * scatter / (spare + 3)
        return shrunk + np.diag(np.diag(shrunk)) * 3 / spare

    assert_allclose(later._psi, 0.5 * (family._psi + family._share * within(4.0)), rtol=3e-6)
    few = family.follow(groups, 0.02 * groups)  # 18 points, less three, against 50 of the prior
    expected = (50 * family._psi + 15 * family._share * within(0.02)) / 65
    assert_allclose(few._psi, expected, rtol=3e-6)
    none = family.follow(groups, 0.0 * groups)
    assert_array_equal(none._psi, family._psi)
