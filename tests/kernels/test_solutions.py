"""Several points' distances at a time are those of each point alone."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import solve_triangular

from scstream.kernels.compiling import bare
from scstream.kernels.pruning import Students, score_of
from scstream.kernels.solutions import LANES, side_by_side, student_scores


@bare
def scores(known, c, rows, n, columns, y, out):
    side_by_side(rows, n, columns)
    student_scores(known, c, columns, y, out)


@bare
def score(known, c, point, y):
    return score_of(known, c, point, np.inf, y)


def component(d, seed=0):
    """Return two components of which the second is asked for, their triangle and mean."""
    rng = np.random.default_rng([d, seed])
    L = np.linalg.cholesky(np.cov(rng.normal(size=(d, 3 * d + 5))).reshape(d, d))
    mean = rng.normal(size=d)
    row = np.concatenate([[17.0], solve_triangular(L, mean, lower=True), L[np.tril_indices(d)]])
    known = Students(
        np.stack([np.full_like(row, 1e9), row]), np.stack([np.ones(d), 1.0 / np.diag(L)]),
        np.array([0.0, 3.0]), np.array([1.0, 40.0]),
    )  # fmt: skip
    return known, L, mean


def scored(known, Z):
    d, rows = Z.shape[1], np.full((LANES, Z.shape[1]), np.nan)
    rows[: len(Z)] = Z
    out = np.empty(LANES)
    scores(known, 1, rows, len(Z), np.empty(d * LANES), np.empty(d * LANES), out)
    return out[: len(Z)]


@pytest.mark.parametrize("d", [1, 3, 4, 5, 16, 18, 33, 64])
def test_scores_are_those_of_triangular_solutions(d):
    known, L, mean = component(d)
    Z = np.random.default_rng(d).normal(size=(LANES, d))
    square = (solve_triangular(L, (Z - mean).T, lower=True) ** 2).sum(axis=0)
    expected = 3.0 - 40.0 * np.log1p(17.0 / 18.0 * square)
    assert_allclose(scored(known, Z), expected, rtol=1e-12)
    alone = [score(known, 1, np.append(1.0, z), np.empty(d)) for z in Z]
    assert_allclose(scored(known, Z), alone, rtol=1e-12)


@pytest.mark.parametrize("d", [5, 16, 33])
def test_who_stands_beside_a_point_changes_no_bit(d):
    known, _, _ = component(d)
    Z = np.random.default_rng(d).normal(size=(LANES, d))
    whole = scored(known, Z)
    assert scored(known, Z[::-1])[::-1].tobytes() == whole.tobytes()
    for i in (0, 3, LANES - 1):
        assert scored(known, Z[i : i + 1]).tobytes() == whole[i : i + 1].tobytes()
