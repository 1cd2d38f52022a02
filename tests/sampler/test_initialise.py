"""The over-clustering from which a first batch starts."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from scstream import Gaussian, ScStream
from scstream.core.k_means import k_means
from scstream.sampler.seeding import (
    enough_groups,
    shares_divided,
    sides_of,
)


def on_a_grid(side, n, seed=0):
    """Return rows of side * side clusters ten deviations apart, and these."""
    rng = np.random.default_rng(seed)
    z = rng.integers(side * side, size=n)
    return 10.0 * np.c_[z % side, z // side] + rng.normal(size=(n, 2)), z


@pytest.mark.parametrize(("side", "few"), [(3, 20), (6, 20), (5, 100)])
def test_groups_that_hold_two_clusters_are_found(side, few):
    X, _ = on_a_grid(side, 500)
    z = k_means(X, few, np.random.default_rng(1))
    family = Gaussian().prepare(X)
    got = shares_divided(family, family.statistics(X), z, sides_of(X, z), 1.0)
    assert (got.own > 0.12 and got.same > 0.002) == (side * side > few)


@pytest.mark.parametrize(("side", "least", "most"), [(10, 190, 200), (15, 400, 1000)])
def test_there_are_more_groups_where_clusters_are_more(side, least, most):
    X, _ = on_a_grid(side, 4096)
    rng = np.random.default_rng(0)
    got = enough_groups(Gaussian().prepare(X), X, (200, 1024), rng, 1.0)
    assert least <= len(got) <= most
    assert got[:, 0].sum() == len(X)


def test_hundreds_of_clusters_are_found():
    """A sample of 2,500 rows has six of each: it takes all rows, and more than 200 groups."""
    X, z = on_a_grid(20, 10_000)
    model = ScStream(random_state=0).fit(X)
    assert 390 <= model.n_clusters_ <= 402
    assert adjusted_rand_score(z, model.labels_) > 0.98


def test_separate_groups_are_never_joined_and_each_is_found():
    rng = np.random.default_rng(1)
    truth = np.arange(200) % 8
    E = 30.0 * rng.normal(size=(8, 3))[truth] + 0.1 * rng.normal(size=(200, 3))
    for seed in range(10):
        z = k_means(E, 25, np.random.default_rng(seed))
        assert sorted(set(z)) == list(range(z.max() + 1))
        assert len({(a, b) for a, b in zip(z, truth, strict=True)}) == z.max() + 1
    assert adjusted_rand_score(truth, k_means(E, 8, np.random.default_rng(0))) > 0.7


def test_sparse_and_dense_rows_are_grouped_alike():
    E = np.random.default_rng(2).poisson(1.0, (80, 6)).astype(float)
    for m in (1, 5, 30):
        one = k_means(E, m, np.random.default_rng(3))
        other = k_means(sparse.csr_array(E), m, np.random.default_rng(3))
        assert_array_equal(one, other)


def test_copies_of_a_point_are_one_group():
    E = np.repeat(np.random.default_rng(4).normal(size=(3, 2)) * 1e3, 10, axis=0)
    z = k_means(E, 20, np.random.default_rng(5))
    assert z.max() == 2
    assert adjusted_rand_score(np.arange(30) // 10, z) == 1.0
    assert_array_equal(k_means(np.zeros((7, 2)), 5, np.random.default_rng(6)), 0)
    assert_array_equal(k_means(np.ones((1, 2)), 1, np.random.default_rng(6)), 0)


@pytest.mark.parametrize("seed", [0, 3])
def test_clusters_of_uneven_sizes_are_found_beside_columns_of_noise(seed):
    # broken on purpose (groups are made once): 17 clusters for the second seed
    rng = np.random.default_rng([seed, 7])
    places: list[np.ndarray] = []
    while len(places) < 20:
        place = rng.uniform(0.0, 42.0, size=2)
        if all(np.linalg.norm(place - other) > 7.0 for other in places):
            places.append(place)
    share = np.arange(1.0, 21.0) ** -1.2
    y = rng.choice(20, size=1500, p=share / share.sum())
    told = np.array(places)[y] + rng.normal(size=(1500, 2))
    X = np.hstack([told, 15.0 * rng.normal(size=(1500, 13))])
    model = ScStream(random_state=seed, n_jobs=1).partial_fit(X)
    assert model.n_clusters_ == 20
    assert adjusted_rand_score(y, model.labels_) > 0.99


def test_a_tight_pair_far_from_the_rest_is_still_told_apart():
    # distances are squared, and must not drown in those of points far away
    E = np.concatenate([np.zeros((20, 1)), np.full((20, 1), 1e-3), np.full((20, 1), 100.0)])
    z = k_means(E, 3, np.random.default_rng(7))
    assert adjusted_rand_score(np.arange(60) // 20, z) == 1.0
