"""Gaussian clusters: the plain core against NumPy's and SciPy's matrices, the native one too."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.special import gammaln, multigammaln

from scstream import core as chosen_core
from scstream.core import plain
from scstream.core.plain.elementary import log_gamma, normal_below

SIZES = [1, 2, 3, 5, 10, 40]


@pytest.fixture(params=["plain", "native", "wide"])
def functions(request):
    """Give the functions of each core and numbers of columns; many columns by the public names."""
    if request.param == "wide":
        return chosen_core, [64, 70]
    if request.param == "plain":
        return plain, SIZES
    name = "scstream.core.native._compiled"
    return pytest.importorskip(name, reason="the native core was not built"), SIZES


def groups(d, k=19, seed=0):
    """Return a prior (p,), what nu exceeds kappa by, and statistics (k, p) of unlike clusters."""
    rng = np.random.default_rng(seed)
    row, col = np.triu_indices(d)
    out = np.empty((k, 1 + d + len(row)))
    for c in range(k):
        X = rng.normal(size=(int(10 ** rng.uniform(0, 3)), d)) * rng.uniform(0.3, 3.0, d)
        X += rng.normal(size=d)
        out[c] = np.concatenate([[len(X)], X.sum(axis=0), (X.T @ X)[row, col]])
    out[-1] = 0.0
    return np.concatenate([[0.5], np.full(d, 0.1), (d + np.eye(d))[row, col]]), d + 1.5, out


def square(rows, d):
    """Return symmetric matrices from upper triangles."""
    row, col = np.triu_indices(d)
    out = np.zeros((*rows.shape[:-1], d, d))
    out[..., row, col] = out[..., col, row] = rows
    return out


def moments(s, d):
    """Return counts, means and scatters of statistics (..., p)."""
    n, mean = s[..., 0], s[..., 1 : 1 + d] / s[..., :1]
    outer = mean[..., :, None] * mean[..., None, :]
    return n, mean, square(s[..., 1 + d :], d) - n[..., None, None] * outer


def factored(core, s, prior, vector=None):
    k, d = len(s), plain.gaussian.columns(prior)
    out, log_det = np.empty((k, len(prior))), np.empty(k)
    vector = np.empty((0, d)) if vector is None else vector
    failed = core.factor(s, prior, vector, out, log_det)
    L = np.zeros((k, d, d))
    L[:, *np.tril_indices(d)] = out[:, 1 + d :]
    return out, L, log_det, failed


def drawn(d, k, seed=3):
    """Return Bartlett's factors as arrays and matrices, noise and log weights."""
    rng = np.random.default_rng(seed)
    chi, low = rng.uniform(1.0, 9.0, (k, d)), rng.normal(size=(k, d * (d - 1) // 2))
    B = np.zeros((k, d, d))
    B[:, *np.tril_indices(d, -1)] = low
    B[:, range(d), range(d)] = chi
    return (chi, low, rng.normal(size=(k, d)), rng.normal(size=k)), B


def test_logarithms_of_gammas_and_tails_are_exact_to_rounding():
    for x in (np.linspace(1e-3, 30.0, 2000), np.logspace(1, 9, 500)):
        assert_allclose(log_gamma(x), gammaln(x), rtol=2e-15, atol=1e-14)
    t = np.linspace(-6.0, 6.0, 500)
    assert_allclose(normal_below(t), stats.norm.cdf(t), rtol=1e-13)


def test_factors_are_those_of_scatters(functions):
    core, sizes = functions
    for d in sizes:
        prior, _, s = groups(d)
        n, mean, scatter = moments(prior + s, d)
        for together in (1, 2):
            some = np.ascontiguousarray(s[: len(s) // together * together])
            some = some.reshape(-1, together, s.shape[1])
            total = sum(scatter[g : len(some) * together : together] for g in range(together))
            vector = np.random.default_rng(1).normal(size=(len(some), d))
            for aim in (None, vector):
                out, L, log_det, failed = factored(core, some, prior, aim)
                aim = mean[: len(some) * together : together] if aim is None else aim
                assert failed == 0
                assert_allclose(out[:, 0], n[: len(some) * together : together])
                size = np.abs(total).max()
                assert_allclose(L @ L.swapaxes(1, 2), total, rtol=1e-9, atol=1e-13 * size)
                assert_allclose((L @ out[:, 1 : 1 + d, None])[..., 0], aim, rtol=1e-8, atol=1e-10)
                assert_allclose(log_det, np.linalg.slogdet(total)[1], rtol=1e-10, atol=1e-8)


def test_log_normalisers_are_those_of_the_books(functions):
    core, sizes = functions
    for d in sizes:
        prior, more, s = groups(d)
        kappa, _, scatter = moments(prior + s, d)
        nu = kappa + more
        expected = multigammaln(0.5 * nu, d) - 0.25 * d * (d - 1) * np.log(np.pi)
        expected -= 0.5 * d * np.log(kappa) + 0.5 * nu * np.linalg.slogdet(0.5 * scatter)[1]
        out = np.empty(len(s))
        assert core.log_normalisers(s, prior, more, out) == 0
        assert_allclose(out, expected, rtol=1e-11, atol=1e-8)


def test_draws_are_those_of_bartletts_factors(functions):
    core, sizes = functions
    for d in sizes:
        prior, _, s = groups(d)
        (chi, low, noise, log_weight), B = drawn(d, len(s))
        factors, L, _, _ = factored(core, s[:, None], prior)
        n, m, _ = moments(prior + s, d)
        root = B.swapaxes(1, 2) @ np.linalg.inv(L)
        mean = m + np.linalg.solve(root, noise[..., None])[..., 0] / np.sqrt(n)[:, None]
        out = np.empty_like(s)
        core.drawn_scores(factors, chi, low, noise, log_weight, out)
        precision = root.swapaxes(1, 2) @ root
        x = np.random.default_rng(4).normal(size=(len(s), d))
        far = ((root @ (x - mean)[..., None]) ** 2).sum(axis=(1, 2))
        expected = log_weight + 0.5 * np.linalg.slogdet(precision)[1] - 0.5 * far
        assert_allclose(scored(out, x), expected, rtol=1e-9, atol=1e-8)


def scored(functionals, x):
    """Return the values (k,) of functionals (k, p) of the statistics of points (k, d)."""
    i, j = np.triu_indices(x.shape[1])
    return (functionals * np.column_stack([np.ones(len(x)), x, x[:, i] * x[:, j]])).sum(axis=1)


def test_predictives_are_students(functions):
    core, sizes = functions
    for d in sizes:
        prior, more, s = groups(d)
        factors, eta, level, power = *np.empty((2, *s.shape)), *np.empty((2, len(s)))
        assert core.predictives(s, prior, more, np.zeros(len(s)), factors, level, power) == 0
        assert_array_equal(factors, factored(core, s[:, None], prior)[0])
        core.student_forms(factors, eta)
        x = np.random.default_rng(4).normal(size=(len(s), d))
        got = level - power * np.log(scored(eta, x)) - 0.5 * d * np.log(2.0 * np.pi)
        kappa, mean, scatter = moments(prior + s, d)
        df = kappa + more - d + 1.0
        shape = scatter * ((kappa + 1.0) / kappa / df)[:, None, None]
        for c in range(len(s)):
            law = stats.multivariate_t(mean[c], shape[c], df[c])
            assert_allclose(got[c], law.logpdf(x[c]), rtol=1e-9, atol=1e-8)


def test_directions_are_principal_axes_or_lead_to_members(functions):
    core, sizes = functions
    for d in sizes:
        prior, _, s = groups(d)
        s = s[s[:, 0] > d + 2]
        _, mean, scatter = moments(s, d)
        member = np.zeros_like(s)
        member[:, 1 : 1 + d] = mean + np.random.default_rng(2).normal(size=mean.shape)
        expected = moments(prior, d)[2]
        for attempt, metric in ((0, np.linalg.inv(expected)), (8, np.eye(d))):
            for odd in (False, True):
                out = np.empty_like(s)
                each = np.full(len(s), attempt + odd)
                core.directions(s, member, each, min(d, 4), prior, out)
                assert not out[:, 1 + d :].any()
                level = scored(out, mean)
                assert (np.abs(level + 5e-10) < 5e-10).all()
                normal = out[:, 1 : 1 + d]
                if odd:
                    aim = (member[:, 1 : 1 + d] - mean) @ metric
                    cosine = (normal * aim).sum(axis=1)
                    cosine /= np.linalg.norm(normal, axis=1) * np.linalg.norm(aim, axis=1)
                    assert_allclose(cosine, 1.0)
                    continue
                for c in range(len(s)):  # has nearly the largest variance of all directions
                    w = scatter[c] @ normal[c]
                    root = np.linalg.cholesky(metric)
                    most = np.linalg.eigvalsh(root.T @ scatter[c] @ root)[-1]
                    u = np.linalg.solve(metric, normal[c])
                    assert normal[c] @ w / (normal[c] @ u) > 0.98 * most


def test_boundaries_are_fishers(functions):
    core, sizes = functions
    for d in sizes:
        prior, more, s = groups(d)
        both = np.ascontiguousarray(np.stack([s[:-1], s[1:]], axis=1))
        kappa, mean, scatter = moments(prior + both, d)
        pooled = scatter.sum(axis=1) / (kappa.sum(axis=1) + 2.0 * more)[:, None, None]
        expected = np.linalg.solve(pooled, (mean[:, 1] - mean[:, 0])[..., None])[..., 0]
        odds = np.log((both[:, 0, 0] + 0.5) / (both[:, 1, 0] + 0.5))
        normal, offset = np.empty(expected.shape), np.empty(len(both))
        assert core.boundaries(both, prior, more, normal, offset) == 0
        assert_allclose(normal, expected, rtol=1e-7, atol=1e-9)
        middle = (expected * mean.mean(axis=1)).sum(axis=1) + odds
        assert_allclose(offset, middle, rtol=1e-8, atol=1e-8)


def test_truncated_moments_are_those_of_many_draws(functions):
    """The two parts of a past add up to it, and the first has the moments of what lies there."""
    core, sizes = functions
    rng = np.random.default_rng(5)
    for d in sizes:
        _, _, s = groups(d)
        s = s[s[:, 0] > d + 2]
        n, mean, scatter = moments(s, d)
        cov = scatter / n[:, None, None]
        normal = rng.normal(size=mean.shape)
        sd = np.sqrt(np.einsum("ki,kij,kj->k", normal, cov, normal))
        t = np.linspace(-4.0, 4.0, len(s))
        offset, out, rest = (normal * mean).sum(axis=1) + t * sd, np.empty_like(s), np.empty_like(s)
        core.truncate(s, normal, offset, 6.0, out)
        core.truncate(s, -normal, -offset, 6.0, rest)
        size = np.abs(s).max(axis=1, keepdims=True)
        assert_allclose((out + rest) / size, s / size, atol=1e-11)
        assert_allclose(out[:, 0] / n, stats.norm.cdf(t), rtol=1e-11)
        m, part, inside = moments(out, d)
        low = stats.truncnorm(-np.inf, t)
        along = (normal * (part - mean)).sum(axis=1) / sd
        assert_allclose(along, low.mean(), rtol=1e-9, atol=1e-9)
        var = np.einsum("ki,kij,kj->k", normal, inside / m[:, None, None], normal) / sd**2
        assert_allclose(var, low.var(), rtol=1e-4, atol=1e-5)
    far = np.empty_like(s)
    core.truncate(s, normal, offset - 1e6 * sd, 6.0, far)
    assert_allclose(far[:, 0] / n, stats.norm.cdf(-6.0), rtol=1e-9)
    s[:, 0] = 1e-9
    core.truncate(s, normal, offset, 6.0, out)
    assert_array_equal(out, 0.5 * s)


def test_a_matrix_that_is_not_positive_definite_spoils_no_other(functions):
    core, sizes = functions
    for d in sizes:
        prior, more, s = groups(d)
        bad = s.copy()
        bad[1, -1] = -1e6
        bad[3] = np.nan
        well = np.delete(np.arange(len(s)), [1, 3])
        _, _, log_det, failed = factored(core, bad[:, None], prior)
        assert failed == 2
        assert_array_equal(np.flatnonzero(np.isnan(log_det)), [1, 3])
        level, alone = np.empty(len(s)), np.empty(len(well))
        assert core.log_normalisers(bad, prior, more, level) == 2
        core.log_normalisers(s[well], prior, more, alone)
        assert_allclose(level[well], alone, rtol=1e-13)
        both = np.ascontiguousarray(np.stack([bad, s], axis=1))
        normal, offset = np.empty((len(s), d)), np.empty(len(s))
        assert core.boundaries(both, prior, more, normal, offset) == 2
        assert_array_equal(np.flatnonzero(np.isnan(offset)), [1, 3])


@pytest.mark.parametrize("d", [1, 5, 20])
def test_a_cluster_gives_the_same_bits_wherever_it_stands(d):
    core = pytest.importorskip(
        "scstream.core.native._compiled", reason="the native core was not built"
    )
    prior, more, s = groups(d, 21)
    rest, _ = drawn(d, len(s))

    def everything(start):
        some = np.ascontiguousarray(s[start:])
        factors, _, log_det, _ = factored(core, some[:, None], prior)
        level, eta, forms = np.empty(len(some)), np.empty_like(some), np.empty_like(some)
        core.log_normalisers(some, prior, more, level)
        core.drawn_scores(factors, *(each[start:] for each in rest), eta)
        core.student_forms(factors, forms)
        return [factors, log_det, level, eta, forms]

    for start in (1, 8, 20):
        for mine, its in zip(everything(start), everything(0), strict=True):
            assert_array_equal(mine, its[start:])


@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_determinants_beyond_the_range_of_numbers_have_a_logarithm(functions, size):
    core, sizes = functions
    d = sizes[-1]
    prior, _, s = groups(d)
    _, _, log_det, _ = factored(core, s[:, None], prior)
    scale = np.concatenate([[1.0], np.full(d, np.sqrt(size)), np.full(len(prior) - d - 1, size)])
    _, _, scaled, _ = factored(core, (s * scale)[:, None], prior * scale)
    assert_allclose(scaled, log_det + d * np.log(size), rtol=1e-12)


def test_arrays_that_do_not_belong_together_are_refused():
    core = pytest.importorskip(
        "scstream.core.native._compiled", reason="the native core was not built"
    )
    prior, more, s = groups(2)
    with pytest.raises(ValueError, match="belong together"):
        core.log_normalisers(s, prior, more, np.empty(len(s) + 1))
    with pytest.raises(ValueError, match="1 to 64 columns"):
        core.log_normalisers(s, prior[:-1], more, np.empty(len(s)))
    with pytest.raises(TypeError):
        core.log_normalisers(s.astype(np.float32), prior, more, np.empty(len(s)))
