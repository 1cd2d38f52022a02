"""Rows that come again: several passes over one data set count as one."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from scstream import Rules, ScStream
from scstream.sampler.recipe import Batch
from scstream.sampler.repeats import Repeats
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
