"""How fast clusters move, in deviations of their own family."""

import numpy as np
import pytest

from scstream import ScStream


def moved(family, batches):
    """Return the clusters before and after the last of two batches, two apart, and the drift."""
    model = ScStream(family, random_state=0)
    first, second = batches
    start = np.zeros(len(first), dtype=int)
    before = model.partial_fit(first, time=0.0, labels=start).clusters_[0]
    after = model.partial_fit(second, time=2.0).clusters_[0]
    (drift,) = (e for e in model.events_ if e.kind == "drift" and e.cluster == after.id)
    return before.parameters, after.parameters, drift.speed


def test_a_gammas_variance_is_its_squared_mean_over_its_shape():
    # broken on purpose (the mean over the shape): it fails
    rng = np.random.default_rng(0)
    before, after, speed = moved("gamma", [m * rng.gamma(4.0, 1.0, (80, 2)) for m in (3.0, 3.3)])
    variance = after["mean"] ** 2 / after["shape"]
    step = after["mean"] - before["mean"]
    assert speed == pytest.approx(np.sqrt((step**2 / variance).sum()) / 2.0)


def test_a_flags_variance_is_its_probability_times_that_of_the_other():
    # broken on purpose (the probability alone): it fails
    rng = np.random.default_rng(0)
    flags = [(rng.random((80, 3)) < p).astype(float) for p in (0.6, 0.7)]
    before, after, speed = moved("bernoulli", flags)
    variance = after["probability"] * (1.0 - after["probability"])
    step = after["probability"] - before["probability"]
    assert speed == pytest.approx(np.sqrt((step**2 / variance).sum()) / 2.0)
