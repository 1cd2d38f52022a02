"""Rows that are in a table several times: the warning, and who gets none."""

import warnings

import numpy as np
import pytest

from scstream import ScStream
from scstream.estimator.copies import different_rows

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("family", ["gaussian", "auto"])
def test_copies_of_rows_are_named_once_and_single_rows_are_well(family):
    X = RNG.normal(size=(60, 2))
    model = ScStream(family, random_state=0, max_sweeps=5)
    with pytest.warns(UserWarning, match="has 300 rows, but only 60 different ones") as told:
        model.partial_fit(np.tile(X, (5, 1)))
    assert [one.filename for one in told] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(np.tile(X + 0.1, (5, 1)))
        ScStream(family, random_state=0).fit(X)


COLUMNS = {
    "copies": ([np.tile(RNG.normal(size=50), 4), np.tile(RNG.normal(size=50), 4)], 50),
    "beside a flag": ([np.tile(x, 4) for x in (*RNG.normal(size=(2, 50)), np.arange(50) > 20)], 50),
    "pairs": ([np.tile(RNG.normal(size=50), 2), np.tile(RNG.normal(size=50), 2)], 0),
    "whole numbers": (list(RNG.integers(0, 30, size=(2, 500))), 0),
    "ages beside a constant": ([RNG.integers(0, 90, size=500), np.ones(500)], 0),
    "one column": ([RNG.integers(0, 90, size=500)], 0),
    "a few places": ([np.tile([0.0, 1.5, 7.0], 50), np.tile([2.0, 1.0, 4.0], 50)], 0),
    "no rows": ([np.zeros(0), np.zeros(0)], 0),
    "none": ([], 0),
}


@pytest.mark.parametrize(("columns", "expected"), COLUMNS.values(), ids=COLUMNS.keys())
def test_rounded_numbers_are_no_copies(columns, expected):
    assert different_rows(columns) == expected
