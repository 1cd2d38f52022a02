"""Whether two engines say the same of one batch, but for the last bits of sums."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal


def assert_same_sums(one, other):
    """Compare sums, each by what is rounded of the largest of its kind."""
    assert (np.abs(one - other) <= 1e-11 * np.abs(other).max(axis=(0, 1))).all()


def assert_same_sweep(engines, score, sub, k, key, rtol=1e-9):
    """Sweep on both engines, and return the sums of both; entropies may differ by a share."""
    one, other = (engine.sweep(score, sub, k, key) for engine in engines)
    assert_array_equal(engines[0].labels, engines[1].labels)
    assert_array_equal(engines[0].sublabels, engines[1].sublabels)
    assert_array_equal(one.rows, other.rows)
    assert_same_sums(one.current, other.current)
    assert_allclose(one.entropy, other.entropy, rtol=rtol, atol=1e-9)
    return one, other


def assert_same_division(engines, sub, chosen):
    """Divide the chosen clusters on both engines."""
    (one, entropy), (other, same) = (engine.resplit(sub, chosen) for engine in engines)
    assert_same_sums(one, other)
    assert_allclose(entropy, same, rtol=1e-9, atol=1e-9)
    assert_array_equal(engines[0].adopt(chosen), engines[1].adopt(chosen))
    assert_array_equal(engines[0].sublabels, engines[1].sublabels)
