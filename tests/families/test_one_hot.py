"""Categories spread over columns: what rows are taken for, and what clusters say of themselves."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from scstream.families import Categorical, OneHot, Product, check_family

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
    assert family.run_name(0) == "a to c"
    about = family.describe(family.prior + s)["probability"][0]
    words = other.describe_columns(other.prior + s, ["colour", "size"])[0]["colour"]
    assert about[0] == pytest.approx(words["probabilities"]["a"] + words["probabilities"]["a + b"])
    assert_array_equal(
        family.as_table(np.array([["a + b", "d"], ["(none)", "e"]], dtype=object)),
        [[1, 1, 0, 1, 0], [0, 0, 0, 0, 1]],
    )


def test_the_contract_and_more_than_three_ones() -> None:
    assert len(check_family(OneHot())) == 9
    with pytest.warns(UserWarning, match="several categories"):
        assert OneHot().meet(np.ones((2, 5)), None).known == (("(several)",),)


@pytest.mark.parametrize(
    ("family", "match"),
    [
        (OneHot([3, 3]), r"sizes \[3, 3\] are those of 6 columns; there are 5"),
        (OneHot([0, 5]), "sizes must be whole numbers of at least 1"),
        (OneHot([]), "sizes must be whole numbers of at least 1"),
        (OneHot(code=OneHot()), "code must be a Categorical"),
        (Product({OneHot([2.0, 3]): range(5)}), "sizes must be whole numbers"),
    ],
    ids=repr,
)
def test_impossible_sizes_and_priors_are_refused(family, match):
    with pytest.raises(ValueError, match=match):
        family.meet(ROWS, None)


def test_columns_of_words_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="Column 'a' holds no numbers"):
        OneHot().meet(pd.DataFrame({"a": ["x", "y"], "b": [0, 1]}), None)


@pytest.mark.parametrize("change", [{"names": ["a"]}, {"names": [1, 2]}, {"family": 3}])
def test_what_a_checkpoint_cannot_hold_is_refused(change):
    family, _ = prepared(OneHot([3, 2]), ROWS)
    saved = family.to_saved()
    again = OneHot([3, 2]).from_saved(saved)
    assert_array_equal(again.prior, family.prior)
    assert_array_equal(again.check(ROWS), family.check(ROWS))
    with pytest.raises(ValueError, match=r"names|sizes|family within"):
        OneHot([3, 2]).from_saved(saved | change)


def test_several_categories_that_are_taken_for_one_are_reported(recwarn) -> None:
    code = np.random.default_rng(0).integers(3, size=(90, 4))
    X = np.eye(3)[code].reshape(90, 12)
    OneHot([3] * 4).meet(X, None)
    OneHot().meet(X[:, :9], None)  # three ones are told apart
    assert not recwarn.list
    with pytest.warns(UserWarning, match=r"more than 3 ones.*OneHot\(sizes=\[\.\.\.\]\)"):
        OneHot().meet(X, None)
