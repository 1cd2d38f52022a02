"""The multinomial family: Dirichlet-multinomial predictives, Dirichlet draws, sparse counts."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from problems import dense, problem
from scipy import sparse, special, stats

from scstream.families import Multinomial

RARE = 1e-9  # the chance that one statistical comparison refuses a right program
MULTINOMIALS = ["multinomial-4", "multinomial-8-default", "multinomial-2-deep"]


def counts_of(trials, d):
    """Return all count vectors of d categories with the given total."""
    return np.array([c for c in product(range(trials + 1), repeat=d) if sum(c) == trials], float)


# -- densities -----------------------------------------------------------------------------------


@pytest.mark.parametrize("trials", [0, 1, 2, 12])
def test_predictive_sums_to_one_over_all_counts(trials):
    case = problem("multinomial-4")
    X = case.family.check(counts_of(trials, 4))
    s = np.stack([0.0 * case.T[0], case.T[:5].sum(axis=0), 0.3 * case.T[20]])
    assert_allclose(np.exp(case.family.log_predictive(X, s)).sum(axis=0), 1.0, rtol=1e-11)


def test_predictive_is_scipys_dirichlet_multinomial():
    case = problem("multinomial-4")
    conc = np.array([0.5, 1.0, 2.0, 0.1]) + case.groups[0].sum(axis=0)
    X = case.X.astype(int)
    expected = stats.dirichlet_multinomial(conc, X.sum(axis=1)).logpmf(X)
    got = case.family.log_predictive(case.points, case.sums()[:1])[:, 0]
    assert_allclose(got, expected, rtol=1e-10)


def test_predictive_is_exact_for_counts_of_any_size():
    X = np.array([[0, 0, 0], [1, 0, 3], [7, 8, 9], [15, 16, 17], [40, 0, 3000]], float)
    family = Multinomial([0.02, 1.0, 30.0]).prepare(X)
    s = np.array([[0.0, 0, 0, 0], [3.5, 1e-3, 2.0, 1e6], [9, 1e5, 1e4, 3e5], [1, 0, 5, 0]])
    conc, log_weight = family.prior[1:] + s[:, 1:], np.arange(4.0)

    def rising(a, count):
        return np.log(a + np.arange(count)).sum()

    expected = np.empty((5, 4))
    for (i, x), (c, a) in product(enumerate(X), enumerate(conc)):
        cells = sum(rising(*pair) for pair in zip(a, x, strict=True))
        expected[i, c] = log_weight[c] + cells - rising(a.sum(), x.sum())
    T, z = family.statistics(family.check(X)), np.array([0, 1, 0, 1, 0])
    score = family.predictive_score(s, log_weight)
    assert_allclose(score.block(T), expected, rtol=1e-10, atol=2e-8)  # lgamma(1e6) is 1e7
    own = expected[np.arange(5)[:, None], 2 * z[:, None] + [0, 1]]
    assert_allclose(score.pairs(T, z), own, rtol=1e-10, atol=2e-8)


def marginals(prior, clusters):
    """Return the log marginals of clusters (k, 1 + d) from the library's log gammas."""
    conc = prior + clusters[:, 1:]
    cells = (special.gammaln(conc) - special.gammaln(prior)).sum(axis=1)
    return cells - special.gammaln(conc.sum(axis=1)) + special.gammaln(prior.sum())


@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0, 1e4])
def test_log_marginals_are_those_of_the_librarys_log_gammas(scale):
    rng = np.random.default_rng(7)
    prior = rng.gamma(1.0, 1.0, 400) + 0.01
    s = np.column_stack([np.full(60, 9.0), rng.gamma(0.5, scale, (60, 400))])
    s[:, 1:] *= rng.random((60, 400)) < 0.5
    s[:20] = np.round(s[:20])
    family = Multinomial(prior).prepare(s[:, 1:])
    assert_allclose(family.log_marginal(s), marginals(prior, s), rtol=1e-12, atol=1e-10)
    shaped = family.log_marginal(s.reshape(20, 3, -1))
    assert_array_equal(shaped, family.log_marginal(s).reshape(20, 3))
    turned = np.asfortranarray(s)  # whatever lies in memory how
    assert_array_equal(family.log_marginal(turned), family.log_marginal(s))


def test_a_cluster_without_counts_has_a_log_marginal_of_zero():
    family = Multinomial([0.1, 2.0, 70.0]).prepare(np.ones((1, 3)))
    assert_allclose(family.log_marginal(np.array([[3.0, 0.0, 0.0, 0.0]])), 0.0, atol=1e-12)


def test_scores_of_a_row_do_not_depend_on_the_rows_beside_it():
    case = problem("multinomial-8-default")
    score = case.family.predictive_score(case.sums(), np.zeros(2))
    T = case.family.statistics(case.points)
    each = np.concatenate([score.block(T[[i]]) for i in range(T.shape[0])])
    assert_array_equal(score.block(T), each)


def test_weaker_priors_are_for_rows_that_say_little_and_repeat_nothing():
    X = sparse.csr_array(np.eye(60, 300))
    family = Multinomial().prepare(X)
    weaker = family.prior_trials.weaker(X)
    assert [round(each.prior.sum() / 300, 6) for each in weaker] == [0.25, 0.0625]
    for each in weaker:
        assert_allclose(each.prior / each.prior.sum(), family.prior / family.prior.sum())
        assert each.is_faint()
        assert each.adapt(np.ones((2, 301))) is each
    repeated = sparse.csr_array(9.0 * np.eye(60, 300))
    assert Multinomial().prepare(repeated).prior_trials.weaker(repeated) == []
    many = np.full((60, 300), 6.0)
    assert Multinomial().prepare(many).prior_trials.weaker(many) == []  # they decide


def test_rows_without_the_words_that_none_has_are_as_probable():
    rng = np.random.default_rng(8)
    X = sparse.csr_array(rng.poisson(0.02, (40, 500)).astype(float))
    family = Multinomial().prepare(X)
    own, rows = family.prior_trials.of_columns_in(family, X)
    assert rows.shape == (40, len(np.unique(X.indices)) + 1)
    assert_allclose(own.prior.sum(), family.prior.sum())
    sums, few = (f.statistics(x)[:20].sum(axis=0) for f, x in ((family, X), (own, rows)))
    assert_allclose(own.log_marginal(few[None]), family.log_marginal(sums[None]), rtol=1e-12)
    score, other = (
        f.predictive_score(s[None], np.zeros(1)).block(f.statistics(x))
        for f, s, x in ((family, sums, X), (own, few, rows))
    )
    assert_allclose(other, score, rtol=1e-12)


# -- draws ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MULTINOMIALS)
def test_draws_are_dirichlet_and_their_scores_log_probabilities(name):
    case = problem(name)
    family = case.family
    # broken on purpose (no step down from a shape one larger; all shapes a tenth larger): it fails
    tau = family.prior + 0.1 * case.T[:2].sum(axis=0)
    eta = family.draw(np.random.default_rng(1), np.tile(tau, (100_000, 1)))
    p = np.exp(eta[:, 1:])
    assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    conc = tau[1:]
    for j in range(len(conc)):
        beta = stats.beta(conc[j], conc.sum() - conc[j])
        assert stats.kstest(p[:, j], beta.cdf).pvalue > RARE
    # neighbours are drawn independently of one another, but for the sum
    share = p[:, 0] / (p[:, 0] + p[:, 1])
    assert stats.kstest(share, stats.beta(conc[0], conc[1]).cdf).pvalue > RARE
    X = case.X.astype(int)
    got = case.T @ eta[0] + family.log_base(case.points)
    assert_allclose(got, stats.multinomial(X.sum(axis=1), p[0]).logpmf(X), rtol=1e-9)


def test_draws_from_tiny_concentrations_are_finite():
    family = Multinomial(1e-3).prepare(np.ones((1, 50)))
    eta = family.draw(np.random.default_rng(2), np.tile(family.prior, (2000, 1)))
    assert np.all(np.isfinite(eta))
    assert_allclose(np.exp(eta[:, 1:]).sum(axis=1), 1.0, rtol=1e-10)
    # each category is the one that takes nearly all equally often
    top = np.bincount(np.argmax(eta[:, 1:], axis=1), minlength=50)
    assert stats.chisquare(top).pvalue > RARE


# -- cutting the past ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", MULTINOMIALS)
def test_both_parts_of_a_divided_past_are_counts(name):
    case = problem(name)
    rng = np.random.default_rng(3)
    past = rng.random((6, 30)) @ case.T
    groups = (rng.random((2, 6, 30)) < 0.3) @ case.T
    part = case.family.division.divide(past, case.family.division.boundary(*groups))
    assert np.all(part >= 0.0)
    assert np.all(part <= past)


# -- counts in and out ---------------------------------------------------------------------------


def test_dense_and_sparse_counts_are_the_same():
    case = problem("multinomial-4")
    for X in (case.X.astype(int), sparse.csr_matrix(case.X), sparse.coo_array(case.X), case.X):
        got = case.family.check(X)
        assert got.dtype == np.float64
        assert_array_equal(got.toarray(), case.X)
        assert_array_equal(dense(case.family.statistics(got)), case.T)
        assert_array_equal(case.family.log_base(X), case.family.log_base(case.points))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_entries_given_twice_are_added_and_the_users_matrix_is_left_alone(kind, dtype):
    parts = np.array([1, 2, 3], dtype=dtype), np.array([0, 0, 1]), np.array([0, 2, 3])
    X = kind(tuple(a.copy() for a in parts), shape=(2, 2))
    assert_array_equal(Multinomial().check(X).toarray(), [[3.0, 0.0], [0.0, 3.0]])
    for now, before in zip((X.data, X.indices, X.indptr), parts, strict=True):
        assert_array_equal(now, before)


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
@pytest.mark.parametrize(
    ("cell", "message"), [(-1.0, "negative.*-1"), (0.5, r"whole numbers.*0\.5")]
)
def test_what_is_no_count_is_refused(form, cell, message):
    with pytest.raises(ValueError, match=message):
        Multinomial().check(form([[1.0, 2.0], [3.0, cell]]))


# -- priors --------------------------------------------------------------------------------------


def test_the_default_prior_follows_the_categories_frequencies():
    X = np.array([[10.0, 0.0, 1.0], [30.0, 0.0, 3.0]])
    conc = Multinomial().prepare(X).hyperparameters()["concentration"]
    assert np.all(conc > 0)
    assert conc[0] > 5 * conc[2] > 5 * conc[1]
    adapted = Multinomial().prepare(X).adapt(np.column_stack([[1.0, 1.0], X]))
    assert_allclose(adapted.prior[1:] / adapted.prior.sum(), conc / conc.sum(), rtol=1e-12)


def test_adapting_makes_the_clusters_more_probable():
    rng = np.random.default_rng(4)
    masses = []
    for true_mass in (2.0, 2000.0):  # clusters that differ much, and little
        p = rng.dirichlet(np.full(10, true_mass / 10), size=40)
        sums = np.column_stack([np.full(40, 20.0), rng.multinomial(2000, p)])
        family = Multinomial().prepare(sums[:, 1:])
        adapted = family.adapt(sums)
        assert adapted.log_marginal(sums).sum() >= family.log_marginal(sums).sum()
        masses.append(adapted.prior[1:].sum())
    assert masses[0] < 20.0
    assert masses[1] > 200.0


@pytest.mark.parametrize(
    "concentration", [0.0, -1.0, np.nan, np.inf, [1.0, 0.0], [1.0, 1.0, 1.0], [[1.0, 1.0]]]
)
def test_an_impossible_prior_is_refused_by_name(concentration):
    with pytest.raises(ValueError, match="concentration must"):
        Multinomial(concentration).prepare(np.ones((3, 2)))
