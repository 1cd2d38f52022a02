"""Compressed rows of counts: some of them are those that SciPy takes."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from scstream.families import Multinomial
from scstream.families.count_rows import CompressedRows


def rows(*, wide=False):
    """Return rows of counts, a few of them empty."""
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.poisson(0.3, (40, 30)) * (rng.random((40, 1)) < 0.8), dtype=float)
    if wide:
        X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


TAKEN = {
    "some": np.array([3, 7, 8, 39]),
    "in another order, some twice": np.array([9, 0, 9, 9, 5]),
    "none": np.zeros(0, dtype=np.int64),
    "all": np.arange(40),
    "from the end": np.array([-1, 4]),
    "by a mask": np.arange(40) % 3 == 0,
    "a run": slice(4, 9),
}


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("which", TAKEN)
def test_some_rows_are_those_that_scipy_takes(which, wide):
    X = rows(wide=wide)
    some, expected = CompressedRows(X)[TAKEN[which]], X[TAKEN[which]]
    assert some.shape == expected.shape
    assert some.indptr.dtype == some.indices.dtype == X.indices.dtype
    for name in ("data", "indices", "indptr"):
        assert_array_equal(getattr(some, name), getattr(expected, name), err_msg=name)


def test_rows_that_are_not_there_are_refused():
    with pytest.raises(IndexError):
        CompressedRows(rows())[np.array([3, 40])]


def test_statistics_of_some_rows_are_some_of_the_statistics():
    family = Multinomial(1.0).prepare(rows())
    X = family.check(rows())
    T, some = family.statistics(X), TAKEN["some"]
    assert isinstance(T[some], type(T))
    assert_array_equal(T[some].toarray(), family.statistics(X[some]).toarray())
    assert_array_equal(T[some].total, T.total[some])
