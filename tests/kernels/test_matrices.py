"""The Gaussian family's compiled algebra against plain NumPy, matrix by matrix."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import linalg
from scipy.special import gammaln, multigammaln, ndtr

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


def moments(s, d):
    """Return means and covariances of groups that are not empty."""
    mean = s[:, 1 : 1 + d] / s[:, :1]
    second = matrices(s[:, 1 + d :] / s[:, :1], d)
    return mean, second - np.einsum("ki,kj->kij", mean, mean)


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
def test_statistics_are_a_point_and_its_products(d, k):
    family, _ = groups(d, k)
    X = np.random.default_rng(1).normal(size=(1100, d)).astype(np.float32)[:, ::-1]
    Z = (X - family.frame[0]) / family.frame[1]
    assert_array_equal(family.embed(X), Z)
    row, col = np.triu_indices(d)
    expected = np.column_stack([np.ones(1100), Z, Z[:, row] * Z[:, col]])
    assert_array_equal(family.statistics(X), expected)


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
def test_predictive_score(d, k):
    family, s = groups(d, k)
    kappa, nu, mean, scatter = posteriors(family, s, d)
    g = kappa / (kappa + 1.0)
    precision = 2.0 * g[:, None, None] * np.linalg.inv(scatter)
    linear = -np.einsum("kij,kj->ki", precision, mean)
    const = 1.0 - 0.5 * (mean * linear).sum(axis=1)
    score = family.predictive_score(s, np.arange(k))
    assert_near(score.quad, functionals(const, linear, precision))
    log_det = np.linalg.slogdet(scatter)[1]
    gammas = gammaln(0.5 * (nu + 1.0)) - gammaln(0.5 * (nu + 1.0 - d))
    expected = np.arange(k) + gammas + 0.5 * (d * np.log(2.0 * g) - log_det)
    assert_allclose(score.const, expected, rtol=1e-10, atol=1e-10)


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


@sizes
def test_boundary_is_fishers_discriminant(d, k):
    family, first = groups(d, k)
    second = 2.0 * groups(d, k, seed=3)[1]
    (_, nu_a, mean_a, a), (_, nu_b, mean_b, b) = (posteriors(family, s, d) for s in (first, second))
    pooled = (a + b) / (nu_a + nu_b)[:, None, None]
    expected = np.linalg.solve(pooled, (mean_b - mean_a)[..., None])[..., 0]
    odds = np.log((first[:, 0] + 0.5) / (second[:, 0] + 0.5))
    normal, offset = family.boundary(first, second)
    assert_allclose(normal, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    middle = 0.5 * (expected * (mean_a + mean_b)).sum(axis=1)
    assert_allclose(offset, middle + odds, rtol=1e-8, atol=1e-8)


@sizes
def test_divided_past_is_truncated(d, k):
    family, s = groups(d, k, rows=40)
    rng = np.random.default_rng(4)
    normal, offset = rng.normal(size=(k, d)), rng.normal(size=k)
    past = np.stack([s, 0.1 * s, 0.0 * s])
    part = family.divide(past, (normal, offset))
    assert_array_equal(part[2], 0.0)
    if k > 1:  # the last is empty
        assert_array_equal(part[:, -1], 0.0)
        part, past, normal, offset = part[:, :-1], past[:, :-1], normal[:-1], offset[:-1]
    for whole, got in zip(past[:2], part[:2], strict=True):
        mean, cov = moments(whole, d)
        along = np.einsum("kij,kj->ki", cov, normal)
        sd = np.sqrt((along * normal).sum(axis=1))
        t = np.clip((offset - (normal * mean).sum(axis=1)) / sd, -6.0, 6.0)
        hazard = np.exp(-0.5 * t * t) / np.sqrt(2.0 * np.pi) / ndtr(t)
        middle = mean - along * (hazard / sd)[:, None]
        shrink = hazard * (t + hazard) / sd**2
        second = cov - shrink[:, None, None] * np.einsum("ki,kj->kij", along, along)
        second += np.einsum("ki,kj->kij", middle, middle)
        row, col = np.triu_indices(d)
        expected = np.column_stack([np.ones(len(t)), middle, second[:, row, col]])
        assert_near(got, (whole[:, 0] * ndtr(t))[:, None] * expected)


def test_past_that_the_boundary_does_not_resolve_is_halved():
    family, s = groups(2, 1)
    flat = family.statistics(np.tile([[3.0, 4.0]], (9, 1))).sum(axis=0, keepdims=True)
    for past in (1e-9 * s, flat):
        part = family.divide(past, (np.array([[1.0, 2.0]]), np.array([0.3])))
        assert_array_equal(part, 0.5 * past)


@sizes
def test_directions_are_principal_axes_through_the_mean(d, k):
    rng = np.random.default_rng(5)
    frame = np.linalg.qr(rng.normal(size=(d, d)))[0]
    Z = rng.normal(size=(400, d)) * 3.0 ** -np.arange(d).clip(max=20) @ frame
    family, skew = full(rng.normal(size=(50, d))), rng.normal(size=(d, d))
    family = family._with(family._kappa, family._nu, np.eye(d) + skew @ skew.T)
    T = family.statistics(Z * family._scale + family._shift)
    s = np.tile(T.sum(axis=0), (k, 1))
    mean, cov = moments(s[:1], d)
    for turn, expected in enumerate((family._psi, np.eye(d), family._psi)):
        axes = linalg.eigh(cov[0], expected)[1][:, ::-1]
        for rank in range(min(d, 4)):
            attempt = 8 * turn + 2 * rank
            got = family.directions(s, T[:k], np.full(k, attempt))
            normal = got[:, 1 : 1 + d]
            along = normal @ expected @ axes[:, rank]
            length = np.sqrt(np.einsum("ki,ij,kj->k", normal, expected, normal))
            assert_allclose(np.abs(along) / length, 1.0, atol=1e-4)
            assert_allclose(got[:, 0], -(normal @ mean[0]), rtol=1e-9, atol=1e-12)
            assert_array_equal(got[:, 1 + d :], 0.0)
        got = family.directions(s, T[:k], np.full(k, 8 * turn + 1))[:, 1 : 1 + d]
        towards = (T[:k, 1 : 1 + d] - mean) @ np.linalg.inv(expected)
        assert_allclose(got, towards * d / np.trace(np.linalg.inv(expected)), rtol=1e-8, atol=1e-12)


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
