"""Shares of counts: their roots, densities, what clusters say of themselves, and what is saved."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from examples import changed, example_rows
from scstream.families import CountShares, check_family
from scstream.families.saved import restored, saved_of

RNG = np.random.default_rng(0)
SHARE = RNG.dirichlet([90.0, 40.0, 20.0], 400)
COUNTS = RNG.poisson(np.exp(RNG.uniform(4.0, 8.0, (400, 1))) * SHARE).astype(float)


def prepared(family, X):
    met = family.meet(X, None)
    points = met.check(X)
    return met.prepare(points), points


@pytest.mark.parametrize("by_total", [False, True])
def test_it_is_a_gaussian_of_roots_of_shares(by_total):
    family, points = prepared(CountShares(by_total=by_total), COUNTS)
    more = COUNTS + 0.375
    root = (more / more.sum(axis=1, keepdims=True)) ** 0.25
    assert_allclose(points[:, 0], (root[:, 0] - root[:, 1]) / np.sqrt(2.0), atol=1e-12)
    assert points.shape == (400, 3 if by_total else 2)
    if by_total:
        assert_allclose(points[:, 2], np.log(COUNTS.sum(axis=1) + 1.0))
        assert_allclose(family.form.decode(points), COUNTS, atol=1e-8)
    else:
        shares = family.form.decode(points) / np.median(COUNTS.sum(axis=1))
        assert np.abs(shares - COUNTS / COUNTS.sum(axis=1, keepdims=True)).max() < 0.02
    rows = example_rows("count-shares")
    assert len(check_family(CountShares(by_total=by_total), rows)) == 9


@pytest.mark.parametrize("by_total", [False, True])
def test_densities_come_to_one(by_total):
    share = np.array([0.5, 0.3, 0.2])
    X = RNG.poisson(np.exp(RNG.normal(5.0, 0.1, (400, 1))) * share).astype(float)
    family, points = prepared(CountShares(total=150.0, by_total=by_total), X)
    s = family.statistics(points).sum(axis=0)[None]
    totals = np.arange(80, 260, 4) if by_total else [150]
    whole = 0.0
    for total in totals:
        a, b = np.meshgrid(np.arange(total), np.arange(total))
        rows = np.column_stack([a[a + b < total], b[a + b < total]])
        rows = np.column_stack([rows, total - rows.sum(axis=1)]).astype(float)
        density = np.exp(family.log_predictive(family.check(rows), s)).sum()
        # of the shares of the usual total
        whole += density * (4.0 * ((150 + 1.125) / (total + 1.125)) ** 2 if by_total else 1.0)
    assert whole == pytest.approx(1.0, abs=0.03)


@pytest.mark.parametrize("by_total", [False, True])
def test_what_clusters_say_of_themselves(by_total):
    family, points = prepared(CountShares(by_total=by_total), COUNTS)
    about = family.describe(family.prior + family.statistics(points).sum(axis=0)[None])
    total = about["mean"][0].sum()
    shares = COUNTS / COUNTS.sum(axis=1, keepdims=True)
    assert_allclose(about["mean"][0] / total, shares.mean(axis=0), rtol=0.05)
    assert_allclose(about["variance"][0] / total**2, shares.var(axis=0), rtol=0.35)
    usual = np.exp(np.log(COUNTS.sum(axis=1)).mean()) if by_total else np.median(COUNTS.sum(axis=1))
    assert total == pytest.approx(usual, rel=0.05)


@pytest.mark.parametrize("by_total", [False, True])
def test_rows_with_gaps_and_odd_counts_are_taken_for_what_they_say(by_total):
    family, _ = prepared(CountShares(by_total=by_total), COUNTS)
    odd = np.array([[90.0, 40.0, 20.0]] * 4)
    odd[1, 0] = np.nan  # as it is usual for the others
    odd[2] = np.nan
    odd[3] = [150.0, -3.0, 0.0]
    got = family.check(odd)
    assert_allclose(got[1], got[0], atol=0.03)
    assert np.isnan(got[2]).all()
    assert_array_equal(got[3], family.check(np.array([[150.0, 0.0, 0.0]]))[0])
    assert np.isfinite(family.check(np.zeros((1, 3)))).all()


def test_what_is_given_and_saved_must_be_sound() -> None:
    with pytest.raises(ValueError, match="total must be a positive number"):
        CountShares(total=-1.0).meet(COUNTS, None)
    family, _ = prepared(CountShares(by_total=True), COUNTS)
    saved = saved_of(family)
    again = restored(CountShares(), saved)
    assert_array_equal(again.check(COUNTS), family.check(COUNTS))
    for name, value, told in (
        ("usual_", np.ones(2), "has shape"),
        ("usual_", -np.ones(3), "not finite and positive"),
        ("by_total_", 0.0, "of another kind, or for other columns"),
        ("total_", 0.0, "not finite and positive"),
        ("d", True, "no columns"),
    ):
        with pytest.raises(ValueError, match=told):
            restored(CountShares(), changed(saved, {name: value}))
