"""Cholesky factors by blocks against those one by one, and what becomes of bad matrices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from scstream import Gaussian
from scstream.kernels import cholesky, matrices
from scstream.kernels.cholesky import Factoring
from scstream.kernels.crew import crew_of

SIZES = [1, 3, 4, 5, 16, 19, 64]
NONE = {d: np.empty((0, d)) for d in SIZES}


def groups(d, k=6):
    """Return a prior's row, what its degrees of freedom exceed its count by, and sums (k, p)."""
    rng = np.random.default_rng(d)
    X = rng.normal(size=(k, d + 4, d)) * rng.uniform(0.1, 5.0, d) + rng.normal(size=(k, 1, d))
    family = Gaussian(cov_strength=d + 2.0).prepare(X.reshape(-1, d))  # which never narrows
    prior, more, _, _ = family.numbers
    return prior, more, np.stack([family.statistics(x).sum(axis=0) for x in X])


def factored(kernels, s, prior, vector, out=None):
    out = np.full((len(s), s.shape[2]), np.nan) if out is None else out
    log_det = np.empty(len(s))
    if kernels is matrices:
        failed = matrices.factor(s, prior, vector, matrices.room_for(vector.shape[1]), out, log_det)
        return out, log_det, failed
    with crew_of(3) as crew:
        memory, taken = Factoring.of(crew.threads, vector.shape[1]), np.zeros(1, dtype=np.int64)
        cholesky.factor(crew, s, prior, vector, memory, taken, out, log_det)
    return out, log_det, np.count_nonzero(np.isnan(log_det))


@pytest.mark.parametrize("d", SIZES)
@pytest.mark.parametrize("together", [1, 2, 3])
def test_factors_are_those_of_one_column_after_the_other(d, together):
    prior, _, s = groups(d)
    s = s.reshape(-1, together, s.shape[1])
    for vector in (NONE[d], np.random.default_rng(0).normal(size=(len(s), d))):
        expected, level, _ = factored(matrices, s, prior, vector)
        got, log_det, failed = factored(cholesky, s, prior, vector)
        assert failed == 0
        assert_allclose(got, expected, rtol=1e-9, atol=1e-11 * np.abs(expected).max())
        assert_allclose(log_det, level, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("d", SIZES)
def test_a_matrix_that_is_not_positive_definite_spoils_no_other(d):
    prior, _, s = groups(d)
    expected = factored(cholesky, s[:, None], prior, NONE[d])
    bad = s.copy()
    bad[1, -1] = -1e6
    bad[3] = np.nan
    got = factored(cholesky, bad[:, None], prior, NONE[d])
    well = [0, 2, 4, 5]
    assert got[2] == 2
    assert np.isnan(got[1][[1, 3]]).all()
    for a, b in zip(got[:2], expected[:2], strict=True):
        assert (a[well] == b[well]).all()


@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_determinants_beyond_the_range_of_numbers_have_a_logarithm(size):
    d = 16
    prior, _, s = groups(d)
    _, log_det, _ = factored(cholesky, s[:, None], prior, NONE[d])
    scale = np.concatenate([[1.0], np.full(d, np.sqrt(size)), np.full(len(prior) - d - 1, size)])
    _, scaled, _ = factored(cholesky, (s * scale)[:, None], prior * scale, NONE[d])
    assert_allclose(scaled, log_det + d * np.log(size), rtol=1e-12)
