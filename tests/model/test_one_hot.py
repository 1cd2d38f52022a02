"""Categories that are spread over columns of yes and no: the warning, and who gets none."""

import warnings

import numpy as np
import pandas as pd
import pytest

from scstream import ScStream
from scstream.estimator.one_hot import one_hot_runs


def table(seed=0, n=100):
    """Return a real column and two of words."""
    rng = np.random.default_rng(seed)
    words = {"tree": rng.choice(["ash", "elm", "oak"], n), "sky": rng.choice(list("abcd"), n)}
    return pd.DataFrame({"x": rng.normal(size=n), **words})


def test_one_hot_columns_are_named_once_and_words_are_well() -> None:
    model = ScStream("auto", random_state=0, max_sweeps=2)
    match = "'tree_ash' to 'tree_oak' exactly one is yes .*and 1 more such group of columns"
    with pytest.warns(UserWarning, match=match) as told:
        model.partial_fit(pd.get_dummies(table()))
    assert [one.filename for one in told] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(pd.get_dummies(table(1)))
        ScStream("auto", random_state=0, max_sweeps=2).partial_fit(table())


def test_runs_are_successive_columns_one_of_which_is_1() -> None:
    rng = np.random.default_rng(0)
    three, four = np.eye(3)[rng.integers(3, size=50)], np.eye(4)[rng.integers(4, size=50)]
    flag = (rng.random((50, 1)) < 0.5).astype(float)
    gap = three.copy()
    gap[7, 1] = np.nan
    for flags, runs in (
        ([flag, three, flag, four, flag], [[1, 2, 3], [5, 6, 7, 8]]),
        ([three, four], [[0, 1, 2], [3, 4, 5, 6]]),
        ([flag, 1.0 - flag], []),  # they divide nothing
        ([three[:, :2], flag], []),
        ([gap], []),
        ([gap, four], [[3, 4, 5, 6]]),
        ([rng.integers(2, size=(50, 6))], []),
    ):
        X = np.concatenate(flags, axis=1).astype(float)
        assert one_hot_runs(X, range(X.shape[1])) == runs
