"""Matrices side by side: each as if it were alone, wherever it stands."""

from math import lgamma

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import multigammaln

from scstream.kernels import matrices, normalisers
from scstream.kernels.compiling import bare
from scstream.kernels.elementary import log_gammas
from scstream.kernels.side_by_side import ROWS, SIDE

NO_VECTOR = {d: np.empty((0, d)) for d in range(1, 20)}


@bare
def gammas(x, room):
    log_gammas(x, len(x), room)


def groups(d, k, seed=0):
    """Return a prior (p,) and statistics (k, p) of groups of very different sizes."""
    rng = np.random.default_rng(seed)
    row, col = np.triu_indices(d)
    out = np.empty((k, 1 + d + len(row)))
    for r in range(k):
        X = rng.normal(size=(int(10 ** rng.uniform(0, 3)), d)) * 10 ** rng.uniform(-3, 3) + 1.0
        out[r] = np.concatenate([[len(X)], X.sum(axis=0), (X.T @ X)[row, col]])
    return np.concatenate([[0.01], np.zeros(d), np.eye(d)[row, col]]), out


def test_logarithms_of_gammas_are_exact_to_rounding():
    for x in (np.linspace(1e-3, 30.0, 2000), np.logspace(1, 9, 500)):
        out = x.copy()
        gammas(out, np.empty((2, len(x))))
        assert_allclose(out, [lgamma(v) for v in x], rtol=2e-15, atol=1e-14)


@pytest.mark.parametrize("d", [1, 2, 5, 9])
def test_log_normalisers_are_those_of_the_books(d):
    prior, s = groups(d, SIDE + 7)
    out = np.empty(len(s))
    more = d + 1.5
    assert normalisers.log_partition(s, prior, more, d, matrices.room_for(d), out) == 0
    tau = prior + s
    square = np.zeros((len(s), d, d))
    square[:, *np.triu_indices(d)] = tau[:, 1 + d :]
    square = square + np.triu(square, 1).swapaxes(1, 2)
    scatter = square - np.einsum("ki,kj->kij", tau[:, 1 : 1 + d], tau[:, 1 : 1 + d] / tau[:, :1])
    nu = tau[:, 0] + more
    expected = multigammaln(0.5 * nu, d) - 0.25 * d * (d - 1) * np.log(np.pi)
    expected -= 0.5 * d * np.log(tau[:, 0]) + 0.5 * nu * np.linalg.slogdet(0.5 * scatter)[1]
    assert_allclose(out, expected, rtol=1e-11, atol=1e-8)


@pytest.mark.parametrize("d", [1, 5, 12])
def test_a_matrix_gives_the_same_bits_wherever_it_stands(d):
    prior, s = groups(d, SIDE + 7)
    k, p = s.shape
    rng = np.random.default_rng(1)
    drawn = [rng.uniform(1.0, 9.0, (k, d)), rng.normal(size=(k, d * (d - 1) // 2))]
    drawn += [rng.normal(size=(k, d)), rng.normal(size=k)]
    s[3, 1 + d :] = -1e9  # which spoils no other

    def everything(which, side):
        some, out, each = s[which], np.empty((3, len(which), p)), np.empty((2, len(which)))
        room = np.empty(side * (4 * p + ROWS))
        failed = normalisers.log_partition(some, prior, d + 1.0, d, room, each[0])
        assert failed == (3 in which)
        parts = some[:, None], prior, NO_VECTOR[d], room, out[0], each[1]
        assert matrices.factor(*parts) == failed
        matrices.student(out[0], d, room, out[1])
        matrices.wishart(out[0], *(values[which] for values in drawn), room, out[2])
        assert_array_equal(np.isnan(each), np.broadcast_to(which == 3, each.shape))
        return out[:, which != 3], each[:, which != 3]

    rows, each = everything(np.arange(k), SIDE)
    good = np.delete(np.arange(k), 3)
    for side in (1, 5, SIDE):
        for start in (0, 2, k - 1):
            which = np.arange(start, k)
            mine, own = everything(which, side)
            assert_array_equal(mine, rows[:, good >= start])
            assert_array_equal(own, each[:, good >= start])
