"""The over-clustering from which a first batch starts."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from problems import PROBLEMS, problem
from reference import groups as plain
from sampler.driving import is_sparse
from scipy import sparse, stats
from sklearn.metrics import adjusted_rand_score

from scstream import Gaussian, ScStream
from scstream.families.k_means import _plus_plus, k_means
from scstream.sampler.seeding import (
    enough_groups,
    in_deviations_within,
    informative_columns,
    over_cluster,
    shares_divided,
    sides_of,
)
from scstream.support.threads import allowed

RARE = 1e-9  # the chance that one statistical comparison refuses a right program


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("m", [1, 3, 12, 100])
def test_groups_add_up_to_all_rows(name, m):
    case = problem(name)
    got = over_cluster(case.family, case.points, m, np.random.default_rng(0))
    assert 1 <= len(got) <= m
    assert np.all(got[:, 0] >= 1.0)  # no group without rows
    assert_allclose(got.sum(axis=0), case.T.sum(axis=0), atol=1e-9)


def on_a_grid(side, n, seed=0):
    """Return rows of side * side clusters ten deviations apart, and these."""
    rng = np.random.default_rng(seed)
    z = rng.integers(side * side, size=n)
    return 10.0 * np.c_[z % side, z // side] + rng.normal(size=(n, 2)), z


@pytest.mark.parametrize(("side", "few"), [(3, 20), (6, 20), (5, 100)])
def test_groups_that_hold_two_clusters_are_found_as_in_the_reference(side, few):
    X, _ = on_a_grid(side, 500)
    z = k_means(X, few, np.random.default_rng(1))
    family = Gaussian().prepare(X)
    got = shares_divided(family, family.statistics(X), z, sides_of(X, z), 1.0)
    assert got == pytest.approx(plain.shares_divided(family, X, z, 1.0))
    assert (got.own > 0.12 and got.same > 0.002) == (side * side > few)


@pytest.mark.parametrize(("side", "least", "most"), [(10, 190, 200), (15, 400, 1000)])
def test_there_are_more_groups_where_clusters_are_more(side, least, most):
    X, _ = on_a_grid(side, 4096)
    rng = np.random.default_rng(0)
    got = enough_groups(Gaussian().prepare(X), X, (200, 1024), rng, 1.0)
    assert least <= len(got) <= most
    assert got[:, 0].sum() == len(X)


def test_equal_rows_are_no_two_clusters():
    X, z = np.repeat(np.arange(12.0).reshape(6, 2), 10, axis=0), np.repeat(np.arange(6), 10)
    family = Gaussian().prepare(X)
    got = shares_divided(family, family.statistics(X), z, sides_of(X, z), 1.0)
    assert got == (0.0, 0.0) == plain.shares_divided(family, X, z, 1.0)


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


@pytest.mark.parametrize(("n", "d", "m"), [(700, 2, 40), (300, 40, 12), (5, 3, 5), (257, 1, 3)])
def test_groups_are_those_of_plain_k_means(n, d, m):
    rng = np.random.default_rng(n)
    E = 3.0 * rng.normal(size=(7, d))[rng.integers(7, size=n)] + rng.normal(size=(n, d))
    expected = plain.k_means(E, m, np.random.default_rng(9))
    assert_array_equal(k_means(E, m, np.random.default_rng(9)), expected)


def test_groups_are_the_same_on_any_number_of_threads():
    E = np.random.default_rng(10).normal(size=(9000, 3))
    found = []
    for n_threads in (1, 3):
        with allowed(n_threads):
            found.append(k_means(E, 60, np.random.default_rng(11)))
    assert_array_equal(*found)


def test_whether_most_clusters_have_few_points_does_not_hang_on_rounding():
    assert is_sparse([9.0, 8.0, 16.0], 16)
    assert not is_sparse([8.0, 8.0, 16.0], 16)
    assert not is_sparse([8.0, 8.0 + 2.0**-45, 16.0], 16)
    assert not is_sparse([8.0, 16.0 - 2.0**-48], 16)


def test_copies_of_a_point_are_one_group():
    E = np.repeat(np.random.default_rng(4).normal(size=(3, 2)) * 1e3, 10, axis=0)
    z = k_means(E, 20, np.random.default_rng(5))
    assert z.max() == 2
    assert adjusted_rand_score(np.arange(30) // 10, z) == 1.0
    assert_array_equal(k_means(np.zeros((7, 2)), 5, np.random.default_rng(6)), 0)
    assert_array_equal(k_means(np.ones((1, 2)), 1, np.random.default_rng(6)), 0)


def test_columns_tell_by_how_flat_they_are():
    rng = np.random.default_rng(0)
    two = 4.0 * rng.integers(2, size=1000) + rng.normal(size=1000)
    E = np.column_stack([rng.normal(size=1000), 100.0 * two, rng.standard_t(3, size=1000)])
    weight = informative_columns(E)
    assert weight is not None
    spread = weight * E.std(axis=0)
    assert spread[1] > 1.0
    assert_allclose(spread[2], 0.05)
    assert spread[0] < 0.5
    assert informative_columns(E[:, [0, 2, 2]]) is None
    assert informative_columns(E[:, 1:]) is None  # of two columns both matter
    assert informative_columns(sparse.csr_array(E)) is None
    assert informative_columns(np.zeros((10, 4))) is None


def test_rows_in_deviations_within_groups_have_round_groups():
    # broken on purpose (units of variances): deviations are not 1
    rng = np.random.default_rng(1)
    z = rng.integers(3, size=600)
    mix = np.array([[3.0, 0.0, 0.0], [1.0, 0.2, 0.0], [0.0, 0.0, 40.0]])
    E = 50.0 * rng.normal(size=(3, 3))[z] + rng.normal(size=(600, 3)) @ mix
    got = in_deviations_within(E, z)
    assert got is not None
    off = got - np.array([got[z == c].mean(axis=0) for c in range(3)])[z]
    assert_allclose(off.T @ off, np.eye(3), atol=1e-8)
    assert in_deviations_within(rng.normal(size=(600, 3)), z) is None  # they are round as they are
    assert in_deviations_within(sparse.csr_array(E), z) is None
    assert in_deviations_within(np.zeros((600, 3)), z) is None
    flat = in_deviations_within(np.column_stack([E, np.ones(600)]), z)  # a direction without noise
    assert flat is not None
    assert np.isfinite(flat).all()


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


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_centres_are_drawn_by_their_squared_distance(form):
    # broken on purpose (the uniform squared): it fails
    E = np.array([[0.0], [1.0], [3.0], [4.0]])
    rows, rng, n, own = form(E), np.random.default_rng(8), 1500, E[:, 0] ** 2
    seen = np.zeros((4, 4))
    for _ in range(n):
        (first, second), z = _plus_plus(rows, own, 2, rng)
        seen[first, second] += 1
        assert_array_equal(z, np.argmin(np.abs(E - E[[first, second], 0]), axis=1))
    square = (E - E.T) ** 2
    expected = n / 4 * square / square.sum(axis=1, keepdims=True)
    apart = ~np.eye(4, dtype=bool)
    assert not seen[~apart].any()
    assert stats.chisquare(seen[apart], expected[apart]).pvalue > RARE
