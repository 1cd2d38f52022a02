"""Rows with missing entries on the CPU."""

import numpy as np
import pytest
from reference import gaps as reference

from scstream import Gaussian
from scstream.engines import CpuEngine, Key
from scstream.families.gaps import filled_rows


@pytest.mark.slow
@pytest.mark.parametrize("best", [False, True])
def test_batches_whose_statistics_are_not_kept_are_as_their_parts(best):
    rng = np.random.default_rng(0)
    n, d, half = 80_000, 20, 40_960
    y = rng.integers(3, size=n)
    X = rng.normal(size=(n, d)) + 4.0 * y[:, None]
    X[rng.random(X.shape) < 0.002] = np.nan
    X[5] = np.nan
    family = Gaussian().prepare(X)
    T = family.statistics(filled_rows(family, X[:3000]))
    groups = np.stack([T[y[:3000] == c].sum(axis=0) for c in range(3)])
    score = family.predictive_score(groups, np.zeros(3))
    sub = family.predictive_score(0.5 * np.repeat(groups, 2, axis=0), np.zeros(6))
    key = None if best else Key(1, 2, 3)

    def swept(rows, first, threads):
        engine = CpuEngine(threads)
        engine.load(family, rows, np.ones(len(rows)), first)
        return engine.sweep(score, sub, 3, key).current, engine.labels

    whole, labels = swept(X, 0, 2)
    parts = [swept(X[:half], 0, 1), swept(X[half:], half, 1)]
    np.testing.assert_array_equal(labels, np.concatenate([z for _, z in parts]))
    np.testing.assert_allclose(whole, parts[0][0] + parts[1][0], rtol=1e-9, atol=1e-6)
    assert whole[..., 0].sum() == n - 1  # the row of which nothing is observed does not count
    assert (labels == y).mean() > 0.999


def test_sums_of_rows_with_gaps_are_those_expected_and_change_nothing():
    rng = np.random.default_rng(3)
    n, k = 9000, 3
    y = rng.integers(k, size=n)
    X = rng.normal(size=(n, 2)) @ [[1.0, 0.8], [0.0, 0.6]] + 8.0 * y[:, None]
    X[rng.random(X.shape) < 0.3] = np.nan
    X[7] = np.nan
    family, weight = Gaussian().prepare(X), rng.uniform(0.5, 2.0, n)
    T = family.statistics(filled_rows(family, X))
    groups = np.stack([T[y == c].sum(axis=0) for c in range(k)])
    score = family.predictive_score(groups, np.zeros(k))
    sub = family.predictive_score(0.5 * np.repeat(groups, 2, axis=0), np.zeros(2 * k))
    engine = CpuEngine(2)
    engine.load(family, X, weight)
    current = engine.sweep(score, sub, k, Key(1, 2, 3)).current.sum(axis=1)
    whole = ~np.isnan(X).any(axis=1)
    own = np.zeros_like(current)
    np.add.at(own, engine.labels[whole], weight[whole, None] * family.statistics(X[whole]))
    np.testing.assert_allclose(engine.gap_sums(k), current - own, rtol=1e-9, atol=1e-6)

    post = family.posterior(family.prior + groups)
    dof = post.nu - 1.0
    shape = post.scatter * ((post.kappa + 1.0) / (post.kappa * dof))[:, None, None]
    expected = np.zeros_like(current)
    open_rows = np.flatnonzero(~whole & ~np.isnan(X).all(axis=1))
    Z = (X - family.frame[0]) / family.frame[1]
    for i in open_rows:
        c = engine.labels[i]
        share = (~np.isnan(family.statistics(X[i : i + 1]))).mean()
        expected[c] += (
            share * weight[i] * reference.expected_statistics(Z[i], post.mean[c], shape[c], dof[c])
        )
    np.testing.assert_allclose(engine.gap_sums(k, score), expected, rtol=1e-7, atol=1e-5)
    np.testing.assert_allclose(engine.gap_sums(k), current - own, rtol=1e-9, atol=1e-6)


def test_any_group_completes_a_row_that_may_be_in_it_while_groups_are_merged():
    """Two groups differ in what rows lack: three in four may be in one, and all are called so."""
    rng = np.random.default_rng(0)
    n = 2000
    X = np.column_stack([rng.normal(size=n), np.repeat([0.0, 10.0], n // 2) + rng.normal(size=n)])
    family = Gaussian().prepare(X)
    T = family.statistics(X)
    groups = np.stack([T[: n // 2].sum(axis=0), T[n // 2 :].sum(axis=0)])
    score = family.predictive_score(groups, np.log([0.75, 0.25]))
    sub = family.predictive_score(0.5 * np.repeat(groups, 2, axis=0), np.zeros(4))
    lower = groups[0, 2] / groups[0, 0]  # places of groups in the column that rows lack
    upper = groups[1, 2] / groups[1, 0]
    X[:, 1] = np.nan

    def place(engine, key):
        s = engine.sweep(score, sub, 2, key).current.sum(axis=1)[0]
        return (s[2] / s[0] - lower) / (upper - lower)

    engine = CpuEngine()
    engine.load(family, X, np.ones(n))
    alone = place(engine, None)
    assert abs(alone) < 0.05
    engine.by_groups(True)
    any_of_them = place(engine, None)
    assert abs(any_of_them - 0.25) < 0.1
    assert (engine.labels == 0).mean() > 0.95
    assert place(engine, None) == any_of_them
    assert abs(place(engine, Key(1, 2, 3))) < 0.05  # drawn labels complete their rows
    engine.by_groups(False)
    assert place(engine, None) == alone
    engine.load(family, X, np.ones(n), 4096)
    engine.by_groups(True)
    assert place(engine, None) != any_of_them  # other rows, other draws


def test_rows_with_gaps_are_left_to_the_sweeps_that_complete_them():
    X = np.random.default_rng(0).normal(size=(300, 2))
    family, engine = Gaussian().prepare(X), CpuEngine()
    for gaps in (0, 1, 0):
        X[:gaps, 0] = np.nan
        engine.load(family, np.nan_to_num(X) if gaps == 0 else X, np.ones(300))
        assert (engine.few_rows() is None) == (gaps > 0)
