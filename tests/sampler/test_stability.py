"""Clusters of a whole data set of few rows that are not found again without some of them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, load_wine
from sklearn.metrics import adjusted_rand_score

from scstream import Rules, ScStream
from scstream.sampler.stability import _folds, _merged, _table

AS_FOUND = Rules(folds=0)


def far_apart(n: int = 600, k: int = 12) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.arange(n) % k
    return 20.0 * rng.normal(size=(k, 3))[y] + rng.normal(size=(n, 3)), y


def test_pieces_of_skewed_classes_become_one():
    X, y = load_wine(return_X_y=True)
    for seed in range(3):
        model = ScStream(random_state=seed).fit(X)
        found = ScStream(random_state=seed, rules=AS_FOUND).fit(X)
        assert model.n_clusters_ < found.n_clusters_
        assert adjusted_rand_score(y, model.labels_) > 0.84
        assert adjusted_rand_score(y, model.labels_) > adjusted_rand_score(y, found.labels_)


def test_clusters_far_apart_stay_as_they_are():
    X, y = far_apart()
    model = ScStream(random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1.0
    np.testing.assert_array_equal(
        model.labels_, ScStream(random_state=0, rules=AS_FOUND).fit(X).labels_
    )


@pytest.mark.parametrize("family", ["gaussian", "student", "diagonal"])
def test_what_is_left_adds_up(family):
    rng = np.random.default_rng(1)
    X = np.exp(rng.normal(size=(400, 3))) + np.array([[0.0], [30.0]])[np.arange(400) % 2]
    model = ScStream(family, random_state=0).fit(X)
    state = model._learner.state
    sizes = np.bincount(model.labels_, minlength=len(state.ids))
    assert model.n_clusters_ == len(np.unique(model.labels_))
    np.testing.assert_allclose(state.totals[:, 0], sizes[state.ids])
    assert np.mean(model.predict(X) == model.labels_) > 0.97


def test_a_batch_that_others_follow_is_left_as_it_is():
    X, _ = load_wine(return_X_y=True)
    model = ScStream(random_state=0).partial_fit(X)
    assert model.n_clusters_ == ScStream(random_state=0, rules=AS_FOUND).fit(X).n_clusters_


def test_more_rows_than_groups_are_made_from_are_left_as_they_are():
    X, _ = load_iris(return_X_y=True)
    few = Rules(seed_rows=149)
    same = ScStream(random_state=0, rules=few).fit(X).labels_
    alone = Rules(seed_rows=149, folds=0)
    np.testing.assert_array_equal(same, ScStream(random_state=0, rules=alone).fit(X).labels_)


def test_counts_and_sparse_rows():
    rng = np.random.default_rng(2)
    words = rng.dirichlet(np.full(30, 0.1), size=5)
    X = np.array([rng.multinomial(60, words[i % 5]) for i in range(300)])
    y = np.arange(300) % 5
    dense = ScStream("multinomial", random_state=0).fit(X)
    assert adjusted_rand_score(y, dense.labels_) > 0.95
    thin = ScStream("multinomial", random_state=0).fit(sparse.csr_matrix(X))
    np.testing.assert_array_equal(thin.labels_, dense.labels_)


def test_every_row_is_left_out_once():
    out = np.array(_folds(100, 3))
    np.testing.assert_array_equal(out.sum(axis=0), 1)
    assert out.sum(axis=1).min() >= 33


def test_the_table_holds_weights_of_rows_that_have_a_cluster():
    table = _table(np.array([0, 1, 1, 0]), np.array([2, 0, -1, 2]), np.array([1.0, 2, 4, 8]), 3)
    np.testing.assert_array_equal(table, [[0, 0, 9], [2, 0, 0]])


class _Steps:
    rules = Rules(confused=0.35)


class _State:
    def __init__(self, k: int) -> None:
        self.k = k


def merges_of(monkeypatch, table: list[list[float]]) -> tuple[list[tuple[int, int]], int]:
    """Return the merges, by the places of that time, that a table asks for, and what is left."""
    merges = []

    def merged(steps, state, pairs):
        merges.append(tuple(pairs[0].tolist()))
        to = np.arange(state.k)
        to[pairs[0, 1]] = pairs[0, 0]
        return _State(state.k - 1), np.unique(to, return_inverse=True)[1]

    monkeypatch.setattr("scstream.sampler.stability.merged", merged)
    return merges, _merged(_Steps(), _State(len(table[0])), np.array(table)).k


def test_the_pair_most_alike_is_merged(monkeypatch):
    table = [[10.0, 90, 0, 0], [0, 10, 60, 10], [0, 0, 50, 0], [0, 0, 0, 90]]
    assert merges_of(monkeypatch, table) == ([(0, 1)], 3)


def test_what_is_merged_is_compared_with_the_others_as_a_whole(monkeypatch):
    table = [[50.0, 50, 0], [50, 0, 25], [0, 50, 25], [0, 0, 50]]  # a quarter, then a half
    assert merges_of(monkeypatch, table) == ([(0, 1), (0, 1)], 1)


def test_nothing_alike_is_nothing_merged():
    X, _ = load_iris(return_X_y=True)
    assert ScStream(random_state=0, rules=Rules(confused=0.0)).fit(X).n_clusters_ <= 3
    everything = ScStream(random_state=0, rules=Rules(confused=1.0)).fit(X)
    found = ScStream(random_state=0, rules=AS_FOUND).fit(X)
    np.testing.assert_array_equal(everything.labels_, found.labels_)
