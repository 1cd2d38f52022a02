"""Categories spread over columns: what rows are taken for, and what clusters say of themselves."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from examples import example_rows
from scstream.families import Categorical, OneHot, check_family

ROWS = np.array(
    [
        [1, 0, 0, 0, 1], [0, 1, 0, 1, 0], [0, 0, 0, 0, 1], [1, 1, 0, 1, 0], [np.nan, 0, 1, 1, 0],
        [np.nan, 0, 0, 0, 1], [2, 0, 0, 1, 0], [1, 0, 0, 0, 1],
    ]
)  # fmt: skip
WORDS = {
    "colour": ["a", "b", "(none)", "a + b", "c", None, "(not 0 or 1)", "a"],
    "size": ["e", "d", "e", "d", "d", "e", "d", "e"],
}


def prepared(family, X):
    met = family.meet(X, None)
    points = met.check(X)
    return met.prepare(points), points


def test_it_is_the_family_of_the_words() -> None:
    frame = pd.DataFrame(ROWS, columns=list("abcde"))
    family, points = prepared(OneHot([3, 2]), frame)
    other, same = prepared(Categorical(), pd.DataFrame(WORDS))
    assert_array_equal(points, same)
    assert_array_equal(family.statistics(points), other.statistics(same))
    s = family.statistics(points)[:4].sum(axis=0)[None]
    assert_allclose(family.log_predictive(points, s), other.log_predictive(same, s))
    assert family.known == other.known
    assert family.form.run_name(0) == "a to c"
    (about,) = family.describe_columns(family.prior + s, list("abcde"))
    words = other.describe_columns(other.prior + s, ["colour", "size"])[0]["colour"]
    expected = words["probabilities"]["a"] + words["probabilities"]["a + b"]
    assert about["a"]["probability"] == pytest.approx(expected)
    assert_array_equal(
        family.form.decode(np.array([["a + b", "d"], ["(none)", "e"]], dtype=object)),
        [[1, 1, 0, 1, 0], [0, 0, 0, 0, 1]],
    )


def test_the_contract_and_more_than_three_ones() -> None:
    assert len(check_family(OneHot(), example_rows("one-hot"))) == 9
    with pytest.warns(UserWarning, match="several categories"):
        assert OneHot().meet(np.ones((2, 5)), None).known == (("(several)",),)


def test_columns_of_words_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="Column 'a' holds no numbers"):
        OneHot().meet(pd.DataFrame({"a": ["x", "y"], "b": [0, 1]}), None)


def test_several_categories_that_are_taken_for_one_are_reported(recwarn) -> None:
    code = np.random.default_rng(0).integers(3, size=(90, 4))
    X = np.eye(3)[code].reshape(90, 12)
    OneHot([3] * 4).meet(X, None)
    OneHot().meet(X[:, :9], None)  # three ones are told apart
    assert not recwarn.list
    with pytest.warns(UserWarning, match=r"more than 3 ones.*OneHot\(sizes=\[\.\.\.\]\)"):
        OneHot().meet(X, None)
