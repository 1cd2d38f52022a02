"""Sums of past and present in one pass: to the last bit what NumPy finds step by step."""

import numpy as np
from numpy.testing import assert_array_equal

from scstream.kernels import standing

K, P = 5, 700


def made_up(seed=0):
    """Return the past and the present (k, 2, p) of sub-clusters, of very different sizes."""
    rng = np.random.default_rng(seed)
    return rng.random((2, K, 2, P)) * 10.0 ** rng.integers(-9, 9, (2, K, 2, P))


def test_sums_are_those_of_the_parts_to_the_last_bit():
    past, now = made_up()
    parts, totals, here = np.empty(past.shape), np.empty((K, P)), np.empty((K, P))
    standing.summed(past, now, parts, totals, here)
    assert_array_equal(parts, past + now)
    assert_array_equal(totals, parts[:, 0] + parts[:, 1])
    assert_array_equal(here, now[:, 0] + now[:, 1])


def test_a_division_has_the_sums_that_are_found_once_it_is_made():
    past, now = made_up()
    first = past.sum(axis=1) * np.random.default_rng(1).random((K, P))
    out = np.empty(past.shape)
    standing.divided(past, now, first, out)
    anew = np.stack([first, (past[:, 0] + past[:, 1]) - first], axis=1)
    assert_array_equal(out, anew + now)


def test_what_is_known_holds_where_no_number_changed():
    s, known, out = made_up()[0].reshape(2 * K, P), np.arange(2.0 * K), np.empty(2 * K)
    before = s.copy()
    before[3, -1] += 1.0
    before[5, 0] = np.nan
    standing.still(known, s, before, out)
    assert_array_equal(np.flatnonzero(np.isnan(out)), [3, 5])
    assert_array_equal(np.delete(out, [3, 5]), np.delete(known, [3, 5]))
