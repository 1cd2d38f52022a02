"""pcStream finds contexts that last, and comes back to them."""

from __future__ import annotations

import numpy as np

from benchmarks.contestants.pcstream import PcStream
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


def test_drifters_are_kept_between_batches():
    X = points_of(1, n=10)
    assert learned(0).partial_fit(X[:9]).n_contexts == 1
    assert learned(0).partial_fit(X[:9]).partial_fit(X[9:]).n_contexts == 2


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


def test_predict_changes_nothing():
    model = learned(0, 1)
    X = points_of(2)
    before = [context.points.copy() for context in model._contexts]
    np.testing.assert_array_equal(model.predict(X), model.predict(X))
    assert model.n_contexts == 2
    for context, points in zip(model._contexts, before, strict=True):
        np.testing.assert_array_equal(context.points, points)
