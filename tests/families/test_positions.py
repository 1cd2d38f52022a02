"""What is computed of a row does not depend on where the row stands, to the last bit.

NumPy's logarithms and sums over an axis do depend on it on some processors, and on the layout of an
array on all of them: they take several numbers at a time, and the few that are left over otherwise.
Labels would then depend on how a batch is cut into chunks.
"""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from problems import PROBLEMS, dense, problem

from examples import example_rows
from scstream.families import BY_NAME, Product

WIDE = 11  # columns: more than any vector holds
ROWS = 67
WIDENED = [f"{name}-wide" for name in BY_NAME]


def many_rows(X: np.ndarray) -> np.ndarray:
    """Return rows that differ from those given in whole columns, so that they stay possible."""
    rng = np.random.default_rng(3)
    pick = rng.integers(len(X), size=(ROWS, X.shape[1]))
    return np.take_along_axis(X, pick, axis=0)


def prepared(name: str):
    """Return a prepared family and rows without gaps as they come."""
    if name == "many-blocks":
        rng = np.random.default_rng(4)
        X = np.concatenate([rng.gamma(2.0, 3.0, (ROWS, 6)), rng.poisson(4.0, (ROWS, 6))], axis=1)
        raw = Product([("gamma" if j < 6 else "poisson", [j]) for j in range(12)])
    elif name.endswith("-wide"):
        raw = BY_NAME[name.removesuffix("-wide")]()
        X = example_rows(name.removesuffix("-wide"), 5)
        X = many_rows(np.concatenate([X] * WIDE, axis=1)[:, :WIDE])
    else:
        raw, X = problem(name).raw, many_rows(problem(name).X)
    X = np.where(np.isnan(X), 1.0, X)
    family = raw.meet(X, None)
    return family.prepare(family.check(X)), X


@pytest.fixture(params=[*PROBLEMS, *WIDENED, "many-blocks"], scope="module")
def case(request):
    return prepared(request.param)


def of_rows(family):
    """Return the functions of single rows by name."""
    functions = {"statistics": family.statistics, "log_base": family.log_base}
    if family.name != "product":  # which scales blocks by the rows at hand, for seeding
        functions["embed"] = family.embed
    return functions.items()


def test_a_row_alone_is_as_among_others(case):
    family, X = case
    points = family.check(X)
    for name, function in of_rows(family):
        whole = dense(function(points))
        for i in range(ROWS):
            assert_array_equal(dense(function(points[i : i + 1])), whole[i : i + 1], err_msg=name)


def test_scores_of_a_row_alone_are_as_among_others(case):
    """Statistics lie row after row, wherever they begin."""
    family, X = case
    T = family.statistics(family.check(X))
    half = ROWS // 2
    s = np.stack([dense(part).sum(axis=0) for part in (T[:half], T[half:], T[:9], T[9:])])
    score = family.predictive_score(s, np.log(np.arange(1.0, 5.0)))
    z = np.arange(ROWS) % 2
    block, pairs = score.block(T), score.pairs(T, z)
    cuts = [slice(i, i + size) for size in (1, 2, 3, 5, 8) for i in range(ROWS - size)]
    for some in (*cuts, *(slice(i, None) for i in range(10))):
        assert_array_equal(score.block(T[some]), block[some])
        assert_array_equal(score.pairs(T[some], z[some]), pairs[some])
