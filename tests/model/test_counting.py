"""Columns that only count up: the warning, and who gets none."""

import numpy as np
import pandas as pd
import pytest

from scstream import ScStream
from scstream.estimator.counting import followed, warning_of_counting


def rows(seed, n=60, d=2):
    return np.random.default_rng(seed).normal(size=(n, d))


def told_of(batches):
    """Return what is told of batches of two columns, the first as given."""
    course, said = None, []
    for x in batches:
        other = np.random.default_rng(len(x)).normal(size=len(x))
        course = followed(course, [("a", np.asarray(x, dtype=float)), ("b", other)])
        text = warning_of_counting(course)
        said.append([text] if text else [])
    return said


def test_of_a_table_the_column_is_named_once() -> None:
    model, times = ScStream("auto", random_state=0), np.cumsum(np.random.default_rng(0).random(180))
    frames = [
        pd.DataFrame(rows(i), columns=["x", "y"]).assign(when=times[60 * i : 60 * i + 60])
        for i in range(3)
    ]
    model.partial_fit(frames[0])
    with pytest.warns(UserWarning, match="Column 'when' only rises from row to row and") as told:
        model.partial_fit(frames[1])
    model.partial_fit(frames[2])
    (warning,) = told
    assert warning.filename == __file__


@pytest.mark.parametrize("family", ["gaussian", "auto"])
def test_row_numbers_are_found_in_one_batch(family):
    numbered = np.column_stack([np.arange(60.0), rows(0)])
    with pytest.warns(
        UserWarning, match=r"Column 0 only rises from row to row, as .* Leave it out"
    ):
        ScStream(family, random_state=0).fit(numbered)


ORDINARY = {
    "a few rows": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],
    "rows of a batch are sorted": [np.sort(rows(i)[:, 0]) for i in range(4)],
    "sorted by a grade": [np.repeat([1.0, 2.0, 3.0], 20), np.repeat([4.0, 5.0, 6.0], 20)],
    "a class after another": [rows(i)[:, 0] + 10.0 * i for i in range(4)],
    "one number": [np.ones(60)] * 4,
    "gaps": [np.where(np.arange(60) % 7 == 0, np.nan, np.arange(60.0))] * 2,
    "starts later": [rows(0)[:, 0], np.arange(60.0), np.arange(60.0, 120.0)],
    "one row each": [[float(i)] for i in range(4)],
    "nothing": [[]],
}


@pytest.mark.parametrize("batches", ORDINARY.values(), ids=ORDINARY.keys())
def test_other_columns_do_not(batches):
    assert not any(told_of(batches))
