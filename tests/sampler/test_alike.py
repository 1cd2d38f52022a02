"""How much rows resemble the one before: what is measured, over which rows, and what they count."""

import numpy as np
import pytest
from scipy.signal import lfilter

from scstream import ScStream
from scstream.sampler.alike import Alike, likeness
from scstream.sampler.recipe import Batch
from scstream.sampler.rules import RULES


def slow(n, r, d=2, seed=0):
    """Return deviations (n, d) with a correlation r from row to row."""
    steps = np.random.default_rng(seed).normal(size=(n, d)) * np.sqrt(1.0 - r**2)
    steps[0] /= np.sqrt(1.0 - r**2)
    return lfilter([1.0], [1.0, -r], steps, axis=0)


def looked(batches, labels=None, better=True):
    """Return what is known after batches of one cluster each, or with labels.

    Whether rows had better count less is given.
    """
    alike = Alike()
    for i, X in enumerate(batches):
        own = np.zeros(len(X), int) if labels is None else labels[i]
        alike = alike.after(
            Batch(X, np.ones(len(X)), float(i), even=True), own, RULES, lambda *_: better
        )
    return alike


@pytest.mark.parametrize("r", [0.0, 0.5, 0.9])
def test_the_correlation_is_that_of_deviations_within_clusters(r):
    y = np.random.default_rng(1).permutation(20_000) % 3
    X = np.empty((20_000, 2))
    for i in range(3):
        X[y == i] = 50.0 * i + slow(np.sum(y == i), r, seed=i)
    found = likeness(X, y)
    assert found.correlation == pytest.approx(r, abs=0.04)
    assert likeness(X, np.arange(len(X))).correlation == 0.0  # one row each


def test_times_beside_readings_do_not_hide_them():
    X = np.column_stack([slow(800, 0.97), np.arange(800)])
    assert likeness(X, np.zeros(800, int)).correlation > 0.8


def test_a_row_counts_as_many_independent_ones_as_it_says():
    r = looked([slow(10_000, 0.8, d=3)])
    assert r.weight == pytest.approx(0.2 / 1.8, rel=0.15)
    assert looked([slow(10_000, 0.5, d=3)]).weight == 1.0


def test_rows_count_less_only_if_later_ones_are_predicted_better_so():
    found = looked([slow(10_000, 0.8, d=3)], better=False)
    assert found.weight == 1.0
    assert found.likeness.correlation > 0.7


def around(n, loops, seed=0):
    """Return rows that go round and round: neighbours are alike, and all places come again."""
    rng, at = np.random.default_rng(seed), np.linspace(0.0, 2.0 * np.pi * loops, n)
    far = 10.0 + 3.0 * np.cos(5.0 * at)
    X = np.column_stack([far * np.cos(at), far * np.sin(at), 4.0 * np.sin(2.0 * at)])
    return X + 0.3 * rng.normal(size=X.shape)


def test_places_that_come_again_are_clusters_however_alike_neighbours_are():
    # broken on purpose (nothing is predicted): 11 clusters or fewer
    readings = [slow(1000, 0.98, d=3, seed=seed) for seed in range(3)]
    weights, models = [], []
    for batches in (readings, [around(1000, 2, seed) for seed in range(3)]):
        models.append(ScStream(random_state=0))
        for X in batches:
            models[-1].partial_fit(X)
        weights.append(models[-1]._learner.alike.weight)
    assert models[1]._learner.alike.likeness.correlation > RULES.alike
    assert models[1]._learner.alike.likeness.farther > RULES.alike_farther
    assert weights[0] < 0.2
    assert weights[1] == 1.0


@pytest.mark.parametrize("n", [250, 1000])
def test_a_batch_counts_as_many_points_as_show_clusters(n):
    assert looked([slow(n, 0.999)]).weight == pytest.approx(max(RULES.alike_points / n, 0.001))


def test_rows_of_small_batches_are_looked_at_together():
    X = slow(400, 0.9)
    first = looked(np.split(X, 4)[:1])
    assert (first.looked, len(first.rows)) == (0, 100)
    assert first.rows.base is None  # who gave them may write over them
    both = looked(np.split(X, 4)[:2])
    assert (both.looked, len(both.rows)) == (200, 0)
    assert both.likeness.correlation > 0.7


def test_clusters_that_move_from_batch_to_batch_are_others_in_each():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(50, 2)) + 10.0 * i for i in range(8)]
    assert looked(X).likeness.correlation < 0.2


def test_rows_with_gaps_say_nothing():
    X = slow(500, 0.9)
    X[7] = np.nan
    assert looked([X]).looked == 0
