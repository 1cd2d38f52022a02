"""Full-covariance clusters and missing entries: against one row at a time, and scipy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import gaps as reference

from scstream import Gaussian, Product, ScStream

WEIGHT = np.log([0.5, 0.3, 0.2])


def correlated(d, seed, n=90, missing=0.35):
    """Return rows of correlated columns with gaps, one of which holds nothing at all."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) * 3.0 + rng.normal(size=d) * 20.0
    gappy = X.copy()
    gappy[rng.random(X.shape) < missing] = np.nan
    gappy[0], gappy[1] = np.nan, X[1]
    return X, gappy


def prepared(d, seed):
    """Return a prepared family, rows with gaps, and the statistics of three groups."""
    X, gappy = correlated(d, seed)
    family = Gaussian().prepare(X)
    T = family.statistics(X)
    groups = np.stack([T[:40].sum(0), T[40:70].sum(0), T[70:].sum(0)])
    return family.adapt(groups), gappy, groups


def students(family, groups):
    """Return centres, scales and degrees of freedom of the groups' predictives."""
    post = family.posterior(family.prior + groups)
    d = post.mean.shape[1]
    dof = post.nu - d + 1.0
    factor = (post.kappa + 1.0) / (post.kappa * dof)
    return post.mean, post.scatter * factor[:, None, None], dof


@pytest.mark.parametrize("d", [1, 2, 5, 17])
def test_predictives_of_rows_with_gaps_are_the_marginals_of_student_densities(d):
    family, X, groups = prepared(d, d)
    found = family.log_predictive(X, groups)
    shift, scale = family.frame
    parts = list(zip(*students(family, groups), strict=True))
    for x, scores in zip(X, found, strict=True):
        z = (x - shift) / scale
        unit = np.log(scale[~np.isnan(x)]).sum()
        expected = [reference.log_marginal_density(z, *part) - unit for part in parts]
        assert_allclose(scores, expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("d", [1, 3, 17])
def test_drawn_parameters_score_rows_with_gaps_by_marginals_of_normal_densities(d):
    family, X, groups = prepared(d, 10 + d)
    score = family.sampled_score(np.random.default_rng(0), groups, WEIGHT)
    completion = family.imputation.completion(score)
    T, shift = family.statistics(X), 0.5 * d * np.log(2.0 * np.pi)
    found = completion.block(T)
    row, col = np.triu_indices(d)
    for c in range(3):
        precision = np.zeros((d, d))
        precision[row, col] = precision[col, row] = -score.eta[c, 1 + d :]
        precision[np.diag_indices(d)] *= 2.0
        cov = np.linalg.inv(precision)
        centre = cov @ score.eta[c, 1 : 1 + d]
        for z, scores in zip(T[:, 1 : 1 + d], found, strict=True):
            seen = (~np.isnan(z)).sum() / d
            level = reference.log_marginal_density(z, centre, cov, 0) + seen * shift
            assert_allclose(scores[c], level + WEIGHT[c], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("d", [1, 2, 5, 17])
def test_expected_statistics_are_those_of_conditional_distributions(d):
    family, X, groups = prepared(d, 20 + d)
    T = family.statistics(X)
    z = np.arange(len(X)) % 3
    completion = family.imputation.completion(family.predictive_score(groups, WEIGHT))
    found = completion.completed(T, z, None)
    parts = list(zip(*students(family, groups), strict=True))
    for t, c, got in zip(T, z, found, strict=True):
        assert_allclose(got, reference.expected_statistics(t[1 : 1 + d], *parts[c]), rtol=1e-6,
                        atol=1e-6)  # fmt: skip
    seen = ~np.isnan(T)
    assert_allclose(found[seen], T[seen], rtol=1e-12)


@pytest.mark.parametrize("drawn", [True, False])
def test_drawn_entries_have_the_conditional_moments(drawn):
    family, X, groups = prepared(4, 3)
    rng = np.random.default_rng(0)
    score = (
        family.sampled_score(rng, groups, WEIGHT)
        if drawn
        else family.predictive_score(groups, WEIGHT)
    )
    check_draws(family.imputation.completion(score), family.statistics(X), rng)


def test_entries_drawn_from_predictives_of_few_points_have_their_tails():
    # broken on purpose (what is observed adds no degrees of freedom): it fails
    X, gappy = correlated(4, 3)
    family = Gaussian(cov_strength=8.0).prepare(X)
    groups = 0.05 * np.stack([family.statistics(part).sum(axis=0) for part in np.split(X, 3)])
    score = family.predictive_score(groups, WEIGHT)
    check_draws(
        family.imputation.completion(score), family.statistics(gappy), np.random.default_rng(0)
    )


def check_draws(completion, T, rng, m=20_000):
    """Check that the mean of completed rows is what is expected of them."""
    for row in (0, 2, 5):
        some = np.repeat(T[row : row + 1], m, axis=0)
        z = np.full(m, row % 3)
        drawn_rows = completion.completed(some, z, rng.random((m, completion.uniforms)))
        expected = completion.completed(T[row : row + 1], z[:1], None)[0]
        error = drawn_rows.std(axis=0) / np.sqrt(m) + 1e-9
        assert np.all(np.abs(drawn_rows.mean(axis=0) - expected) < 6.0 * error)
        points = drawn_rows[:, 1:5]
        assert_allclose(drawn_rows[:, 5], points[:, 0] ** 2)  # a point, not moments


def test_scores_of_a_row_do_not_depend_on_the_rows_beside_it():
    family, X, groups = prepared(5, 8)
    completion = family.imputation.completion(family.predictive_score(groups, WEIGHT))
    T = family.statistics(X)
    whole = completion.block(T)
    for some in (slice(3, 4), slice(10, 60), slice(None, None, -1)):
        assert_array_equal(completion.block(T[some]), whole[some])


def test_repeated_completion_comes_to_what_the_observed_entries_say():
    # of one column, half missing: the posterior covariance is that of the observed half
    rng = np.random.default_rng(5)
    x = rng.normal(2.0, 3.0, (400, 1))
    x[::2] = np.nan
    family = Gaussian(mean=[0.0], mean_strength=0.01, cov=1.0, cov_strength=4.0).prepare(x)
    T = family.statistics(x)
    seen = T[1::2].sum(axis=0)
    s, z = 2.0 * seen, np.zeros(len(x), dtype=np.int64)
    for _ in range(60):
        completion = family.imputation.completion(family.predictive_score(s[None], np.zeros(1)))
        s = completion.completed(T, z, None).sum(axis=0)
    found = family.describe((family.prior + s)[None])
    alone = family.describe((family.prior + seen)[None])
    assert_allclose(found["mean"], alone["mean"], rtol=1e-3)
    assert_allclose(found["covariance"], alone["covariance"], rtol=0.02)


@pytest.mark.parametrize("columns", [[[0, 1], [2, 3]], [[2, 0, 3], [1]]])
def test_blocks_of_a_product_add_up(columns):
    X, gappy = correlated(4, 4)
    family = Product([("gaussian", columns[0]), ("gaussian", columns[1])])
    family = family.meet(X, None)
    points, whole = family.check(gappy), family.prepare(family.check(X))
    groups = np.stack([whole.statistics(family.check(X))[i::3].sum(0) for i in range(3)])
    blocks = whole.independent_blocks(4)
    found, expected = whole.log_predictive(points, groups), 0.0
    for block in blocks:
        own = block.statistics(groups)
        expected = expected + block.family.log_predictive(gappy[:, block.columns], own)
    assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    rng = np.random.default_rng(0)
    score = whole.sampled_score(rng, groups, WEIGHT)
    complete = whole.statistics(family.check(X))
    assert_allclose(
        whole.imputation.completion(score).block(complete), score.block(complete), rtol=1e-6
    )


def test_gaps_in_one_part_of_a_batch_alone():
    """The rest of 12,000 rows is labelled as if it were complete, which it is."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12_000, 2)) + 8.0 * rng.integers(3, size=(12_000, 1))
    X[7, 1] = np.nan
    model = ScStream(random_state=0, family="gaussian", n_jobs=1).partial_fit(X)
    model.partial_fit(X)
    assert model.n_clusters_ == 3
    assert len(np.unique(model.labels_[np.flatnonzero(X[:, 0] < 3.5)])) == 1
