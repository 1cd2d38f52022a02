"""Families of independent columns: densities, missing entries, priors, and what they refuse."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

from examples import example
from scstream.families import (
    BY_NAME,
    Bernoulli,
    Categorical,
    Diagonal,
    Exponential,
    Gamma,
    Poisson,
    Spherical,
)
from scstream.families.factorised import Factorised

RNG = np.random.default_rng(0)
FACTORISED = [
    name
    for name, kind in BY_NAME.items()
    if issubclass(kind, Factorised | Categorical) and kind.missing
]


def sums(family, X):
    return np.asarray(family.statistics(family.check(X)).sum(axis=0))[None]


# -- predictives are those of the textbook ------------------------------------------------------


def test_poisson_predicts_negative_binomials():
    X = RNG.poisson([3.0, 20.0], (30, 2)).astype(float)
    family = Poisson(mean=[4.0, 10.0], strength=[2.0, 0.5]).prepare(X)
    shape = np.array([2.0, 0.5]) + X.sum(axis=0)
    rate = np.array([2.0 / 4.0, 0.5 / 10.0]) + 30
    expected = stats.nbinom.logpmf(X, shape, rate / (rate + 1.0)).sum(axis=1)
    assert_allclose(family.log_predictive(X, sums(family, X))[:, 0], expected, rtol=1e-10)


def test_bernoulli_predicts_by_laplaces_rule():
    X = (RNG.random((30, 3)) < [0.2, 0.5, 0.9]).astype(float)
    family = Bernoulli(mean=0.5, strength=2.0).prepare(X)
    p = (X.sum(axis=0) + 1.0) / 32.0
    expected = stats.bernoulli.logpmf(X, p).sum(axis=1)
    assert_allclose(family.log_predictive(X, sums(family, X))[:, 0], expected, rtol=1e-10)


def test_exponential_predicts_lomax_in_the_users_unit():
    X = RNG.exponential([500.0, 0.01], (30, 2))
    family = Exponential(mean=[300.0, 0.02], strength=[2.0, 1.5]).prepare(X)
    shape = np.array([2.0, 1.5]) + 30
    scale = np.array([600.0, 0.03]) + X.sum(axis=0)
    expected = stats.lomax.logpdf(X, shape, scale=scale).sum(axis=1)
    assert_allclose(family.log_predictive(X, sums(family, X))[:, 0], expected, rtol=1e-9)


def test_gamma_predictives_integrate_to_one():
    X = RNG.gamma(5.0, 7.0, (12, 1))
    family = Gamma(shape=5.0).prepare(X)
    s = sums(family, X)

    def density(log_x):
        x = np.array([[np.exp(log_x)]])
        return float(np.exp(family.log_predictive(x, s)[0, 0] + log_x))

    assert integrate.quad(density, -10, 20)[0] == pytest.approx(1.0, abs=1e-7)


def test_diagonal_predicts_student_ts_column_by_column():
    X = RNG.normal([3.0, -900.0], [0.02, 300.0], (25, 2))
    prior = {"mean": np.array([2.9, -700.0]), "variance": np.array([0.001, 4e4])}
    family = Diagonal(**prior, mean_strength=0.25, variance_strength=4.0).prepare(X)
    kappa, nu = 25.25, 29.0
    middle = X.mean(axis=0)
    mean = (0.25 * prior["mean"] + 25 * middle) / kappa
    scatter = 4.0 * prior["variance"] + ((X - middle) ** 2).sum(axis=0)
    scatter += 0.25 * 25 / kappa * (middle - prior["mean"]) ** 2
    scale = np.sqrt(scatter * (kappa + 1.0) / (kappa * nu))
    expected = stats.t.logpdf(X, nu, mean, scale).sum(axis=1)
    s = sums(family, X)
    assert_allclose(family.log_predictive(X, s)[:, 0], expected, rtol=1e-9)
    described = family.describe(family.prior + s)
    assert_allclose(described["mean"][0], mean, rtol=1e-12)
    assert_allclose(described["variance"][0], scatter / (nu - 2.0), rtol=1e-9)


def test_spherical_predicts_a_round_student_t():
    X = RNG.normal([3.0, -9.0, 0.0], 2.0, (25, 3))
    family = Spherical(mean=1.0, mean_strength=0.5, variance=3.0, variance_strength=5.0).prepare(X)
    kappa, nu, middle = 25.5, 5.0 + 75.0, X.mean(axis=0)
    mean = (0.5 + 25 * middle) / kappa
    scatter = 15.0 + ((X - middle) ** 2).sum() + 0.5 * 25 / kappa * ((middle - 1.0) ** 2).sum()
    shape = np.eye(3) * scatter * (kappa + 1.0) / (kappa * nu)
    expected = stats.multivariate_t.logpdf(X, mean, shape, nu)
    assert_allclose(family.log_predictive(X, sums(family, X))[:, 0], expected, rtol=1e-9)


def test_categories_are_predicted_by_their_shares():
    X = RNG.choice(3, (40, 2), p=[0.5, 0.3, 0.2]).astype(float)
    family = Categorical(concentration=0.5).prepare(X)
    count = np.stack([np.bincount(x.astype(int), minlength=3) for x in X.T])
    share = (count + 0.5) / (40 + 0.5 * 3 + 0.5)  # the free places have one more together
    expected = np.log(share[[0, 1], X.astype(int)]).sum(axis=1)
    assert_allclose(family.log_predictive(X, sums(family, X))[:, 0], expected, rtol=1e-10)


# -- missing entries ----------------------------------------------------------------------------


def pick(family, columns):
    """Return the same prior for some of the columns."""
    own = {}
    for key, value in family.hyperparameters().items():
        if isinstance(value, list):
            own[key] = [value[j] for j in columns]
        else:
            own[key] = value[list(columns)] if np.ndim(value) else value
    return type(family)(**own)


def checked_example(name):
    family, groups = BY_NAME[name](), example(name, 1)
    return family, [family.check(np.nan_to_num(group, nan=1.0)) for group in groups]


@pytest.mark.parametrize("name", FACTORISED)
def test_what_is_missing_is_as_if_its_column_were_not_there(name):
    """Of a cluster, and of a point; the spherical family's columns share a variance, though."""
    raw, (a, b) = checked_example(name)
    family = raw.prepare(np.concatenate([a, b]))
    kept = list(range(1, a.shape[1]))
    part = pick(family, kept).prepare(np.concatenate([a, b])[:, kept])
    gaps = a.copy()
    gaps[:, 0] = np.nan
    s, own = sums(family, gaps), sums(part, a[:, kept])
    point = b.copy()
    point[:, 0] = np.nan
    if name != "spherical":  # one variance: its prior is of all columns together
        assert_allclose(family.log_marginal(s), part.log_marginal(own), rtol=1e-9)
    whole = family.log_predictive(b, s)
    less = family.log_predictive(point, s)
    if name not in ("spherical",):
        assert_allclose(less, part.log_predictive(b[:, kept], own), rtol=1e-8)
    assert np.all(np.isfinite(whole))


def test_a_round_clusters_density_of_what_is_observed_is_the_marginal_of_the_whole():
    X = RNG.normal(size=(20, 2))
    family = Spherical().prepare(X)
    s = sums(family, X)
    x = 0.4
    gap = np.array([[x, np.nan]])

    def joint(y):
        return float(np.exp(family.log_predictive(np.array([[x, y]]), s)[0, 0]))

    whole = integrate.quad(joint, -np.inf, np.inf)[0]
    assert np.exp(family.log_predictive(gap, s)[0, 0]) == pytest.approx(whole, rel=1e-6)


# -- units and extremes -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["diagonal", "gamma", "exponential"])
def test_the_unit_of_a_column_does_not_matter(name):
    raw, (a, b) = checked_example(name)
    unit = np.geomspace(1e-6, 1e6, a.shape[1])
    one, other = (raw.prepare(u * np.concatenate([a, b])) for u in (1.0, unit))
    assert_allclose(sums(one, a), sums(other, unit * a), rtol=1e-9)
    assert_allclose(one.prior, other.prior, rtol=1e-9)
    shift = np.log(unit).sum()
    got = other.log_predictive(unit * b, sums(other, unit * a))
    assert_allclose(got + shift, one.log_predictive(b, sums(one, a)), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", FACTORISED)
def test_constant_columns_and_outliers_leave_all_finite(name):
    raw, (a, b) = checked_example(name)
    X = np.concatenate([a, b])
    X[:, 0] = 1.0
    if name in ("diagonal", "spherical", "gamma", "exponential", "poisson"):
        X[4, 1] = 1e9
    family = raw.prepare(X)
    T = np.asarray(family.statistics(X))
    s = np.stack([T[:12].sum(axis=0), T[12:].sum(axis=0)])
    family = family.adapt(s).settled(2)
    assert np.all(np.isfinite(family.log_marginal(s)))
    assert np.all(np.isfinite(family.log_predictive(X, s)))
    assert np.all(np.isfinite(family.draw(np.random.default_rng(0), family.prior + s)))
    part = family.division.divide(s, family.division.boundary(s, s[::-1]))
    assert np.all(np.isfinite(family.log_marginal(part)))
    assert np.all(np.isfinite(family.log_marginal(s - part)))


# -- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "value", "match"),
    [
        (Poisson(), -2.0, "Column 1 holds -2: counts cannot be negative.*'diagonal'"),
        (Poisson(), 1.5, "Column 1 holds 1.5: counts are whole numbers.*'gamma'"),
        (Bernoulli(), 2.0, "Column 1 holds 2: 'bernoulli' takes 0 and 1.*'poisson' for counts"),
        (Gamma(), 0.0, "Column 1 holds 0: 'gamma' takes positive numbers.*'diagonal'"),
        (Exponential(), -3.0, "Column 1 holds -3: 'exponential' takes positive numbers"),
        (Categorical(), 1.5, "Column 1 holds 1.5: categories are words.*'diagonal'"),
        (Diagonal(), np.inf, "Column 1 contains infinity"),
        (Spherical(), -np.inf, "Column 1 contains infinity"),
        (Diagonal(), -1e200, r"Column 1 contains -1e\+200: larger numbers than 1e\+154"),
        (Poisson(), np.inf, "Column 1 contains infinity"),
    ],
    ids=repr,
)
def test_entries_that_cannot_be_are_refused_by_column(family, value, match):
    X = np.ones((5, 2))
    X[3, 1] = value
    with pytest.raises(ValueError, match=match):
        family.check(X)


@pytest.mark.parametrize(
    ("family", "match"),
    [
        (Poisson(mean=0.0), "mean must be positive"),
        (Poisson(strength=[1.0, 2.0, 3.0]), r"strength must .*2 columns.*\(3,\)"),
        (Bernoulli(mean=1.0), "mean must be less than 1"),
        (Bernoulli(strength=-1.0), "strength must be positive"),
        (Gamma(shape="high"), "shape must be a number"),
        (Gamma(mean=np.inf), "mean must be positive and finite"),
        (Diagonal(variance=0.0), "variance must be positive"),
        (Diagonal(variance_strength=-1.0), "variance_strength must be positive"),
        (Diagonal(mean=[1.0, 2.0, 3.0]), r"mean must .*2 columns.*\(3,\)"),
        (Spherical(variance=[1.0, 2.0]), "variance must be a number"),
        (Categorical(concentration=0.0), "concentration must be positive"),
        (Categorical(concentration=[1.0]), "one entry for each of the 2 columns"),
        (Categorical(concentration=[1.0, [1.0, 2.0]]), "concentration of column 1 .*places"),
        (Categorical(max_categories=0), "max_categories must be a whole number"),
    ],
    ids=repr,
)
def test_an_impossible_prior_is_named(family, match):
    with pytest.raises(ValueError, match=match):
        family.prepare(np.ones((5, 2)))


# -- categories ---------------------------------------------------------------------------------


def test_later_categories_take_free_places_until_there_are_none():
    first = np.array([["a"], ["b"], ["a"]], dtype=object)
    family = Categorical().meet(first, None)
    family = family.prepare(family.check(first))
    assert len(family.prior) == 1 + 2 * 2 + 8 + 1
    before = family
    new = np.array([[f"new {i:02d}"] for i in range(20)], dtype=object)
    family = before.meet(new, before)
    codes = family.check(new)[:, 0]
    assert_allclose(codes[:10], np.arange(2, 12))
    places = family.statistics(family.check(new))[:, 1:].argmax(axis=1)
    assert_allclose(places, [*range(2, 12), *[12] * 10])  # the rest share the last place
    assert_allclose(family.check(first)[:, 0], [0, 1, 0])  # and the old ones stay where they were
    tau = family.prior + np.eye(len(family.prior))[[3]]
    shown = family.describe_columns(tau, ["tree"])[0]["tree"]["probabilities"]
    assert list(shown) == ["a", "b", *(f"new {i:02d}" for i in range(10)), "(other)"]
    assert sum(shown.values()) == pytest.approx(1.0)
    assert shown["new 00"] > shown["new 01"]


def test_numbers_words_and_truth_values_are_categories():
    for first, second in (([1, 2, 1], [2.0, 1.0]), (["x", "y"], ["y"]), ([True, False], [False])):
        column = np.array(first)[:, None]
        family = Categorical().meet(column, None)
        codes = family.check(column)[:, 0]
        again = family.check(np.array(second)[:, None])[:, 0]
        lookup = dict(zip(first, codes, strict=True))
        assert_allclose(again, [lookup[v] for v in second])


# -- logs of several columns are taken together ---------------------------------------------------
