"""Student-t clusters: densities, weights of rows and tails, against SciPy and closed forms."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

from scstream import Product, ScStream
from scstream.families import DiagonalStudent, Gaussian, Student
from scstream.families.heavy_tails import NORMAL, USUAL, learned_df

KINDS = [Student, DiagonalStudent]


def heavy_rows(rng, n, d, df):
    return rng.normal(size=(n, d)) / np.sqrt(rng.chisquare(df, size=(n, 1)) / df)


def prepared(kind, d=2, df=3.0, seed=0, n=200):
    X = heavy_rows(np.random.default_rng(seed), n, d, df) * np.linspace(1.0, 3.0, d) + 5.0
    family = kind(df=df)
    X = family.check(X)
    family = family.prepare(X)
    return family, X, family.statistics(X)


def scale_matrix(family, s):
    """Return centres (k, d) and scale matrices (k, d, d), in the user's units."""
    about = family.describe(family.prior + s)
    cov = about.get("covariance")
    return about["mean"], np.stack([np.diag(v) for v in about["variance"]]) if cov is None else cov


# -- densities -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("df", [1.0, 3.0, 30.0])
def test_a_predictive_density_of_one_column_integrates_to_one(kind, df):
    family, _, T = prepared(kind, d=1, df=df, n=40)
    s = np.stack([T.sum(axis=0), T[:3].sum(axis=0), 0.0 * T[0]])
    for i in range(3):

        def density(u, i=i):  # over the line, by the tangent
            x = np.array([[5.0 + 10.0 * np.tan(u)]])
            return np.exp(family.log_predictive(x, s[[i]])[0, 0]) * 10.0 / np.cos(u) ** 2

        total, _ = integrate.quad(density, -np.pi / 2, np.pi / 2, limit=400)
        assert_allclose(total, 1.0, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_predictive_density_of_two_columns_integrates_to_one(kind):
    family, _, T = prepared(kind, d=2, df=3.0)
    s = T.sum(axis=0)[None]
    grid = np.linspace(-np.pi / 2, np.pi / 2, 402)[1:-1]
    u, v = np.meshgrid(grid, grid)
    points = np.column_stack([5.0 + 4.0 * np.tan(u.ravel()), 5.0 + 8.0 * np.tan(v.ravel())])
    area = 32.0 / np.cos(u.ravel()) ** 2 / np.cos(v.ravel()) ** 2
    density = np.exp(family.log_predictive(points, s)[:, 0]) * area
    assert_allclose(density.sum() * (grid[1] - grid[0]) ** 2, 1.0, atol=2e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_the_predictive_of_many_rows_is_the_student_density(kind):
    family, X, T = prepared(kind, d=3, df=4.0)
    s = 1e7 / len(T) * T.sum(axis=0)[None]
    mean, scale = scale_matrix(family, s)
    expected = stats.multivariate_t(mean[0], scale[0], df=4.0).logpdf(X)
    assert_allclose(family.log_predictive(X, s)[:, 0], expected, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_drawn_parameters_score_rows_by_student_densities(kind):
    family, X, T = prepared(kind, d=2, df=3.0)
    s = np.stack([T[:80].sum(axis=0), T[80:].sum(axis=0)])
    log_weight = np.log([0.3, 0.7])
    drawn = family.sampled_score(np.random.default_rng(1), s, log_weight)
    got = family.tails.drawn_score(drawn, s).block(T) + family.log_base(X)[:, None]
    plain = drawn.block(T) + family.log_base(X)[:, None] - log_weight
    for i in range(2):  # a Gaussian's density at d + 1 points tells its centre and its matrix
        at = np.linalg.lstsq(quadratic(X), plain[:, i], rcond=None)[0]
        precision = -np.array([[2.0 * at[3], at[4]], [at[4], 2.0 * at[5]]])
        cov = np.linalg.inv(precision)
        expected = stats.multivariate_t(cov @ at[1:3], cov, df=3.0).logpdf(X) + log_weight[i]
        assert_allclose(got[:, i], expected, atol=1e-5)


def quadratic(X):
    x, y = X.T
    return np.column_stack([np.ones(len(X)), x, y, x * x, x * y, y * y])


def test_with_hardly_any_tails_the_predictive_is_the_gaussians():
    _, X, T = prepared(Student, d=3)
    light = Student(df=1e12).prepare(X)
    s = np.stack([T[:5].sum(axis=0), T.sum(axis=0), 0.0 * T[0]])
    expected = Gaussian().prepare(X).log_predictive(X, s)
    assert_allclose(light.log_predictive(X, s), expected, rtol=1e-6, atol=1e-6)


# -- weights of rows -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_centre_and_scale_of_weighted_rows_are_those_of_the_student_distribution(kind):
    rng = np.random.default_rng(3)
    spread, centre = np.array([0.5, 2.0]), np.array([10.0, -3.0])
    X = heavy_rows(rng, 20_000, 2, 2.5) * spread + centre
    family = kind(df=2.5).prepare(X)
    T, z = family.statistics(X), np.zeros(len(X), dtype=np.int64)
    s = T.sum(axis=0)[None]
    for _ in range(12):  # from the rows' own moments, the second of which hardly exist
        s = family.tails.location_scale(s).weighted(T, z).sum(axis=0)[None]
    mean, scale = scale_matrix(family, s)
    assert_allclose(mean[0], centre, atol=6 * 1.5 * spread.max() / np.sqrt(20_000))
    assert_allclose(np.sqrt(np.diag(scale[0])), spread, rtol=0.06)


# -- tails ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 3, 10])
@pytest.mark.parametrize("df", [1.5, 4.0])
def test_degrees_of_freedom_are_learned_whatever_the_scale(df, d):
    rng = np.random.default_rng(5)
    far = (heavy_rows(rng, 8000, d, df) ** 2).sum(axis=1)
    for scale in (0.2, 1.0, 30.0):
        assert_allclose(learned_df(scale * far, d, USUAL, 0.0), df, rtol=0.25)


def test_normal_rows_have_no_tails_and_what_was_known_counts():
    far = (np.random.default_rng(6).normal(size=(5000, 3)) ** 2).sum(axis=1)
    assert learned_df(far, 3, USUAL, 100.0) == NORMAL
    assert_allclose(learned_df(far, 3, 4.0, 1e9), 4.0, rtol=0.02)


# -- streams -------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["student", "diagonal-student"])
@pytest.mark.parametrize("d", [2, 3])
def test_eight_clusters_with_three_degrees_of_freedom_are_found(family, d):
    rng = np.random.default_rng(7)
    centres = 25.0 * np.array([[i % 3, i // 3, i % 2][:d] for i in range(8)])
    model = ScStream(family, random_state=0)
    for b in range(4):
        y = rng.integers(8, size=1000)
        X = heavy_rows(rng, 1000, d, 3.0) + centres[y] + 0.2 * b
        model.partial_fit(X)
    assert model.n_clusters_ == 8
    assert 2.0 < model.prior_["df"] < 5.0
    assert np.mean([len(set(y[model.labels_ == c.id])) <= 3 for c in model.clusters_]) == 1.0


@pytest.mark.parametrize("family", ["student", "diagonal-student"])
def test_a_drawn_sample_has_the_tails(family):
    X = heavy_rows(np.random.default_rng(9), 3000, 2, 2.0)
    model = ScStream(family, random_state=0).fit(X)
    rows, _ = model.sample(20_000, random_state=1)
    inside = np.abs(rows - np.median(rows, axis=0)) < 3.0 * np.median(np.abs(rows), axis=0)
    expected = 1.0 - 2.0 * stats.t.sf(3.0 * stats.t.isf(0.25, 2.0), 2.0)  # .88, normal: .96
    assert_allclose(inside.mean(), expected, atol=0.03)


def test_densities_of_a_model_are_the_mixtures():
    rng = np.random.default_rng(9)
    X = heavy_rows(rng, 600, 1, 3.0) + 20.0 * rng.integers(2, size=(600, 1))
    model = ScStream("student", random_state=0).fit(X)
    u = np.linspace(-np.pi / 2, np.pi / 2, 20_002)[1:-1]
    density = np.exp(model.score_samples(10.0 + 10.0 * np.tan(u)[:, None])) * 10.0 / np.cos(u) ** 2
    assert_allclose(density.sum() * (u[1] - u[0]), 1.0, atol=1e-4)


@pytest.mark.parametrize("family", ["student", "diagonal-student"])
def test_missing_entries_and_products_are_refused_in_words(family):
    X = heavy_rows(np.random.default_rng(10), 100, 2, 3.0)
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"NaN|missing entries"):
        ScStream(family).partial_fit(X)
    with pytest.raises(ValueError, match=f"A Product cannot hold the family '{family}'"):
        ScStream(Product({family: [0, 1]})).partial_fit(X[:3])
