"""The rows in which boundaries are looked for: few, evenly spread, of clusters that touch."""

import numpy as np
import pytest
from scipy import sparse

from scstream import ScStream
from scstream.groups.rows import rows_of, together
from scstream.sampler.recipe import Batch
from scstream.sampler.rules import RULES


def taken(X, labels, near, most=100, weight=None):
    even = weight is None
    batch = Batch(X, np.ones(X.shape[0]) if even else weight, 0.0, even=even)
    return rows_of(batch, labels, np.array(near), most)


def test_a_large_batch_is_thinned_evenly():
    X = taken(np.arange(1000.0)[:, None], np.zeros(1000, dtype=int), [0])
    np.testing.assert_array_equal(X[:, 0], np.arange(0, 1000, 10))


def test_rows_of_other_clusters_and_without_weight_are_left_out():
    X, labels = np.arange(12.0)[:, None], np.arange(12) % 3
    weight = np.where(np.arange(12) < 3, 0.0, 1.0)
    assert taken(X, labels, [0, 2], weight=weight)[:, 0].tolist() == [3, 5, 6, 8, 9, 11]
    assert len(taken(X, labels, [])) == 0


def test_rows_are_those_of_the_batch_no_more_when_the_user_changes_them():
    X = np.arange(4.0)[:, None]
    rows = taken(X, np.zeros(4, dtype=int), [0])
    X[:] = 9.0
    assert rows[:, 0].tolist() == [0, 1, 2, 3]


def test_sparse_rows_stay_sparse():
    X = sparse.csr_array(np.eye(3))
    rows = together((taken(X, np.arange(3), [0, 2]), taken(X, np.arange(3), [1])))
    assert sparse.issparse(rows)
    assert rows.toarray().argmax(axis=1).tolist() == [0, 2, 1]


@pytest.mark.parametrize("level", [None, 0.3])
def test_rows_stored_are_bounded(level):
    rng = np.random.default_rng(2)
    model, most = ScStream(random_state=0, group_level=level), 0
    for _ in range(80):
        X = rng.normal(size=(70, 2)) + 3.5 * rng.integers(2, size=(70, 1))
        grouping = model.partial_fit(X)._grouping
        most = max(most, sum(len(part) for part in grouping.pending))
    assert most <= RULES.group_rows
    if level is None:
        assert most > 0.5 * RULES.group_rows
