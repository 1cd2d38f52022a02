"""Rows that come again, in several passes over a data set or as copies, count once."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from scstream import Rules, ScStream
from scstream.sampler.recipe import Batch
from scstream.sampler.repeats import Repeats, without_copies
from scstream.sampler.rules import RULES
from scstream.sampler.window import Forgetting

HALF_LIFE = 5.0


def batch(X, time):
    return Batch(np.asarray(X, dtype=float), np.ones(len(X)), float(time), even=True)


def weights(batches, rules=RULES):
    """Return what the rows of each batch count."""
    repeats, out = Repeats(), []
    for i, X in enumerate(batches):
        counted, repeats = repeats.with_batch(batch(X, i), Forgetting(HALF_LIFE), rules)
        assert np.ptp(counted.weight) == 0.0
        out.append(counted.weight[0])
    return np.array(out), repeats


@pytest.mark.parametrize("shuffled", [False, True])
def test_passes_over_several_batches_count_as_many_rows_as_there_are(shuffled):
    rng = np.random.default_rng(0)
    X, batches = rng.normal(size=(2000, 2)), []
    for _ in range(20):
        X = rng.permutation(X) if shuffled else X
        batches += np.array_split(X, 5)
    counted, _ = weights(batches)
    np.testing.assert_array_equal(counted[:5], 1.0)
    age = np.arange(len(counted))[::-1]
    remembered = 400 * (counted * 0.5 ** (age / HALF_LIFE)).sum()
    assert remembered == pytest.approx(2000, rel=0.15 if shuffled else 1e-3)


@pytest.mark.parametrize("levels", [2, 10, 100, 1000])
def test_rows_that_are_equal_by_chance_count_one(levels):
    """Flags, counts and rounded numbers, many of which were seen before."""
    rng = np.random.default_rng(levels)
    counted, _ = weights([rng.integers(levels, size=(300, 1)) for _ in range(40)])
    np.testing.assert_array_equal(counted, 1.0)


def test_without_the_rule_all_rows_are_new():
    X = np.random.default_rng(0).normal(size=(100, 2))
    model = ScStream(random_state=0, rules=Rules(watched_batches=0))
    for _ in range(3):
        model.partial_fit(X)
    assert sum(cluster.count for cluster in model.clusters_) > 200


@pytest.mark.parametrize("n_batches", [1, 3])
@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_passes_over_a_small_data_set_do_not_tear_its_clusters_apart(load, n_batches, capfd):
    data = load()
    X = StandardScaler().fit_transform(data.data)
    order = np.random.default_rng(0).permutation(len(X))
    model, parts = ScStream(random_state=0), np.array_split(order, n_batches)
    for rows in 8 * parts:
        model.partial_fit(X[rows])
    assert capfd.readouterr().err.count("Several passes over a data set count as one") == 1
    assert sum(cluster.count for cluster in model.clusters_) < 1.3 * len(X)
    assert model.n_clusters_ <= 12  # 60 to 170 before
    assert adjusted_rand_score(data.target, model.predict(X)) > 0.4


# -- copies within a batch -----------------------------------------------------------------------


@pytest.mark.parametrize("family", ["gaussian", "auto", "student"])
@pytest.mark.parametrize("d", [2, 16])
def test_rows_drawn_several_times_are_clustered_as_they_are_alone(d, family):
    """Copies that count would be found as up to 70 clusters."""
    rng = np.random.default_rng(d)
    y = rng.integers(6, size=400)
    X = 9.0 * (np.eye(6, d)[y] if d > 2 else np.column_stack([y % 3, y // 3]))
    X = X + rng.normal(size=(400, d))
    rows = rng.integers(400, size=1200)
    model = ScStream(family, random_state=0).fit(X[rows])
    assert model.n_clusters_ == 6
    assert adjusted_rand_score(y[rows], model.labels_) > 0.95
    assert len(model.labels_) == 1200


def copies(X, weight=None):
    """Return which rows have no weight after all."""
    given = Batch(X, np.ones(len(X)) if weight is None else weight, 0.0, even=True)
    left = without_copies(given)
    assert (left is given) == bool((left.weight == given.weight).all())
    return left.weight == 0.0


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_the_first_of_equal_rows_counts(kind):
    X = np.random.default_rng(0).normal(size=(300, 40)).astype(kind)
    rows = np.r_[np.arange(300), np.arange(0, 300, 3)]
    assert_array_equal(copies(X[rows], np.full(400, 2.0)), np.arange(400) >= 300)
    X[50, 4] = np.nan
    assert_array_equal(copies(X[rows]), np.arange(400) >= 300)


def by_chance():
    rng = np.random.default_rng(1)
    real = rng.normal(size=(2000, 3))
    off = np.where(rng.random((2000, 1)) < 0.3, 0.0, real)
    gaps = np.where(rng.random((2000, 3)) < 0.5, np.nan, real)
    gaps[:500] = np.nan
    return {
        "rounded": np.round(real[:, :2], 1),
        "counts": rng.poisson(3.0, (2000, 2)).astype(float),
        "one column": rng.choice(rng.normal(size=300), (2000, 1)),
        "a state with a name, beside columns": np.column_stack([off, np.sign(real)]),
        "few kinds, each with numbers of its own": real[rng.integers(50, size=2000)],
        "a few copies": np.vstack([real, real[:50]]),
        "nothing": np.zeros((2000, 3)),
        "gaps": gaps,
        "far away, where few numbers are": real + 1e14,
    }


@pytest.mark.parametrize("name", by_chance())
def test_rows_that_are_equal_by_chance_or_mean_something_are_no_copies(name):
    assert not copies(by_chance()[name]).any()


def test_copies_whose_weights_are_given_count():
    X = np.random.default_rng(0).normal(size=(200, 3))
    model = ScStream(random_state=0).partial_fit(np.vstack([X, X]), sample_weight=np.ones(400))
    assert sum(cluster.count for cluster in model.clusters_) == pytest.approx(400)
