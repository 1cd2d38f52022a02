"""pcStream finds contexts that last, and comes back to them."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.contestants.base import Task
from benchmarks.contestants.pcstream import CONTESTANTS, PcStream, _principal_components
from scstream.metrics import Contingency

MEANS = np.array([[0.0, 0.0, 0.0], [20.0, 0.0, 0.0], [0.0, 20.0, 0.0]])


def points_of(context: int, n: int = 200, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng([seed, context])
    return MEANS[context] + rng.standard_normal((n, 3)) * [1.0, 0.5, 0.2]


def learned(*contexts: int, **settings: float) -> PcStream:
    model = PcStream(**{"phi": 8.0, "t_min": 10, "memory": 60, "variance_share": 1.0, **settings})
    for seed, context in enumerate(contexts):
        model.partial_fit(points_of(context, seed=seed))
    return model


def test_a_sudden_change_makes_a_context():
    assert learned(0).n_contexts == 1
    model = learned(0, 1)
    assert model.n_contexts == 2
    assert set(model.predict(points_of(1, seed=9))) == {1}


def test_a_context_that_recurs_is_known_again():
    model = learned(0, 1, 2, 0, 1, 2)
    assert model.n_contexts == 3
    X = np.concatenate([points_of(context, seed=9) for context in range(3)])
    assert Contingency.from_labels(np.repeat(np.arange(3), 200), model.predict(X)).ari == 1.0
    np.testing.assert_array_equal(model.predict(MEANS), [0, 1, 2])


def test_drifters_must_be_consecutive():
    model = learned(0)
    mixed = points_of(0, n=90, seed=5)
    mixed[::2] = points_of(1, n=45, seed=5)
    assert model.partial_fit(mixed[:2]).n_contexts == 1  # drifter, then one that fits
    before = model._contexts[0].points
    model.partial_fit(mixed[2:4])
    np.testing.assert_array_equal(model._contexts[0].points[-2:], mixed[2:4])
    np.testing.assert_array_equal(model._contexts[0].points[:-2], before[2:])


def test_drifters_belong_to_the_context_of_the_point_before_them():
    model = learned(0, 1, 0)
    drifters = np.array([[0.0, 30.0, 0.0], [0.0, 0.0, 30.0]])
    fitting = points_of(1, n=2, seed=5)
    model.partial_fit([drifters[0], fitting[0], drifters[1], fitting[1]])
    first, second = model._contexts
    np.testing.assert_array_equal(first.points[-1], drifters[0])
    np.testing.assert_array_equal(second.points[-3:], [fitting[0], drifters[1], fitting[1]])


def test_drifters_are_kept_between_batches():
    X = points_of(1, n=10)
    assert learned(0).partial_fit(X[:9]).n_contexts == 1
    assert learned(0).partial_fit(X[:9]).partial_fit(X[9:]).n_contexts == 2


def test_batches_are_only_how_points_arrive():
    X = np.concatenate([points_of(context) for context in (0, 1, 0, 2)])
    whole = PcStream(phi=8.0, t_min=10).partial_fit(X)
    parts = PcStream(phi=8.0, t_min=10)
    parts._smallest_variance = whole._smallest_variance
    for start in range(0, len(X), 7):
        parts.partial_fit(X[start : start + 7])
    np.testing.assert_array_equal(whole.predict(X), parts.predict(X))
    for left, right in zip(whole._contexts, parts._contexts, strict=True):
        np.testing.assert_array_equal(left.points, right.points)


def test_too_many_contexts_are_merged_with_the_nearest():
    model = learned(0, 1, 2, max_contexts=2)
    assert model.n_contexts == 2
    np.testing.assert_array_equal(model.predict(MEANS), [1, 1, 2])
    merged = model._contexts[0].points
    assert len(merged) == 60
    assert (merged[:, 0] < 10.0).sum() == 30


def test_distance_is_in_standard_deviations_within_the_subspace():
    context = learned(0, variance_share=0.95, memory=200)._contexts[0]
    assert context.whiten.shape == (3, 2)  # the third axis holds 3 % of the variance
    far = np.array([[3.0, 0.0, 0.0], [0.0, 3.0, 0.0], [0.0, 0.0, 3.0]])
    expected = [3.0, 6.0, 0.0]
    np.testing.assert_allclose(context.distance(far), expected, rtol=0.15, atol=0.6)


@pytest.mark.parametrize("shape", [(50, 4), (4, 50), (5, 5)])
def test_principal_components_are_those_of_a_singular_value_decomposition(shape):
    X = np.random.default_rng(0).standard_normal(shape) * np.linspace(1, 3, shape[1])
    X -= X.mean(axis=0)
    variances, axes = _principal_components(X)
    _, scales, rows = np.linalg.svd(X, full_matrices=False)
    rank = min(shape[0] - 1, shape[1])
    np.testing.assert_allclose(variances[:rank], scales[:rank] ** 2 / (shape[0] - 1))
    np.testing.assert_allclose(
        np.abs(np.sum(axes[:, :rank] * rows[:rank].T, axis=0)), 1.0, rtol=1e-9
    )


def test_predict_changes_nothing():
    model = learned(0, 1)
    X = points_of(2)
    before = [context.points.copy() for context in model._contexts]
    np.testing.assert_array_equal(model.predict(X), model.predict(X))
    assert model.n_contexts == 2
    for context, points in zip(model._contexts, before, strict=True):
        np.testing.assert_array_equal(context.points, points)


def test_equal_points_and_constant_columns():
    X = np.zeros((100, 3))
    X[50:] = 7.0
    model = PcStream().partial_fit(X)
    np.testing.assert_array_equal(model.predict(X), np.repeat([0, 1], 50))


def test_before_the_first_context_all_points_are_alike():
    model = PcStream(t_min=50).partial_fit(points_of(0, n=10))
    np.testing.assert_array_equal(model.predict(MEANS), 0)


@pytest.mark.parametrize("name", ["t_min", "memory", "max_contexts"])
def test_numbers_too_small_are_refused(name):
    with pytest.raises(ValueError, match=f"{name} must be at least 2, got 1"):
        PcStream(**{name: 1})


def test_the_contestant_can_be_tuned():
    optuna = pytest.importorskip("optuna")
    contestant = CONTESTANTS[0]
    task = Task("lasting", "real", 3, 200, 3, points_of(0), {})
    trial = optuna.trial.FixedTrial({"phi": 8.0, "t_min": 10, "memory": 60, "variance_share": 0.9})
    settings = contestant.space(trial, task)
    model = contestant.make(task, 0, **settings)
    assert model.partial_fit(points_of(0)).partial_fit(points_of(1)).n_contexts == 2
