"""Steps that the native core takes at once against the text of the sampler: the same clusters."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from scstream import ScStream, core
from scstream.datasets import gaussian_stream

pytestmark = pytest.mark.skipif(not core.takes_steps(), reason="the native core was not built")

STREAMS = {
    "2-D": {"n_clusters": 8, "births": 0.5},
    "5-D": {"n_features": 5, "n_clusters": 6},
    "sudden": {"n_clusters": 6, "drift": "sudden"},
}
PARAMS = [
    {}, {"alpha": 0.2}, {"alpha": 8.0}, {"half_life": None}, {"sweeps": 2}, {"max_clusters": 5},
    {"outlier_weight": 0.02}, {"kernel": lambda age: 1.0 / (1.0 + age)},
]  # fmt: skip


def batches(name, gaps=0.0):
    rng = np.random.default_rng(0)
    stream = [b.X for b in gaussian_stream(12, 200, random_state=0, **STREAMS[name])]
    return [np.where(rng.random(X.shape) < gaps, np.nan, X) for X in stream]


def learned(stream, **params):
    """Return the labels of every batch, and the model."""
    model, labels = ScStream(random_state=1, n_jobs=1, **params), []
    for X in stream:
        labels.append(model.partial_fit(X).labels_)
    return labels, model


def compared(stream, monkeypatch, **params):
    at_once, one = learned(stream, **params)
    monkeypatch.setattr(core, "takes_steps", lambda columns=1: False)
    stepwise, other = learned(stream, **params)
    for got, expected in zip(at_once, stepwise, strict=True):
        assert_array_equal(got, expected)
    assert [(r.births, r.deaths, r.splits, r.merges) for r in one.history_] == [
        (r.births, r.deaths, r.splits, r.merges) for r in other.history_
    ]
    assert_allclose([c.count for c in one.clusters_], [c.count for c in other.clusters_], rtol=1e-9)


@pytest.mark.parametrize("params", PARAMS, ids=lambda given: "-".join(given) or "usual")
@pytest.mark.parametrize("name", STREAMS)
def test_steps_at_once_are_the_same(name, params, monkeypatch):
    # broken on purpose (the margin of merges left out, the entropy of a trial left out), it fails
    compared(batches(name), monkeypatch, **params)


def test_steps_at_once_are_the_same_where_entries_are_missing(monkeypatch):
    compared(batches("2-D", gaps=0.3), monkeypatch)
