"""Rows that resemble the row before: the warning, who is left alone, and that its advice helps."""

import warnings

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from streams import CORNERS

from scstream import ScStream
from scstream.estimator.successive import correlation, warning_of_likeness


def sensors(seed, n=800, r=0.97, stay=0.02):
    """Return readings that follow slowly, of a machine that changes its state now and then."""
    rng = np.random.default_rng(seed)
    change, state, noise = rng.random(n) < stay, 0, np.zeros(2)
    X, y = np.empty((n, 2)), np.empty(n, dtype=int)
    for i in range(n):
        state = int(rng.integers(len(CORNERS))) if change[i] else state
        noise = r * noise + np.sqrt(1.0 - r**2) * rng.normal(size=2)
        X[i], y[i] = CORNERS[state] + noise, state
    return X, y


def learned(batches, weight=None):
    """Return the mean ARI of batches, all defaults, each row of a weight."""
    model, scores = ScStream(random_state=0), []
    for X, y in batches:
        model.partial_fit(X, sample_weight=None if weight is None else np.full(len(X), weight))
        scores.append(adjusted_rand_score(y, model.labels_))
    return float(np.mean(scores))


def test_the_warning_comes_once_and_says_what_helps() -> None:
    batches = [sensors(seed) for seed in range(3)]
    with pytest.warns(UserWarning, match="Successive rows are alike") as told:
        before = learned(batches)
    (warning,) = told
    assert warning.filename == __file__
    weight = float(str(warning.message).split("numpy.full(len(X), ")[1].split(")")[0])
    assert 0.02 < weight < 0.25
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        after = learned(batches, weight)
    assert before < 0.8
    assert after > 0.95


@pytest.mark.parametrize("size", [50, 150])
def test_rows_of_small_batches_are_looked_at_together(size) -> None:
    X, _ = sensors(0, n=600)
    model = ScStream(random_state=0)
    batches = [X[first : first + size] for first in range(0, 600, size)]
    with pytest.warns(UserWarning, match="Successive rows are alike") as told:
        assert [model.partial_fit(batch) for batch in batches]
    assert len(told) == 1
    assert told[0].filename == __file__


def test_of_a_large_batch_the_first_rows_are_looked_at() -> None:
    X, y = sensors(0, n=50_000)
    unseen = np.full((20_000, 2), np.nan)  # who looked there would say nothing
    text = warning_of_likeness(np.vstack([X, unseen]), np.append(y, np.zeros(20_000)))
    assert text.startswith("Successive rows are alike")


def rows(rng, n=400):
    y = rng.integers(3, size=n)
    return CORNERS[y] + rng.normal(size=(n, 2)) @ [[1.0, 0.9], [0.0, 0.4]], y


ORDINARY = {
    "independent": lambda X, y: X,
    "with times": lambda X, y: np.column_stack([X, 1.7e9 + np.arange(len(X))]),
    "with meter readings": lambda X, y: np.column_stack([X, np.cumsum(np.abs(X[:, 0]))]),
    "sorted by cluster": lambda X, y: X[np.argsort(y, kind="stable")],
    "sorted by a column": lambda X, y: X[np.argsort(X[:, 0])],
    "one column": lambda X, y: X[:, :1],
    "one column, sorted": lambda X, y: np.sort(X[:, :1], axis=0),
    "a constant column": lambda X, y: np.column_stack([X, np.ones(len(X))]),
    "whole numbers": lambda X, y: np.round(X),
    "equal rows": lambda X, y: np.ones_like(X),
    "enormous": lambda X, y: X * 1e150,
}


@pytest.mark.parametrize("name", ORDINARY)
def test_rows_that_are_independent_are_left_alone(name) -> None:
    model = ScStream(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "Column . only rises")
        for seed in range(2):
            model.partial_fit(ORDINARY[name](*rows(np.random.default_rng(seed))))
        small, X = ScStream(random_state=0), ORDINARY[name](*rows(np.random.default_rng(2)))
        for first in range(0, 400, 100):
            small.partial_fit(X[first : first + 100])


def test_times_beside_readings_do_not_hide_them() -> None:
    X, y = sensors(0)
    assert correlation(np.column_stack([X, np.arange(len(X))]), y) > 0.8


def test_the_correlation_is_that_of_deviations_within_clusters() -> None:
    X, y = sensors(1, n=20_000, r=0.9)
    assert correlation(X, y) == pytest.approx(0.9, abs=0.03)
    assert abs(correlation(X, np.arange(len(X)))) == 0.0  # one row each
