"""The prior of Gaussian clusters against plain NumPy, matrix by matrix."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import multigammaln

from scstream.families import Gaussian

SIZES = [(d, k) for d in (1, 2, 3, 5, 16, 64) for k in (1, 7)]
sizes = pytest.mark.parametrize(("d", "k"), SIZES)


def full(X):
    """Return a family for all columns: its prior's default, but given, so that it never narrows."""
    return Gaussian(cov_strength=X.shape[1] + 2.0).prepare(X)


def groups(d, k, rows=None, seed=0):
    """Return a prepared family and statistics (k, p) of groups; the last of several is empty."""
    rng = np.random.default_rng(seed)
    n = 3 * d + 5 if rows is None else rows
    X = rng.normal(size=(k, n, d)) * rng.uniform(0.3, 3.0, (k, 1, d)) + rng.normal(size=(k, 1, d))
    X[..., -1] += X[..., 0]
    family = full(X.reshape(-1, d))
    s = np.stack([family.statistics(x).sum(axis=0) for x in X])
    if k > 1:
        s[-1] = 0.0
    return family, s


def matrices(packed, d):
    """Return symmetric matrices (k, d, d) from upper triangles."""
    row, col = np.triu_indices(d)
    out = np.zeros((len(packed), d, d))
    out[:, row, col] = out[:, col, row] = packed
    return out


def posteriors(family, s, d):
    """Return kappa, nu, mean and scatter of groups."""
    hyper = family.hyperparameters()
    tau = family.prior + s
    kappa, mean = tau[:, 0], tau[:, 1 : 1 + d] / tau[:, :1]
    scatter = matrices(tau[:, 1 + d :], d) - kappa[:, None, None] * np.einsum(
        "ki,kj->kij", mean, mean
    )
    return kappa, kappa + hyper["cov_strength"] - hyper["mean_strength"], mean, scatter


def functionals(const, linear, square):
    """Return packed ``const + linear . z + z' square z / 2``."""
    row, col = np.triu_indices(linear.shape[1])
    weight = np.where(row == col, 0.5, 1.0)
    return np.column_stack([const, linear, weight * square[:, row, col]])


def assert_near(got, expected, rtol=1e-9):
    """Compare rows with the size of what is in them."""
    size = np.abs(expected).max(axis=-1, keepdims=True)
    assert_allclose(got / size, expected / size, rtol=0, atol=rtol)


@sizes
def test_log_partition(d, k):
    family, s = groups(d, k)
    kappa, nu, _, scatter = posteriors(family, s, d)
    expected = (
        -0.5 * d * np.log(kappa)
        + 0.5 * nu * (d * np.log(2.0) - np.linalg.slogdet(scatter)[1])
        + [multigammaln(0.5 * v, d) - 0.25 * d * (d - 1) * np.log(np.pi) for v in nu]
    )
    tau = family.prior + s
    assert_allclose(family.log_partition(tau), expected, rtol=1e-11)
    stacked = family.log_partition(np.stack([tau, tau[::-1]])[:, None])
    assert stacked.shape == (2, 1, k)
    assert_allclose(stacked[:, 0], [expected, expected[::-1]], rtol=1e-11)
    assert family.log_partition(tau[0]).shape == ()
    assert family.log_partition(tau[:0]).shape == (0,)


@sizes
def test_draws_use_the_random_stream_as_bartletts_factors_do(d, k):
    family, s = groups(d, k)
    kappa, nu, m, scatter = posteriors(family, s, d)
    rng, i = np.random.default_rng(2), np.arange(d)
    B = np.zeros((k, d, d))
    B[:, i, i] = np.sqrt(rng.chisquare(nu[:, None] - i))
    low, normal = np.tril_indices(d, -1), rng.standard_normal((k, d * (d + 1) // 2))
    B[:, low[0], low[1]] = normal[:, d:]
    root = np.swapaxes(B, 1, 2) @ np.linalg.inv(np.linalg.cholesky(scatter))
    off = np.linalg.solve(root, normal[:, :d, None])[..., 0]
    mean = m + off / np.sqrt(kappa)[:, None]
    precision = np.swapaxes(root, 1, 2) @ root
    linear = np.einsum("kij,kj->ki", precision, mean)
    log_det = np.linalg.slogdet(precision)[1]
    const = 0.5 * (log_det - (mean * linear).sum(axis=1))
    got_rng = np.random.default_rng(2)
    got = family.draw(got_rng, family.prior + s)
    assert_near(got, functionals(const, linear, -precision), rtol=1e-8)
    assert got_rng.random() == rng.random()


@pytest.mark.parametrize("d", [2, 5, 16])
def test_only_matrices_that_lost_definiteness_are_mended(d):
    X = np.random.default_rng(6).normal(size=(40, d))
    family = Gaussian(mean=0.0, mean_strength=1.0, cov=1e-12, cov_strength=d + 1.0).prepare(X)
    sound = family.statistics(X).sum(axis=0)
    copies = family.statistics(np.repeat(X[:1], 50, axis=0)).sum(axis=0)
    broken = copies.copy()
    broken[1 + d] -= 1e-7  # a second moment below the square of the mean
    s = np.stack([broken, sound, broken])
    for one in (family.log_marginal, lambda s: family.predictive_score(s, np.zeros(len(s))).quad):
        both = one(s)
        assert np.all(np.isfinite(both))
        assert_array_equal(both[1], one(s[1:2])[0])
        assert_array_equal(both[0], both[2])
    # what is mended has the eigenvalues of the broken scatter, or the least that is safe
    scatter = posteriors(family, s[:1], d)[3][0]
    value, vector = np.linalg.eigh(scatter)
    least = 1e-9 * (d + 1.0) * np.mean(np.diag(family._psi))
    value = np.maximum(value, max(least, 1e-12 * value[-1]))
    precision = matrices(family.predictive_score(s[:1], np.zeros(1)).quad[:, 1 + d :], d)[0]
    precision[np.diag_indices(d)] *= 2.0
    kappa = 1.0 + s[0, 0]
    expected = 2.0 * kappa / (kappa + 1.0) * (vector / value) @ vector.T
    assert_allclose(precision, expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())


@pytest.mark.parametrize("d", [2, 5, 16, 64])
def test_nearly_singular_scatter_is_factored_as_it_is(d):
    X = np.random.default_rng(7).normal(size=(4 * d, d))
    X[:, -1] = X[:, 0] + 1e-4 * X[:, -1]
    family = Gaussian(mean=0.0, mean_strength=1.0, cov=1e-7, cov_strength=d + 1.0).prepare(X)
    s = family.statistics(X).sum(axis=0, keepdims=True)
    kappa, nu, _, scatter = posteriors(family, s, d)
    log_det = np.linalg.slogdet(scatter)[1]
    expected = -0.5 * d * np.log(kappa) + 0.5 * nu * (d * np.log(2.0) - log_det)
    expected += multigammaln(0.5 * nu[0], d) - 0.25 * d * (d - 1) * np.log(np.pi)
    assert_allclose(family.log_partition(family.prior + s), expected, rtol=1e-7)
