"""Counts: rises of gamma functions and Dirichlet marginals, against SciPy and each other."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import gammaln

ALL, NONE = np.zeros(0, np.int64), np.zeros(0)


def rows(rng, n, d, mean):
    """Return counts (n, d), many of them 0, and parameters (6, d)."""
    X = rng.poisson(mean * rng.gamma(0.3, 3.0, (n, d))).astype(float)
    return X, rng.gamma(1.0, 10.0, (6, d)) + 0.01


def expected(X, conc):
    """Return scores (n, k)."""
    return (gammaln(conc + X[:, None]) - gammaln(conc)).sum(axis=2)


@pytest.mark.parametrize("mean", [0.02, 3.0, 400.0])
@pytest.mark.parametrize(("n", "d"), [(1, 3), (300, 7), (40, 500)])
def test_rises_are_ratios_of_gamma_functions(core, n, d, mean):
    rng = np.random.default_rng(n)
    X, conc = rows(rng, n, d, mean)
    out = np.ones((n, 6))
    core.add_rises((X,), conc, ALL, NONE, out)
    assert_allclose(out - 1.0, expected(X, conc), rtol=1e-11, atol=1e-9)
    for kind in (np.int32, np.int64):
        S = sparse.csr_array(X)
        some = np.ones((n, 6))
        parts = S.data, S.indices.astype(kind), S.indptr.astype(kind)
        core.add_rises(parts, conc, ALL, NONE, some)
        assert_array_equal(some, out)
    z = rng.integers(3, size=n)
    own = np.ones((n, 2))
    core.add_rises((X,), conc, z, NONE, own)
    pair = 2 * z[:, None] + [0, 1]
    assert_allclose(own, out[np.arange(n)[:, None], pair], rtol=1e-13)
    alone = [np.ones((1, 6)) for _ in X]
    for x, to in zip(X, alone, strict=True):
        core.add_rises((x[None],), conc, ALL, NONE, to)
    assert_array_equal(np.concatenate(alone), out)  # whatever rows are beside it


def test_rows_are_scored_without_what_they_taught(core):
    rng = np.random.default_rng(1)
    X, conc = rows(rng, 60, 5, 3.0)
    z, less = np.arange(60) % 6, rng.random(60)
    conc = conc + np.stack([X[z == c].sum(axis=0) for c in range(6)])
    less[0], X[0, 0] = 1.0, X[0, 0] + 1e4  # more than there is
    out = np.zeros((60, 1))
    core.add_rises((X,), conc, z, less, out)
    assert np.isnan(out[0, 0])
    for x, c, w, found in zip(X[1:], z[1:], less[1:], out[1:, 0], strict=True):
        assert_allclose(found, expected(x[None], conc[c : c + 1] - w * x)[0, 0], rtol=1e-10)


def test_rows_are_added_to_cells_in_their_order(core):
    rng = np.random.default_rng(3)
    X, _ = rows(rng, 200, 40, 0.4)
    weight, cell = rng.random((200, 2)), rng.integers(-1, 7, (200, 2))
    expected = np.ones((6, 40))
    for x, w, c in zip(X, weight, cell, strict=True):
        for g in range(2):
            if 0 <= c[g] < 6:
                expected[c[g]] += w[g] * x
    S = sparse.csr_array(X)
    for parts in ((X,), (S.data, S.indices, S.indptr)):
        out = np.ones((6, 40))
        core.add_compressed(parts, weight, cell, out)
        assert_allclose(out, expected, rtol=1e-13)


def test_rises_from_huge_numbers_keep_their_digits(core):
    a, out = 1e12, np.zeros((1, 1))
    core.add_rises((np.array([[5.0]]),), np.full((1, 1), a), ALL, NONE, out)
    assert_allclose(out, np.log(a + np.arange(5.0)).sum(), rtol=1e-14)


@pytest.mark.parametrize("scale", [1e-300, 1e-10, 1e20, 1e70])
def test_products_leave_the_range_of_numbers(core, scale):
    x, out = scale * np.arange(1.0, 41.0)[None], np.zeros((1, 1))
    core.add_rises((np.ones((1, 40)),), x, ALL, NONE, out)
    if core.__name__.endswith("plain") or scale > 1e-300:
        assert_allclose(out, np.log(x).sum(), rtol=1e-12)


@pytest.mark.parametrize("scale", [0.01, 1.0, 1e4])
def test_marginals_are_those_of_the_librarys_log_gammas(core, scale):
    rng = np.random.default_rng(2)
    conc = np.append(0.0, rng.gamma(1.0, 1.0, 400) + 0.01)
    s = np.column_stack([np.full(9, 7.0), rng.gamma(0.5, scale, (9, 400))])
    s[:, 1:] *= rng.random((9, 400)) < 0.5
    s[0] = 0.0
    one, other = np.arange(9), np.array([-1, 0, 1, -1, 5, 4, -1, 8, 3])
    both = s + np.where((other < 0)[:, None], 0.0, s[other])
    total = (conc + both)[:, 1:]
    level = (gammaln(total) - gammaln(conc[1:])).sum(axis=1)
    level -= gammaln(total.sum(axis=1)) - gammaln(conc.sum())
    out = np.empty(9)
    core.count_marginals(s, (conc, gammaln(np.maximum(conc, 1e-9))), one, other, out)
    assert_allclose(out, level, rtol=1e-12, atol=1e-11)


def test_arrays_that_do_not_fit_are_refused(core):
    if core.__name__.endswith("plain"):
        pytest.skip("NumPy says what is wrong in its own words")
    conc, out = np.ones((4, 3)), np.zeros((2, 4))
    X = np.ones((2, 3))
    S = sparse.csr_array(X)
    short = S.data, np.full_like(S.indices, 3), S.indptr
    for counts, z, to in [
        ((X[:, :2].copy(),), ALL, out),
        ((X,), ALL, np.zeros((3, 4))),
        ((X,), np.array([0, 2]), np.zeros((2, 2))),
        ((X,), np.array([0, -1]), np.zeros((2, 2))),
        (short, ALL, out),
        ((S.data, S.indices, S.indptr[::-1].copy()), ALL, out),
    ]:
        with pytest.raises((ValueError, TypeError)):
            core.add_rises(counts, conc, z, NONE, to)
    for weight, cell in [
        (np.ones((2, 1)), np.zeros((2, 2), int)),
        (np.ones((3, 1)), np.zeros((3, 1), int)),
    ]:
        with pytest.raises(ValueError, match=r"weight|numbers"):
            core.add_compressed((X,), weight, cell, np.zeros((4, 3)))
    with pytest.raises(ValueError, match="cluster"):
        core.count_marginals(conc, (conc[0], conc[0]), np.array([4]), np.array([0]), np.zeros(1))
