"""Columns of 0 and 1 that exclude each other, and those that do so by chance."""

import numpy as np
import pytest

from scstream.encoders.exclusive import exclusive_runs

RNG = np.random.default_rng(0)
THREE, FOUR = np.eye(3)[RNG.integers(3, size=50)], np.eye(4)[RNG.integers(4, size=50)]
FLAG = (RNG.random((50, 1)) < 0.5).astype(float)
GAP = THREE.copy()
GAP[7, 1] = np.nan
ONE, ZERO = np.ones((50, 1)), np.zeros((50, 1))


@pytest.mark.parametrize(
    ("columns", "runs"),
    [
        ([FLAG, THREE, FLAG, FOUR, FLAG], [[1, 2, 3], [5, 6, 7, 8]]),
        ([THREE, FOUR], [[0, 1, 2], [3, 4, 5, 6]]),
        ([FLAG, 1.0 - FLAG], [[0, 1]]),  # such pairs divide clusters too
        ([THREE[:, :2], FLAG], [[0, 1]]),  # one category has no column
        ([THREE[:, :2], FOUR[:, 1:]], [[0, 1], [2, 3, 4]]),
        ([GAP, FOUR], [[0, 1, 2], [3, 4, 5, 6]]),
        ([ZERO, THREE[:, :1], ZERO, THREE[:, 1:], ZERO], [[1, 2, 3, 4]]),
        ([ONE, ZERO], []),
        ([ZERO, THREE[:, :2], ZERO], [[1, 2]]),
        ([FLAG, ONE, FLAG], []),
        ([RNG.integers(2, size=(50, 6))], []),
        ([THREE[:19]], []),  # too few rows
        ([np.where(RNG.random((50, 1)) < 0.6, np.nan, THREE)], []),
    ],
)  # fmt: skip
def test_runs_are_successive_columns_that_exclude_each_other(columns, runs):
    rows = np.concatenate([c[: len(columns[0])] for c in columns], axis=1).astype(float)
    assert exclusive_runs(rows) == runs


def test_rare_columns_may_exclude_each_other_by_chance() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        assert exclusive_runs((rng.random((500, 8)) < 0.01).astype(float)) == []
