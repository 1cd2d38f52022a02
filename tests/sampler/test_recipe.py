"""Batches as they are learned: who checks their rows, and when."""

import numpy as np
import pytest

from scstream.engines import CpuEngine
from scstream.families import Gaussian
from scstream.sampler.learner import learn
from scstream.sampler.recipe import Batch, Plan, Recipe
from scstream.sampler.window import Forgetting


class Late(CpuEngine):
    """An engine that would find out in its first sweep whether rows are finite."""

    asked = 0

    def check(self, X):
        """Take note, and raise for what is not finite."""
        self.asked += 1
        if not np.isfinite(X).all():
            raise ValueError("infinity")


def batch_of(engine, X, time=0.0):
    return Batch(X, np.ones(len(X)), time, even=True, checker=engine)


def recipe():
    return Recipe(Gaussian(), 1.0, Forgetting(5.0), Plan(max_sweeps=5), 0.0, None, auto=True)


def rows(seed, at=0.0):
    return at + np.random.default_rng(seed).normal(size=(3000, 2))


def learned(engine):
    """Return a model of two batches."""
    learner = None
    for i in range(2):
        batch = Batch(rows(i), np.ones(3000), float(i), even=True)
        learner, _ = learn(learner, batch, recipe(), engine, lambda: np.random.default_rng(0))
    return learner


def test_rows_are_checked_by_who_looks_at_them_before_a_sweep():
    engine, X = Late(), rows(2)
    X[7, 1] = np.inf
    batch = batch_of(engine, X)
    with pytest.raises(ValueError, match="infinity"):
        batch.check()
    with pytest.raises(ValueError, match="infinity"):
        batch.rows(np.arange(3000) % 2 == 0)
    with pytest.raises(ValueError, match="infinity"):
        learn(None, batch, recipe(), engine, lambda: np.random.default_rng(0))


def test_rows_of_a_usual_batch_are_left_to_the_first_sweep():
    engine = Late()
    learner = learned(engine)
    learn(learner, batch_of(engine, rows(2), 2.0), recipe(), engine, None)
    assert engine.asked == 0
    # after a pause it is asked whether clusters expect them
    learn(learner, batch_of(engine, rows(2), 900.0), recipe(), engine, None)
    assert engine.asked == 1
    # and if they do not, the model begins anew
    learn(learner, batch_of(engine, rows(2, at=50.0), 900.0), recipe(), engine, None)
    assert engine.asked == 3


def test_rows_that_are_here_are_scored_from_here():
    """What was sent to a device need not come back."""
    engine = CpuEngine()
    learner, X = learned(engine), rows(2)
    batches = [
        Batch(X, np.ones(3000), 2.0, even=True, here=here) for here in (None, X, rows(3, at=1e3))
    ]
    sketches = [learn(learner, b, recipe(), engine, None)[0].scores for b in batches]
    assert np.array_equal(sketches[0].values, sketches[1].values)
    assert not np.array_equal(sketches[0].values, sketches[2].values)
