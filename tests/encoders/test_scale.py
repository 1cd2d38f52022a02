"""The common value of a column, and the scale of the others."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from scstream.encoders import HurdleEncoder, scale, skew

LOGS, ROOTS = np.array([False]), np.array([True])


def unit_of(x):
    return skew.scales_of([x])[0][0]


def column(name, n, rng):
    """Return a column of that kind."""
    often = rng.random(n) < 0.6
    return {
        "money": np.where(often, 0.0, np.round(np.exp(rng.normal(3.0, 1.0, n)), 2)),
        "money in whole numbers": np.where(often, 0.0, np.round(np.exp(rng.normal(4.0, 1.0, n)))),
        "rain": np.where(often, 0.0, np.round(rng.exponential(4.0, n), 1)),
        "capped": np.minimum(rng.normal(100.0, 10.0, n), 108.0),
        "not measured": np.where(rng.random(n) < 0.2, -1.0, rng.normal(50.0, 10.0, n)),
        "nearly always 0": np.where(np.arange(n) >= 12, 0.0, rng.normal(50.0, 10.0, n)),
        "rare events": rng.poisson(0.1, n),
        "events": rng.poisson(1.0, n),
        "many events": rng.poisson(30.0, n),
        "wide counts": rng.negative_binomial(0.5, 0.1, n),
        "counts, often none": rng.poisson(5.0, n) * often,
        "rounded": np.round(rng.normal(0.0, 2.0, n)),
        "ratings": rng.choice(np.arange(1.0, 6.0), n, p=[0.02, 0.03, 0.05, 0.1, 0.8]),
        "a flag": 5.5 * often,
        "two common values": np.clip(rng.normal(50.0, 60.0, n), 0.0, 100.0),
        "real numbers": rng.normal(size=n),
        "one number": np.full(n, 3.0),
        "a few zeros": np.where(rng.random(n) < 0.02, 0.0, rng.normal(5.0, 1.0, n)),
    }[name]


COMMON = {
    "money": 0.0, "money in whole numbers": 0.0, "rain": 0.0, "capped": 108.0,
    "not measured": -1.0, "nearly always 0": 0.0,
}  # fmt: skip
NONE = [
    "rare events", "events", "many events", "wide counts", "counts, often none", "rounded",
    "ratings", "a flag", "two common values", "real numbers", "one number", "a few zeros",
]  # fmt: skip


@pytest.mark.parametrize("n", [200, 1_000, 5_000])
@pytest.mark.parametrize("name", COMMON)
def test_a_value_that_many_rows_have_is_found(name, n):
    for seed in range(5):
        assert skew.common_value(column(name, n, np.random.default_rng(seed))) == COMMON[name]


@pytest.mark.parametrize("n", [200, 1_000, 5_000])
@pytest.mark.parametrize("name", NONE)
def test_counts_flags_ratings_and_rounded_numbers_have_none(name, n):
    for seed in range(5):
        assert np.isnan(skew.common_value(column(name, n, np.random.default_rng(seed))))


def test_the_scale_is_straight_below_the_unit_and_logarithmic_above() -> None:
    small, large = np.array([[1e-6, -2e-6]]), np.array([[1e6, -2e8]])
    assert_allclose(scale.on_scale(small, 1.0, LOGS), small, rtol=1e-12)
    sign, twice = np.sign(large), 2.0 * np.abs(large)
    assert_allclose(scale.on_scale(large, 1.0, LOGS), sign * np.log(twice))
    assert_allclose(scale.on_scale(small, 1.0, ROOTS), small, rtol=1e-9)
    assert_allclose(scale.on_scale(large, 1.0, ROOTS), sign * 2.0 * twice**0.25, rtol=1e-2)


@pytest.mark.parametrize("root", [LOGS, ROOTS, np.array([True, False])], ids=str)
@pytest.mark.parametrize("unit", [1e-3, 1.0, 50.0, 1e12])
def test_amounts_come_back_and_lengths_are_as_the_stretch_says(unit, root):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 2)) * np.exp(rng.normal(0.0, 3.0, (50, 2)))
    y = scale.on_scale(x, unit, root)
    exact = ~root | (np.abs(x) > 1e-3 * unit)  # those of roots are differences
    assert_allclose(scale.off_scale(y, unit, root)[exact], x[exact], rtol=1e-10)
    step = 1e-6 * np.abs(x)
    ends = (scale.on_scale(x + sign * step, unit, root) for sign in (1.0, -1.0))
    slope = np.subtract(*ends) / (2.0 * step)
    stretch = scale.log_stretch(y, unit, root)
    assert_allclose(-stretch[exact], np.log(slope[exact]), atol=1e-3)


def test_skewed_amounts_go_by_their_logarithms_others_stay_what_they_are() -> None:
    rng = np.random.default_rng(0)
    skewed, normal = np.exp(rng.normal(3.0, 1.5, 500)), rng.normal(100.0, 5.0, 500)
    assert unit_of(skewed) < np.median(skewed) < skew.straight_unit(skewed)
    assert unit_of(-skewed) == unit_of(skewed)
    both = np.concatenate([skewed, [-1.0]])
    assert unit_of(both) == skew.straight_unit(both)
    wide = rng.uniform(0.0, 1.0, 500)
    for x in (normal, wide):
        assert unit_of(x) == skew.straight_unit(x)
        assert_allclose(scale.on_scale(x, unit_of(x), LOGS), x, rtol=1e-11)


def clusters(means, log_deviation, n, seed):
    """Return amounts about some means, their logarithms normal."""
    rng = np.random.default_rng(seed)
    return rng.choice(means, n) * np.exp(log_deviation * rng.normal(size=n))


@pytest.mark.parametrize("n", [200, 1_000, 5_000])
@pytest.mark.parametrize("means", [[1.0], [1.0, 20.0], [1.0, 1e2, 1e6]])
def test_what_counts_is_the_shape_of_clusters_wherever_they_are(means, n):
    for seed in range(4):
        skewed = clusters(means, 0.8, n, seed)
        assert skew.is_skewed(skewed)
        assert unit_of(skewed) < np.percentile(skewed, 1.0)
        assert n == 200 or skew.is_skewed(np.append(skewed, [0.0, 0.0]))
        rng = np.random.default_rng(seed)
        places = rng.choice(means, n)
        assert not skew.is_skewed(places * (1.0 + 0.05 * rng.normal(size=n)))
        assert not skew.is_skewed(1e3 + places.clip(0.0, 20.0) + rng.normal(size=n))


@pytest.mark.parametrize("n", [500, 3_000])
def test_roots_or_logarithms_are_what_all_columns_say(n):
    kinds = {
        "logs": lambda rng: np.exp(rng.normal(0.0, 1.0, n)),
        "roots": lambda rng: rng.gamma(2.0, 1.0, n),
    }
    right = {"logs": 0, "roots": 0}
    for name, some in kinds.items():
        for seed in range(6):
            rng = np.random.default_rng(seed)
            columns = [rng.choice([1.0, 6.0], n) * some(rng) for _ in range(4)]
            root = skew.scales_of(columns)[1]
            right[name] += int((root == (name == "roots")).sum())
    assert right["logs"] == 24  # of 24: there roots would divide clusters
    assert right["roots"] >= 16


def test_a_column_that_is_clear_decides_for_itself() -> None:
    rng = np.random.default_rng(0)
    logs, roots = np.exp(rng.normal(0.0, 1.5, 500)), rng.gamma(1.0, 1.0, 500)
    assert skew.scales_of([logs, *[roots + 0.0] * 4])[1].tolist() == [False] + [True] * 4
    assert skew.scales_of([logs, logs, roots])[1].tolist() == [False, False, True]
    counted = np.ceil(20.0 * roots)
    assert skew.scales_of([counted, roots, 100.0 * counted])[1].tolist() == [False, True, True]
    assert skew.scales_of([])[1].tolist() == []


def test_quantiles_are_those_of_drawn_amounts() -> None:
    rng = np.random.default_rng(0)
    z, own = rng.normal(size=(200_000, 2)), rng.random((200_000, 2)) < np.array([0.7, 1.0])
    mean, deviation = np.array([[5.0, 3.0]]), np.array([[1.5, 0.5]])
    encoder = HurdleEncoder([40.0, np.nan], 0.5, [True, False]).fit(np.ones((2, 2)))
    codes, share = mean + deviation * z, np.array([[0.7, 1.0]])
    x = encoder.decode(np.concatenate([own, codes], axis=1))
    for level in (0.16, 0.4, 0.5, 0.84):
        found = encoder.quantile_of_all(level, share, mean, deviation)
        assert_allclose(found[0], np.quantile(x, level, axis=0), rtol=0.05)
