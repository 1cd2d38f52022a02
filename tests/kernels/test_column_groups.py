"""EM for a few groups of a column, against the same in plain NumPy, point by point."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from scstream.kernels.column_groups import LEAST_ROWS, refined

Y = np.array([0.0, 1.0, 2.0, 3.0, 5.0, 9.0, 14.0, 30.0])
TIMES = np.array([40, 3, 17, 1, 9, 25, 2, 6])
NARROW = np.array([0.2, 0.5, 3.0])


def plain_moments(y, part, narrow):
    rows = part.sum(axis=1) + LEAST_ROWS
    mean = part @ y / rows
    squares = (part * (y - mean[:, None]) ** 2).sum(axis=1)
    return rows, mean, (squares + narrow) / (rows + 1.0)


def plain_sweep(y, part, narrow, counts):
    rows, mean, variance = plain_moments(y, part, narrow)
    if counts:
        r = 1.0 / max(np.sum(rows * (variance - mean)) / np.sum(rows * mean**2), 1e-6)
        density = [stats.nbinom(r, r / (r + m)).pmf(y) for m in mean]
    else:
        density = [stats.norm(m, np.sqrt(v)).pdf(y) for m, v in zip(mean, variance, strict=True)]
    joint = np.array(density) * (rows / len(y))[:, None]
    return joint / joint.sum(axis=0), np.log(joint.sum(axis=0)).sum()


@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("sweeps", [1, 4])
def test_groups_are_those_of_points_that_come_one_by_one(counts, sweeps):
    start = np.random.default_rng(0).dirichlet(np.ones(3), len(Y)).T
    parts, moments = np.ascontiguousarray(start), np.empty((5, 3))
    density = refined(Y, TIMES.astype(float), NARROW, counts, sweeps, parts, moments)
    y, plain = np.repeat(Y, TIMES), np.repeat(start, TIMES, axis=1)
    for _ in range(sweeps):
        plain, expected = plain_sweep(y, plain, NARROW, counts)
    assert density == pytest.approx(expected, rel=1e-9)
    assert_allclose(np.repeat(parts, TIMES, axis=1), plain, atol=1e-9)
    assert_allclose(moments[:3], plain_moments(y, plain, NARROW), rtol=1e-7)
