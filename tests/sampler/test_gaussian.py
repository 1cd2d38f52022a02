"""Steps in one compiled call against the same in many: labels, clusters and events are the same."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from scstream import Gaussian, Rules, ScStream
from scstream.datasets import gaussian_stream
from scstream.sampler.generic import GenericSteps

STREAMS = {
    "2-D": {"n_clusters": 8, "births": 0.5},
    "5-D": {"n_features": 5, "n_clusters": 6},
    "1-D": {"n_features": 1, "n_clusters": 4},
    "sudden": {"n_clusters": 6, "drift": "sudden"},
}


def batches(name, n=12, seed=0):
    return [b.X for b in gaussian_stream(n, 200, random_state=seed, **STREAMS[name])]


STEPWISE = Rules(compiled_columns=0)


def learn(stream, weights=None, **params):
    """Return the labels of every batch, the predictions before it, and the model."""
    model, out = ScStream(random_state=1, n_jobs=1, **params), []
    for b, X in enumerate(stream):
        w = None if weights is None else weights[b]
        model.partial_fit(X, sample_weight=w)
        out.append(model.labels_)
    return out, model


PARAMS = [
    {},
    {"alpha": 0.2},
    {"alpha": 8.0},
    {"half_life": None},
    {"sweeps": 2},
    {"max_clusters": 5},
    {"outlier_weight": 0.02},
]


@pytest.mark.parametrize(
    ("name", "params"),
    [
        *((name, params) for name in ("2-D", "sudden") for params in PARAMS),
        *((name, params) for name in ("5-D", "1-D") for params in ({}, {"alpha": 8.0})),
    ],
)
def test_a_batch_at_once_is_the_batch_step_by_step(name, params):
    # broken on purpose (a split told of at 0.9 times its logarithm, the margin of merges left
    # out, the doubt of a trial left out), it fails
    stream = batches(name)
    at_once, one = learn(stream, **params)
    stepwise, other = learn(stream, rules=STEPWISE, **params)
    for got, expected in zip(at_once, stepwise, strict=True):
        assert_array_equal(got, expected)
    assert [(r.births, r.deaths, r.splits, r.merges) for r in one.history_] == [
        (r.births, r.deaths, r.splits, r.merges) for r in other.history_
    ]
    for got, expected in zip(one.history_, other.history_, strict=True):
        assert got.log_posterior == pytest.approx(expected.log_posterior, rel=1e-9, abs=1e-6)
    assert_allclose([c.count for c in one.clusters_], [c.count for c in other.clusters_], rtol=1e-9)
    assert_array_equal(one._learner.rng, other._learner.rng)


@pytest.mark.parametrize("name", ["2-D", "5-D"])  # in 1-D rounding decides: any cut is the same cut
def test_sweeps_at_once_are_sweeps_step_by_step_where_each_batch_has_a_record(name):
    stream, kernel = batches(name), lambda age: 1.0 / (1.0 + age)
    at_once, _ = learn(stream, kernel=kernel)
    stepwise, _ = learn(stream, kernel=kernel, rules=STEPWISE)
    for got, expected in zip(at_once, stepwise, strict=True):
        assert_array_equal(got, expected)


def test_steps_at_once_are_the_same_where_entries_are_missing():
    # gaps filled by the past, not by the present alone, before it is judged: other labels
    stream, rng = batches("2-D"), np.random.default_rng(0)
    for X in stream:
        X[rng.random(X.shape) < 0.3] = np.nan
    at_once, one = learn(stream)
    stepwise, other = learn(stream, rules=STEPWISE)
    for got, expected in zip(at_once, stepwise, strict=True):
        assert_array_equal(got, expected)
    assert_allclose([c.count for c in one.clusters_], [c.count for c in other.clusters_], rtol=1e-9)


@pytest.mark.parametrize("family", ["gaussian", "student"])
def test_few_rows_draw_their_labels_at_once_as_step_by_step(family, monkeypatch):
    """Where clusters get fewer rows than they have statistics the predictives draw the labels."""
    stream = [b.X for b in gaussian_stream(14, 60, n_clusters=5, n_features=4, random_state=3)]
    swept, sweep = [], GenericSteps.predictive_sweep

    def noted(steps, state, key=None):
        swept.append(key)
        return sweep(steps, state, key)

    monkeypatch.setattr(GenericSteps, "predictive_sweep", noted)
    at_once, one = learn(stream, family=family)
    assert swept == []
    stepwise, other = learn(stream, family=family, rules=STEPWISE)
    assert len(swept) >= 6
    for got, expected in zip(at_once, stepwise, strict=True):
        assert_array_equal(got, expected)
    assert_allclose([c.count for c in one.clusters_], [c.count for c in other.clusters_], rtol=1e-9)
    assert_array_equal(one._learner.rng, other._learner.rng)


def test_a_matrix_that_fails_sends_the_batch_the_long_way():
    """A constant column and a prior that hardly holds it: rounding breaks the scatter."""
    rng = np.random.default_rng(0)
    model = ScStream(Gaussian(cov=1e-13, cov_strength=2.1), random_state=0)
    for b in range(6):
        X = np.column_stack([1e7 + rng.normal(size=120), np.full(120, 3.0)])
        model.partial_fit(X + 10.0 * b)
        assert np.isfinite(model.score_samples(X)).all()


@pytest.mark.parametrize("outlier_weight", [0.0, 0.01])
def test_parameters_of_many_rows_are_drawn_at_once_as_step_by_step(outlier_weight):
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=6.0, size=(4, 3))
    models = [
        ScStream(random_state=0, rules=rules, outlier_weight=outlier_weight)
        for rules in (Rules(), Rules(compiled_columns=0))
    ]
    for b in range(3):
        X = centres[rng.integers(4, size=5000)] + 0.2 * b + rng.normal(size=(5000, 3))
        fast, plain = (model.partial_fit(X) for model in models)
        assert_array_equal(fast.labels_, plain.labels_)
        assert_array_equal(fast.sublabels_, plain.sublabels_)
        assert_array_equal(fast._learner.rng, plain._learner.rng)
