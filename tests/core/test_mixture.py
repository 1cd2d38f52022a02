"""Weights drawn from Dirichlets, ratios of splits, and neighbours."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.special import gammaln


def test_log_gammas_are_scipys(core):
    x = np.concatenate([np.logspace(-300, 15, 2000), np.linspace(0.01, 60.0, 2000)])
    out = np.empty(len(x))
    core.log_gammas(x, out)
    assert_allclose(out, gammaln(x), rtol=3e-14, atol=1e-14)


def drawn(core, n, size, seed):
    """Return weights (size, 3 k) drawn."""
    rng, out = np.random.default_rng(seed), np.empty((size, len(n) - 1))
    for row in out:
        core.log_weights(n, rng.standard_gamma(n + 1.0), rng.random(len(n)), row)
    return np.exp(out)


def test_weights_are_drawn_from_dirichlets(core):
    """A weight is a beta: of the clusters and the one yet to be born, and of two sub-clusters."""
    n = np.array([3.0, 0.4, 1.0, 2.0, 0.7, 0.6, 5.0, 1.5, 0.8, 2.0])
    weights = drawn(core, n, 4000, 0)
    whole = n[[0, 1, 2, 9]].sum()
    for r in range(3):
        law = stats.beta(n[r], whole - n[r])
        assert stats.kstest(weights[:, r], law.cdf).pvalue > 1e-7
        a, b = n[3 + 2 * r : 5 + 2 * r]
        assert stats.kstest(weights[:, 3 + 2 * r], stats.beta(a, b).cdf).pvalue > 1e-7
    assert_allclose(weights[:, 3::2] + weights[:, 4::2], 1.0, rtol=1e-12)


def test_weights_of_tiny_counts_do_not_run_out_of_digits(core):
    out = np.empty(6)
    core.log_weights(np.full(7, 1e-3), np.full(7, 1.0), np.full(7, 0.999), out)
    assert np.isfinite(out).all()
    core.log_weights(
        np.array([1e-3, 1e6, 1.0, 1.0, 1.0, 1.0, 1.0]), np.full(7, 1.0), np.full(7, 0.999), out
    )
    assert out[0] == pytest.approx(np.log(0.001) / 1e-3 - out[1] * 0.0, rel=1e-3)


def test_ratios_of_splits_are_the_formula(core):
    rng = np.random.default_rng(0)
    n, each = rng.uniform(0.5, 40.0, (50, 2)), rng.normal(size=(50, 2))
    whole, entropy, out = rng.normal(size=50), rng.normal(size=50), np.empty(50)
    n[::7, 1] = 0.0
    core.split_ratios(n, each, whole, entropy, 1.7, 0.25, out)
    with np.errstate(divide="ignore"):
        expected = np.log(1.7) + gammaln(n).sum(axis=1) + each.sum(axis=1)
        expected += entropy - whole - gammaln(n.sum(axis=1))
    assert_allclose(out, np.where(n[:, 1] > 0.25, expected, -np.inf), rtol=1e-11, atol=1e-11)
    core.split_ratios(
        n[:, ::-1].copy(), each[:, ::-1].copy(), whole, entropy, 1.7, 0.25, other := np.empty(50)
    )
    assert_array_equal(other, out)  # to the last bit: a division found again is no better


@pytest.mark.parametrize("most", [1, 2, 5])
def test_neighbours_are_the_commonest_rivals(core, most):
    rng = np.random.default_rng(most)
    for k in (1, 2, 3, 9):
        rivals = rng.integers(0, 4, (k, k))
        top = np.empty((k, min(most, k - 1)), np.int64)
        pairs = np.empty((top.size, 2), np.int64)
        m = core.neighbours(rivals, top, pairs)
        common = rivals + rivals.T
        expected = set()
        for a in range(k):
            others = [b for b in range(k) if b != a and common[a, b] > 0]
            best = sorted(others, key=lambda b: -common[a, b])[: top.shape[1]]
            assert [b for b in top[a].tolist() if b >= 0] == best
            expected |= {(min(a, b), max(a, b)) for b in best}
        assert len(expected) == m
        assert {tuple(pair) for pair in pairs[:m].tolist()} == expected
