"""Rows that a model draws are like those that it learned."""

import numpy as np
import pandas as pd
import pytest

from scstream import ScStream


def spread(family, X):
    """Return what was learned and what is drawn, and the label that the model gives the latter."""
    model = ScStream(family, random_state=0, max_sweeps=20).fit(X)
    drawn, labels = model.sample(2000, random_state=0)
    assert drawn.shape == (2000, X.shape[1])
    assert (np.asarray(model.predict(drawn)) == labels).mean() > 0.95
    return drawn, labels


def test_counts_truths_and_durations():
    rng = np.random.default_rng(1)
    z = np.arange(400) % 2
    counts, _ = spread("poisson", rng.poisson(np.where(z, 60, 5)[:, None], (400, 2)))
    assert np.all(counts == np.floor(counts))
    assert counts.mean() == pytest.approx(32.5, abs=3.5)  # sd .62
    flags, _ = spread("bernoulli", (rng.random((400, 8)) < np.where(z, 0.95, 0.05)[:, None]) * 1.0)
    assert set(np.unique(flags)) == {0.0, 1.0}
    waits, _ = spread("gamma", rng.gamma(9.0, np.where(z, 50.0, 1.0)[:, None], (400, 2)))
    assert waits.min() > 0


def test_tables_with_words():
    rng = np.random.default_rng(2)
    z = np.arange(300) % 2
    frame = pd.DataFrame(
        {"x": rng.normal(20.0 * z), "w": np.where(z, "red", "blue"), "n": rng.poisson(5 + 40 * z)}
    )
    model = ScStream("auto", random_state=0).fit(frame)
    drawn, _ = model.sample(500, random_state=0)
    high = drawn[:, 0].astype(float) > 10.0
    assert (drawn[high, 1] == "red").mean() > 0.9
    assert (drawn[~high, 1] == "blue").mean() > 0.9
    again, _ = model.sample(500, random_state=0)
    assert (again == drawn).all()


def test_what_cannot_be_drawn_is_refused():
    counts = np.random.default_rng(0).poisson(5.0, (60, 4))
    model = ScStream("multinomial", random_state=0, max_sweeps=2).fit(counts)
    with pytest.raises(ValueError, match="no rows can be drawn"):
        model.sample(3)
    with pytest.raises(ValueError, match="n must be a whole number"):
        model.sample(0)
