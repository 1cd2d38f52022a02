"""Columns that add up to the same total, and those that nearly do."""

import numpy as np
import pytest

from scstream.encoders.constant_sums import runs_of_shares

RNG = np.random.default_rng(0)
THREE, FIVE = RNG.dirichlet([4.0, 2.0, 1.0], 300), 100.0 * RNG.dirichlet(np.ones(5), 300)
PRICE, SIGNED = RNG.gamma(3.0, 2.0, (300, 1)), RNG.normal(size=(300, 1))
GAP = THREE.copy()
GAP[7, 1] = np.nan
SOME_EMPTY, MANY_EMPTY = THREE.copy(), THREE.copy()
SOME_EMPTY[:3], MANY_EMPTY[:30] = 0.0, 0.0


@pytest.mark.parametrize(
    ("columns", "runs"),
    [
        ([THREE], [range(3)]),
        ([PRICE, THREE, SIGNED, FIVE, PRICE], [range(1, 4), range(5, 10)]),
        ([1e12 * PRICE, THREE, FIVE], [range(1, 4), range(4, 9)]),
        ([THREE, FIVE], [range(3), range(3, 8)]),
        ([GAP, FIVE], [range(3), range(3, 8)]),
        ([THREE[:, :1], 1.0 - THREE[:, :1]], [range(2)]),
        ([np.round(FIVE)], [range(5)]),  # they add up to 99 or 101, too
        ([THREE[:, :2], PRICE], []),
        ([SOME_EMPTY], [range(3)]),
        ([MANY_EMPTY], []),
        ([SIGNED, -SIGNED], []),
        ([SIGNED, 9.0 - SIGNED], []),  # not shares: one is negative
        ([1_000.0 + SIGNED, 0.1 + 0.0 * PRICE], []),  # nearly constant, by their level
        ([1_000.0 + PRICE, PRICE], []),
        ([np.ones((300, 1)), np.ones((300, 1))], []),
        ([THREE[:19]], []),  # too few rows
    ],
)
def test_runs_are_successive_columns_with_one_sum(columns, runs):
    rows = np.concatenate(columns, axis=1)
    assert runs_of_shares(rows) == runs
    assert runs_of_shares(1e9 * rows) == runs
