"""The rows that seams are looked for in: few, spread over the batch, and with their clusters."""

import numpy as np
import pytest

from scstream import ScStream
from scstream.groups.sample import fresh, in_chunks, rows_of, together
from scstream.groups.shapes import Shapes
from scstream.sampler.recipe import Batch
from scstream.sampler.rules import RULES


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2)) + 20.0 * rng.integers(2, size=(600, 1))
    return ScStream(random_state=0).partial_fit(X)


def taken(X, labels, most=100, weight=None):
    even = weight is None
    batch = Batch(X, np.ones(X.shape[0]) if even else weight, 0.0, even=even)
    return rows_of(batch, labels, most)


def test_a_large_batch_is_thinned_evenly():
    X, labels = taken(np.arange(1000.0)[:, None], np.arange(1000))
    np.testing.assert_array_equal(X[:, 0], np.arange(0, 1000, 10))
    np.testing.assert_array_equal(labels, X[:, 0])


def test_rows_from_elsewhere_are_old_where_clusters_have_moved(model):
    shapes = Shapes.of(model._learner, RULES)
    rng = np.random.default_rng(1)
    names = [cluster.id for cluster in model.clusters_]
    place = np.array([cluster.mean for cluster in model.clusters_])
    z = rng.integers(2, size=1500)
    now = place[z] + rng.normal(size=(1500, 2)), np.array(names)[z]
    moved = now[0] + 2.0, now[1]
    assert len(fresh((now, now, now), shapes, RULES)) == 3
    assert len(fresh((now, moved, now), shapes, RULES)) == 1
    gone = now[0], now[1] + 1000
    assert len(fresh((gone, now, now), shapes, RULES)) == 2
    assert len(fresh((moved, now), shapes, RULES)) == 2  # few rows are all fresh


def test_small_batches_are_put_together_and_keep_their_order():
    parts = tuple(
        (np.full((n, 1), float(i)), np.full(n, i)) for i, n in enumerate([2, 3, 1, 9, 4, 4, 1])
    )
    chunks = in_chunks(parts, 6)
    assert [len(X) for X, _ in chunks] == [6, 9, 4, 5]
    np.testing.assert_array_equal(together(chunks, 1)[0], together(parts, 1)[0])
    np.testing.assert_array_equal(together(chunks, 1)[1], together(parts, 1)[1])
    assert in_chunks((), 6) == ()


@pytest.mark.parametrize("level", [None, 0.3])
def test_rows_kept_are_bounded_and_not_those_of_the_user(level):
    rng = np.random.default_rng(2)
    model, rows, told = ScStream(random_state=0, group_level=level), np.empty((70, 2)), []
    for _ in range(150):
        rows[:] = rng.normal(size=(70, 2)) + 20.0 * rng.integers(2, size=(70, 1))
        told.append(rows.copy())
        kept = model.partial_fit(rows)._grouping.known[1]
        assert len(kept) <= RULES.group_parts
        rows[:] = 0.0
        model.labels_[:] = 0
        whole = together(kept, 2)
        assert len(whole[0]) <= RULES.group_kept
        latest = np.concatenate(told)[-len(whole[0]) :] if len(whole[0]) else whole[0]
        np.testing.assert_array_equal(whole[0], latest)
        assert set(np.unique(whole[1]).tolist()) <= set(range(model._learner.state.next_id))
    if level is None:
        assert len(whole[0]) > 0.6 * RULES.group_kept
