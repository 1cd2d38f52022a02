"""Rows with missing entries, against densities of the library and each other."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from scstream.core import plain
from scstream.families.gaps import by_pattern


def case(d, seed):
    """Return rows with gaps, centres, matrices, and degrees of freedom of which one is none."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, d)) * 2.0
    X[rng.random(X.shape) < 0.4] = np.nan
    X[0], X[1] = np.nan, 1.0
    A = rng.normal(size=(3, d, d))
    C = A @ A.transpose(0, 2, 1) + 0.2 * np.eye(d)
    return rng, X, rng.normal(size=(3, d)), C, np.array([0.0, 3.5, 20.0])


def scored(core, X, centre, C, dof):
    d = X.shape[1]
    q = np.arange(d + 1.0)[:, None]
    power = np.where(dof > 0.0, 0.5 * (dof + q), 0.0)
    out = np.empty((len(X), 3))
    level = np.add.outer(np.arange(d + 1.0), [1.0, 2.0, 3.0])
    core.score_observed(X, by_pattern(np.isnan(X)), (centre, C), level, power, out)
    return out, level


@pytest.mark.parametrize("d", [1, 2, 6])
def test_scores_are_those_of_what_is_observed(core, d):
    _, X, centre, C, dof = case(d, d)
    out, level = scored(core, X, centre, C, dof)
    for x, found in zip(X, out, strict=True):
        at = np.flatnonzero(~np.isnan(x))
        for c in range(3):
            own = C[c][np.ix_(at, at)]
            expected = level[len(at), c]
            if len(at):
                gap = x[at] - centre[c, at]
                far = gap @ np.linalg.solve(own, gap)
                fall = 0.5 * far if c == 0 else 0.5 * (dof[c] + len(at)) * np.log1p(far)
                expected -= 0.5 * np.linalg.slogdet(own)[1] + fall
            assert_allclose(found[c], expected, rtol=1e-9)


@pytest.mark.parametrize("d", [1, 2, 6])
def test_expected_statistics_are_those_of_conditional_distributions(core, d):
    _, X, centre, C, dof = case(d, d)
    z, out = np.arange(60) % 3, np.empty((60, (d + 1) * (d + 2) // 2))
    core.complete_rows(X, z, (centre, C, dof), (np.empty((0, d)), np.empty(0)), out)
    up = np.triu_indices(d)
    for x, c, row in zip(X, z, out, strict=True):
        o, m = np.flatnonzero(~np.isnan(x)), np.flatnonzero(np.isnan(x))
        gap, own = x[o] - centre[c, o], C[c][np.ix_(o, o)]
        cross = C[c][np.ix_(m, o)]
        mean, cov = x.copy(), np.zeros((d, d))
        mean[m] = centre[c, m] + cross @ np.linalg.solve(own, gap)
        spread = 1.0
        if c:
            spread = (1.0 + gap @ np.linalg.solve(own, gap)) / max(dof[c] + len(o) - 2.0, 1.0)
        cov[np.ix_(m, m)] = C[c][np.ix_(m, m)] - cross @ np.linalg.solve(own, cross.T)
        expected = np.concatenate([[1.0], mean, (np.outer(mean, mean) + spread * cov)[up]])
        assert_allclose(row, expected, rtol=1e-8, atol=1e-10)


def test_draws_are_from_conditional_distributions(core):
    rng, _, centre, C, _ = case(3, 9)
    n, dof = 20_000, np.array([0.0, 5.0, 5.0])
    X = np.tile([np.nan, 0.7, np.nan], (n, 1))
    for c in (0, 1):
        draws = rng.standard_normal((n, 3)), rng.chisquare(dof[c] + 1.0, n)
        out = np.empty((n, 10))
        core.complete_rows(X, np.full(n, c), (centre, C, dof), draws, out)
        slope = C[c][[0, 2], 1] / C[c][1, 1]
        mean = centre[c, [0, 2]] + slope * (0.7 - centre[c, 1])
        left = C[c][np.ix_([0, 2], [0, 2])] - np.outer(slope, C[c][1, [0, 2]])
        far = (0.7 - centre[c, 1]) ** 2 / C[c][1, 1]
        shape = left if c == 0 else left * (1.0 + far) / 6.0
        for i, j in enumerate((1, 3)):
            law = stats.norm() if c == 0 else stats.t(6.0)
            unit = (out[:, j] - mean[i]) / np.sqrt(shape[i, i])
            assert stats.kstest(unit, law.cdf).pvalue > 1e-6
        found = np.corrcoef(out[:, 1], out[:, 3])[0, 1]
        assert abs(found - left[0, 1] / np.sqrt(left[0, 0] * left[1, 1])) < 0.05
        assert_allclose(out[:, 4], out[:, 1] ** 2)


def test_both_cores_draw_the_same(core):
    rng, X, centre, C, dof = case(5, 3)
    draws = rng.standard_normal((60, 5)), rng.chisquare(4.0, 60)
    out, other = np.empty((2, 60, 21))
    z = np.arange(60) % 3
    core.complete_rows(X, z, (centre, C, dof), draws, out)
    plain.complete_rows(X, z, (centre, C, dof), draws, other)
    assert_allclose(out, other, rtol=1e-10, atol=1e-12)


def test_a_flat_matrix_is_mended(core):
    centre, C = np.zeros((1, 3)), np.ones((1, 3, 3))
    out = np.empty((1, 1))
    patterns = np.array([0]), np.array([0, 1])
    level = np.zeros((4, 1))
    core.score_observed(np.ones((1, 3)), patterns, (centre, C), level, level, out)
    assert np.isfinite(out).all()


def test_arrays_that_do_not_fit_are_refused(core):
    if core is plain:
        pytest.skip("NumPy says what is wrong in its own words")
    _, X, centre, C, dof = case(2, 1)
    out, level = np.empty((60, 6)), np.zeros((3, 3))
    nothing = np.empty((0, 2)), np.empty(0)
    for z in (np.full(60, 3), np.full(60, -1), np.zeros(59, np.int64)):
        with pytest.raises(ValueError, match=r"label|numbers"):
            core.complete_rows(X, z, (centre, C, dof), nothing, out)
    order, starts = by_pattern(np.isnan(X))
    for patterns in ((order + 1, starts), (order, starts + 1), (order, starts[::-1].copy())):
        with pytest.raises(ValueError, match=r"row|pattern"):
            core.score_observed(X, patterns, (centre, C), level, level, np.empty((60, 3)))
