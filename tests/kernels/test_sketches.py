"""The compiled sketch of numbers, compared with plain NumPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from scstream.kernels import sketches

LOG_STEP = float(np.log1p(0.02))


def plain_merge(values, weights):
    """Return entries, in any order, as the sketch of all of them."""
    order = values.argsort(kind="stable")
    order = order[weights[order] > 1e-12]
    values, weights = values[order], weights[order]
    below = weights.cumsum() - 0.5 * weights
    place = np.floor(np.log(np.maximum(below, 1e-9)) / LOG_STEP)
    first = np.flatnonzero(np.append(True, place[1:] != place[:-1]))
    whole = np.add.reduceat(weights, first)
    return np.maximum.accumulate(np.add.reduceat(weights * values, first) / whole), whole


def plain_follow(values, weights, new, memory):
    """Return the entries moved and stretched towards further numbers."""

    def under(level):
        return np.mean(new < level) + 0.5 * np.mean(new == level)

    middle, total = weights.cumsum() - 0.5 * weights, weights.sum()
    median, tenth = np.interp([0.5 * total, 0.1 * total], middle, values)
    step = (median - tenth) * len(new) / (len(new) + memory)
    up, down = step * 1.96 * (0.5 - under(median)), step * 4.45 * (under(tenth) - 0.1)
    factor = max(1.0 + (up + down) / (median - tenth), 0.5) if median > tenth else 1.0
    return median + up + factor * (values - median)


@pytest.mark.parametrize(("m", "n"), [(0, 1), (0, 900), (1, 0), (300, 1), (300, 900), (40, 0)])
@pytest.mark.parametrize("seed", range(3))
def test_entries_are_merged_as_in_plain_numpy(m, n, seed):
    rng = np.random.default_rng(seed)
    old = np.sort(rng.normal(size=m)), 30.0 * rng.random(m)
    new = np.round(rng.normal(size=n), seed), rng.choice([0.0, 0.5, 2.0], size=n)
    new[0][: m // 2] = old[0][: m // 2][:n]  # some are equal
    out = np.empty((2, m + n))
    k = sketches.merge(old, new, new[0].argsort(kind="stable"), LOG_STEP, out)
    both = np.concatenate([old[0], new[0]]), np.concatenate([old[1], new[1]])
    if not (both[1] > 1e-12).any():
        assert k == 0
        return
    values, weights = plain_merge(*both)
    assert_allclose(out[0, :k], values, rtol=1e-12, atol=1e-12)
    assert_allclose(out[1, :k], weights, rtol=1e-12)


@pytest.mark.parametrize(("m", "n"), [(1, 1), (2, 5), (300, 1), (300, 900)])
@pytest.mark.parametrize("seed", range(3))
def test_entries_follow_as_in_plain_numpy(m, n, seed):
    rng = np.random.default_rng(seed)
    values, weights = np.sort(rng.normal(size=m)), rng.random(m)
    new, out = rng.normal(1.0, 2.0, size=n), np.empty(m)
    new[: n // 3] = np.median(values)
    sketches.follow(values, weights, new, 500.0, out)
    assert_allclose(out, plain_follow(values, weights, new, 500.0), rtol=1e-12, atol=1e-12)


def test_numbers_at_the_median_leave_it_where_it_is():
    out = np.empty(5)
    sketches.follow(np.arange(5.0), np.ones(5), np.full(4, 2.0), 4.0, out)
    assert out[2] == 2.0
