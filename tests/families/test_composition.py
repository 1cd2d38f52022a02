"""Shares of a whole: their roots, densities, what clusters say of themselves, and what is saved."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from examples import changed, example_rows
from scstream.families import Composition, Gaussian, check_family
from scstream.families.saved import restored, saved_of

RNG = np.random.default_rng(0)
SHARES = RNG.dirichlet([9.0, 4.0, 2.0], 300)


def prepared(family, X):
    met = family.meet(X, None)
    points = met.check(X)
    return met.prepare(points), points


def test_it_is_a_gaussian_of_roots_across_the_sum() -> None:
    family, points = prepared(Composition(), SHARES)
    root = np.sqrt(np.sqrt(SHARES + 0.005 * SHARES.mean(axis=0)))
    assert points.shape == (300, 2)
    assert_allclose(points[:, 0], (root[:, 0] - root[:, 1]) / np.sqrt(2.0))
    centred = root - root.mean(axis=1, keepdims=True)  # lengths stay what they are
    assert_allclose((points**2).sum(axis=1), (centred**2).sum(axis=1))
    other, _ = prepared(Gaussian(), points)
    s = family.statistics(points).sum(axis=0)[None]
    assert_allclose(
        family.log_marginal(s), other.log_marginal(other.statistics(points).sum(axis=0)[None])
    )
    assert_allclose(family.form.decode(points), SHARES, atol=1e-12)
    assert len(check_family(Composition(), example_rows("composition"))) == 9


@pytest.mark.parametrize("total", [1.0, 100.0])
def test_densities_of_all_shares_but_one_come_to_one(total):
    family, points = prepared(Composition(), total * SHARES)
    s = family.statistics(points).sum(axis=0)[None]
    a, b = np.meshgrid((np.arange(300) + 0.5) / 300, (np.arange(300) + 0.5) / 300)
    rows = np.column_stack([a[a + b < 1.0], b[a + b < 1.0]])
    rows = total * np.column_stack([rows, 1.0 - rows.sum(axis=1)])
    density = np.exp(family.log_predictive(family.check(rows), s))
    assert density.sum() * (total / 300) ** 2 == pytest.approx(1.0, abs=0.02)
    about = family.describe(family.prior + s)
    assert_allclose(about["mean"][0], total * SHARES.mean(axis=0), rtol=0.02)
    assert_allclose(about["variance"][0], total**2 * SHARES.var(axis=0), rtol=0.25)
    assert about["mean"].sum() == pytest.approx(total)


def test_rows_that_are_no_shares_are_taken_for_what_they_say() -> None:
    family, points = prepared(Composition(), 100.0 * SHARES)
    odd = 100.0 * SHARES[:6]
    odd[0, 1] = np.nan  # is what the others leave
    odd[1] *= 3.0
    odd[2, :2] = np.nan
    odd[3] = 0.0
    odd[4] = [100.0, 0.0, 0.0]
    odd[5] = [100.0, 0.0, -5.0]
    got = family.check(odd)
    assert_allclose(got[:2], points[:2])
    assert np.isnan(got[2:4]).all()
    assert_array_equal(got[4], got[5])
    assert np.isfinite(family.log_base(got)).all()
    trace = SHARES * [1.0, 1.0, 1e-6]  # of which all is seen that there is
    seen = prepared(Composition(), trace)[1][:, 1]
    assert abs(np.corrcoef(seen, np.sqrt(np.sqrt(trace[:, 2])))[0, 1]) > 0.2


def test_shares_of_0_are_somewhere_below_the_others() -> None:
    X = np.where(SHARES < 0.08, 0.0, SHARES)
    X /= X.sum(axis=1, keepdims=True)
    family, points = prepared(Composition(), X)
    assert family.rounding is not None
    assert prepared(Composition(), SHARES)[0].rounding is None
    least = np.quantile(X[:, 2][X[:, 2] > 0.0], 0.01)
    zero = np.column_stack([x < np.quantile(x[x > 0.0], 0.01) * (x == 0.0).any() for x in X.T])
    got = family.form.decode(family.rounding.spread(points, 3))
    assert_array_equal(np.any(got != family.form.decode(points), axis=1), zero.any(axis=1))
    low = got[:, 2][zero[:, 2]] / got[:, 0][zero[:, 2]] * X[:, 0][zero[:, 2]]
    assert low.min() < 0.3 * least < 0.9 * least < low.max() < 1.001 * least
    others = ~zero[:, :2].any(axis=1)  # stay what they are, by their ratios
    assert_allclose((got[:, 0] / got[:, 1])[others], X[others, 0] / X[others, 1])
    assert_array_equal(
        family.rounding.spread(points[7:], 3, 7), family.rounding.spread(points, 3)[7:]
    )
    assert np.any(family.rounding.spread(points, 4) != family.rounding.spread(points, 3))
    again = restored(Composition(), saved_of(family))
    assert_array_equal(again.rounding.spread(points, 3), family.rounding.spread(points, 3))
    gap = family.check(np.full((2, 3), np.nan))
    assert np.isnan(family.rounding.spread(gap, 3)).all()


@pytest.mark.parametrize(
    "change",
    [
        {"total_": -1.0},
        {"d": 1},
        {"little_": np.ones(2)},
        {"least_": np.ones(3)},
        {"_families": 3},
    ],
)
def test_what_a_checkpoint_cannot_hold_is_refused(change):
    family, points = prepared(Composition(), SHARES)
    saved = saved_of(family)
    again = restored(Composition(), saved)
    assert_array_equal(again.check(SHARES), points)
    assert_array_equal(again.prior, family.prior)
    with pytest.raises(ValueError, match=r"positive|for other columns|shape|in number"):
        restored(Composition(), changed(saved, change))
