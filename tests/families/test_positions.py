"""What is computed of a row does not depend on where the row stands, to the last bit.

NumPy's logarithms and sums over an axis do depend on it on some processors, and on the layout of an
array on all of them: they take several numbers at a time, and the few that are left over otherwise.
Labels would then depend on how a batch is cut into chunks.
"""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from problems import PROBLEMS, dense, problem
from scipy import sparse

from scstream.families import BY_NAME, Product, rowwise
from scstream.families.directional import log_integral

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
        X = np.concatenate([*raw.example(np.random.default_rng(5))])
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


def layouts(points):
    """Yield rows otherwise laid out in memory, and which of the rows they are."""
    every = np.arange(points.shape[0])
    for step in (2, 3, -1):
        yield points[::step], every[::step]
    for shift in range(1, 10):
        yield points[shift:], every[shift:]
    if sparse.issparse(points):
        return
    yield np.asfortranarray(points), every
    for shift in range(1, 10):  # in bytes that begin at no multiple of a vector's
        room = np.empty(points.size + shift, dtype=points.dtype)
        room[shift:] = points.ravel()
        yield room[shift:].reshape(points.shape), every
    wide = np.zeros((len(points), points.shape[1] + 3), dtype=points.dtype)
    wide[:, 2:-1] = points
    yield wide[:, 2:-1], every


def test_a_row_alone_is_as_among_others(case):
    family, X = case
    points = family.check(X)
    for name, function in of_rows(family):
        whole = dense(function(points))
        for i in range(ROWS):
            assert_array_equal(dense(function(points[i : i + 1])), whole[i : i + 1], err_msg=name)


def test_rows_laid_out_otherwise_are_the_same(case):
    family, X = case
    points = family.check(X)
    for name, function in of_rows(family):
        whole = dense(function(points))
        for rows, which in layouts(points):
            assert_array_equal(dense(function(rows)), whole[which], err_msg=name)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 8, 9, 16])
def test_chunks_below_one_another_are_the_whole(case, size):
    """From rows as they come: what `check` and `unrounded` return is compared too."""
    family, X = case
    starts = range(0, ROWS, size)
    points = family.check(X)
    checked = [family.check(X[a : a + size]) for a in starts]
    assert_array_equal(np.concatenate([dense(c) for c in checked]), dense(points))
    places = family.unrounded(points, 3, 0)
    chunks = [family.unrounded(c, 3, a) for a, c in zip(starts, checked, strict=True)]
    assert_array_equal(np.concatenate([dense(c) for c in chunks]), dense(places))
    for name, function in of_rows(family):
        parts = np.concatenate([dense(function(chunk)) for chunk in chunks])
        assert_array_equal(parts, dense(function(places)), err_msg=name)


@pytest.mark.parametrize(
    "function",
    [
        rowwise.log,
        rowwise.log1p,
        lambda x: log_integral(x, 6),
        lambda x: log_integral(x, 40),
    ],
    ids=["log", "log1p", "bessel", "debye"],
)
def test_functions_of_single_numbers(function):
    x = np.random.default_rng(6).gamma(0.7, 30.0, (41, 23))
    whole = function(x)
    for rows, which in layouts(x):
        assert_array_equal(function(rows), whole[which])
    alone = np.array([function(v) for v in x.ravel()])
    assert_array_equal(alone.reshape(x.shape), whole)


def test_logarithms_are_those_of_the_library():
    x = np.r_[np.geomspace(1e-300, 1e300, 999), 1.0 + np.linspace(-1e-3, 1e-3, 99)]
    np.testing.assert_array_max_ulp(rowwise.log(x), np.log(x), 2)
    np.testing.assert_array_max_ulp(rowwise.log1p(x), np.log1p(x), 2)
    assert rowwise.log(1.0) == 0.0


def test_sums_of_rows_are_taken_from_left_to_right():
    A = np.array([[1e16, 1.0, 1.0, 1.0, -1e16], [0.0, 0.25, 0.5, -1.0, 3.0]])
    assert_array_equal(rowwise.sums(A), [0.0, 2.75])  # 1e16 takes in none of the ones
    assert rowwise.sums(np.zeros((0, 4))).shape == (0,)


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
