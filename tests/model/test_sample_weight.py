"""A row's weight is the number of points that it stands for."""

from dataclasses import replace

import numpy as np
import pytest
from streams import blobs, counts, snapshot

from scstream import Rules, ScStream
from scstream.sampler.alike import Alike


def by_place(model):
    """Return the clusters in an order of places, those of a few stray points left out."""
    key = (lambda c: tuple(c.mean)) if model.family == "gaussian" else lambda c: c.probabilities[0]
    return sorted((c for c in model.clusters_ if c.weight > 0.02), key=key)


@pytest.mark.parametrize("family", ["gaussian", "multinomial"])
def test_a_weight_of_n_is_n_rows(family) -> None:
    weighed, repeated = (
        ScStream(family, random_state=0, rules=Rules(warmup_rows=0)) for _ in range(2)
    )
    for b in range(4):
        X, _ = (blobs if family == "gaussian" else counts)(300, b)
        weight = np.random.default_rng(b).integers(1, 3, 300)
        weighed.partial_fit(X, sample_weight=weight)
        rows = np.repeat(X, weight, axis=0)
        repeated.partial_fit(rows, sample_weight=np.ones(len(rows)))  # without, copies count once
    ours, theirs = by_place(weighed), by_place(repeated)
    assert len(ours) == len(theirs) == 3
    for a, b in zip(ours, theirs, strict=True):
        assert a.count == pytest.approx(b.count, rel=0.02)
        assert a.weight == pytest.approx(b.weight, rel=0.02)
        for name, value in a.parameters.items():
            np.testing.assert_allclose(value, b.parameters[name], rtol=0.05, atol=0.05)


def test_weights_of_one_are_no_weights() -> None:
    plain, ones, number = (ScStream(random_state=0) for _ in range(3))
    for b in range(3):
        X, _ = blobs(150, b)
        plain.partial_fit(X)
        ones.partial_fit(X, sample_weight=[1] * 150)
        number.partial_fit(X, sample_weight=1.0)
    plain._learner = replace(plain._learner, alike=Alike())  # what rows with weights never ask
    assert snapshot(plain) == snapshot(ones) == snapshot(number)


@pytest.mark.parametrize("rows", [8, 150], ids=["early", "many rows"])
@pytest.mark.parametrize("family", ["gaussian", "multinomial"])
def test_rows_of_weight_zero_change_nothing(family, rows) -> None:
    """Not a bit of what is learned; they are only labelled."""
    plain, padded = (ScStream(family, random_state=0, max_sweeps=20) for _ in range(2))
    for b in range(3):
        X, _ = (blobs if family == "gaussian" else counts)(rows, b)
        far = 1000 * X[:5]
        plain.partial_fit(X)
        padded.partial_fit(
            np.vstack([far, X, far]), sample_weight=np.r_[np.zeros(5), np.ones(rows), np.zeros(5)]
        )
        unasked = replace(plain._learner, alike=Alike())
        assert snapshot(padded._learner) == snapshot(unasked)
        np.testing.assert_array_equal(padded.labels_[5:-5], plain.labels_)
        np.testing.assert_array_equal(padded.sublabels_[5:-5], plain.sublabels_)
        np.testing.assert_array_equal(padded.labels_[:5], plain.predict(far))
        np.testing.assert_array_equal(padded.labels_[-5:], plain.predict(far))
        assert padded.history_[-1].n_points == rows + 10


@pytest.mark.parametrize("weight", [1e-3, 1e6])
def test_weights_of_any_size_are_taken(weight) -> None:
    model = ScStream(random_state=0)
    for b in range(3):
        X, _ = blobs(60, b)
        model.partial_fit(X, sample_weight=np.full(60, weight))
        assert np.all(np.isfinite(model.score_samples(X)))
        assert set(model.predict(X).tolist()) <= {cluster.id for cluster in model.clusters_}
