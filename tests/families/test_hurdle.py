"""Amounts with a common value: densities, what clusters say of themselves, and what is saved."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal

from examples import changed, example_rows
from scstream.families import Bernoulli, Diagonal, Gaussian, Hurdle, Product, check_family
from scstream.families.gaps import filled_rows, gap_rows, observed_scores
from scstream.families.saved import restored, saved_of


def rows(n=300, seed=0):
    """Return amounts with many zeros, a capped column, and one without a common value."""
    rng = np.random.default_rng(seed)
    spent = np.where(rng.random(n) < 0.6, 0.0, np.exp(rng.normal(3.0, 1.0, n)))
    heat = np.minimum(rng.normal(90.0, 8.0, n), 100.0)
    X = np.column_stack([spent, heat, rng.normal(size=n)])
    X[rng.random(X.shape) < 0.05] = np.nan
    return X


def prepared(family, X):
    met = family.meet(X, None)
    points = met.check(X)
    return met.prepare(points), points


def of_parts(X):
    """Return the same as a product of its two parts, by which it can be computed, and its rows."""
    value, d = (0.0, 100.0, np.nan), X.shape[1]
    unit = Hurdle().meet(X, None).form.unit_
    flags = np.where(np.isnan(X) | np.isnan(value), np.nan, value != X)
    scaled = unit * np.arcsinh(np.where(value == X, np.nan, X) / unit)
    jacobian = -0.5 * np.log1p((np.where(value == X, np.nan, X) / unit) ** 2)
    made = Product([("bernoulli", [0, 1, 2]), ("gaussian", [3, 4, 5])])
    return (*prepared(made, np.column_stack([flags, scaled])), np.nansum(jacobian, axis=1), d)


@pytest.mark.parametrize("amount", [None, Gaussian()])
def test_densities_come_to_one_with_the_common_value_as_one_row(amount):
    rng = np.random.default_rng(0)
    places = np.sinh(np.linspace(-30.0, 30.0, 200_001))
    places = places[places != 0.0]
    for log_sd in (0.3, 1.5):
        X = np.where(rng.random(60) < 0.4, 0.0, np.exp(rng.normal(0.0, log_sd, 60)))[:, None]
        family, points = prepared(Hurdle(amount=amount), X)
        seen = family.statistics(points)[: len(X) // 2]
        s = np.nansum(seen, axis=0)[None]
        everything = family.check(np.append(0.0, places)[:, None])
        density = np.exp(family.log_predictive(everything, s)[:, 0])
        assert density[0] + np.trapezoid(density[1:], places) == pytest.approx(1.0, abs=1e-3)
        assert 0.2 < density[0] < 0.6
    assert len(check_family(Hurdle(), example_rows("hurdle"))) == 9


def test_it_is_the_product_of_its_parts() -> None:
    """Columns that have a covariance: where a value is the common one, it is not observed."""
    X = rows()
    family, points = prepared(Hurdle(amount=Gaussian()), X)
    product, same, jacobian, d = of_parts(X)
    assert_allclose(points, same, rtol=1e-12)
    assert family.columns_taken() == family.width(d) == points.shape[1]
    whole = ~np.isnan(points[:, d:]).any(axis=1)
    assert_array_equal(gap_rows(family, points), np.flatnonzero(~whole))
    s = np.stack([family.statistics(points[whole])[i::2].sum(axis=0) for i in (0, 1)])
    expected = product.log_predictive(same, s) + jacobian[:, None]
    assert_allclose(family.log_predictive(points, s), expected, rtol=1e-8)
    score = family.sampled_score(np.random.default_rng(1), s, np.zeros(2))
    other = product.sampled_score(np.random.default_rng(1), s, np.zeros(2))
    assert_allclose(
        observed_scores(family, score, points), observed_scores(product, other, same), rtol=1e-8
    )
    assert not np.isnan(family.statistics(filled_rows(family, points))[:, 1 + 2 * d :]).any()


def test_amounts_alone_leave_out_which_are_there_until_all_counts_again() -> None:
    X = rows()
    family, points = prepared(Hurdle(amount=Gaussian()), X)
    T = family.statistics(filled_rows(family, points))
    s = np.stack([T[points[:, 0] == has].sum(axis=0) for has in (0, 1)])
    family = family.adapt(s)
    alone = family.simplified(True)
    assert alone.simplified(True) is alone
    gap = [np.diff(f.log_marginal(np.stack([s.sum(axis=0), s[0]]))) for f in (family, alone)]
    assert gap[0] != pytest.approx(gap[1])
    scores = alone.adapt(s).parts(s)[0][0].predictive_score(s[:, :7], np.zeros(2)).eta
    assert_allclose(scores[0], scores[1], atol=1e-5)  # both expect the same of who has one
    again = alone.simplified(False)
    assert_array_equal(again.prior, family.prior)
    assert again.simplified(False) is again
    assert_array_equal(again.adapt(s).prior, family.adapt(s).prior)


def test_many_columns_are_described_by_a_few_directions() -> None:
    rng = np.random.default_rng(0)
    X = np.exp(rng.normal(size=(300, 3)) @ rng.normal(size=(3, 60)) + rng.normal(size=(300, 60)))
    family, points = prepared(Hurdle(amount=Gaussian()), X)
    assert family.parts(family.prior[None])[1][0].space is not None
    E = family.embed(points)
    assert len(E) == 300
    assert E.shape[1] < 120
    assert np.isfinite(E).all()
    assert_allclose(family.form.decode(points), X, rtol=1e-9)


def test_a_cluster_says_what_its_rows_are() -> None:
    X = rows(20_000)
    family, points = prepared(Hurdle(amount=Diagonal()), X)
    s = family.statistics(points).sum(axis=0)[None]
    (columns,) = family.describe_columns(family.prior + s, ["spent", "heat", "x"])
    for j, name in enumerate(("spent", "heat", "x")):
        x = X[~np.isnan(X[:, j]), j]
        about = columns[name]
        place = "median" if name == "spent" else "mean"
        assert about[place] == pytest.approx(getattr(np, place)(x), rel=0.15, abs=0.1)
        assert about.get("variance", x.var()) == pytest.approx(x.var(), rel=0.5)
        assert ("common_share" in about) == (name != "x")
        if "common_share" in about:
            assert about["common_share"] == pytest.approx(np.mean(x == about["common_value"]), 0.05)
            others = x[x != about["common_value"]]
            assert about[f"other_{place}"] == pytest.approx(getattr(np, place)(others), rel=0.15)
    assert columns["heat"]["common_value"] == 100.0


def test_coarse_amounts_are_moved_and_the_common_value_is_not() -> None:
    rng = np.random.default_rng(0)
    X = np.where(rng.random((400, 1)) < 0.5, 0.0, rng.integers(1, 15, (400, 1)))
    family, points = prepared(Hurdle(value=0.0), X)
    assert family.rounding is not None
    moved = family.rounding.spread(points, 3)
    zero = X[:, 0] == 0.0
    assert_array_equal(moved[:, 0], points[:, 0])
    assert np.isnan(moved[zero, 1]).all()
    assert len(np.unique(moved[~zero, 1])) > 0.9 * np.sum(~zero)
    back = family.form.decode(moved)
    assert np.abs(back - X).max() < 3.0
    assert np.abs((back - X)[~zero].mean()) < 0.2


@pytest.mark.parametrize("amount", [None, Gaussian()])
def test_what_is_saved_makes_the_same_family(amount):
    X = rows()
    family, points = prepared(Hurdle(amount=amount), X)
    saved = saved_of(family)
    again = restored(Hurdle(amount=amount), saved)
    assert_array_equal(again.prior, family.prior)
    assert_array_equal(again.check(X), points)
    assert_array_equal(again.log_base(points), family.log_base(points))
    completes = [f.imputation is not None for f in (again, family)]
    assert completes == [amount is not None] * 2
    for wrong in (
        {"_families": saved["_families"][:1]}, {"_families": saved["_families"][::-1]},
        {"_families": [saved["_families"][0], saved["_families"][0]]},
        {"unit_": -saved["encoder"]["unit_"]}, {"value_": saved["encoder"]["value_"][:2]},
        {"step_": "a"}, {"d": 2},
        {"_families": [Bernoulli().prepare(points[:, :2]), saved["_families"][1]]},
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"famil|shape|positive|type"):
            restored(Hurdle(amount=amount), changed(saved, wrong))


def test_an_amount_of_one_column_is_normal_on_its_scale() -> None:
    """By another way: the density of the logarithm of large amounts, moved back."""
    rng = np.random.default_rng(0)
    X = np.exp(rng.normal(8.0, 0.5, (4_000, 1)))
    X[rng.random(4_000) < 0.3] = 0.0
    family, points = prepared(Hurdle(value=0.0, unit=1.0), X)
    s = family.statistics(points).sum(axis=0)[None]
    x = np.array([[0.0], [1_000.0], [3_000.0], [9_000.0]])
    found = family.log_predictive(family.check(x), s)[:, 0]
    logs = np.log(X[X > 0])
    density = multivariate_normal(logs.mean(), logs.var()).logpdf(np.log(x[1:, 0]))
    assert_allclose(found[1:], np.log(0.7) + density - np.log(x[1:, 0]), atol=0.06)
    assert found[0] == pytest.approx(np.log(0.3), abs=0.05)
