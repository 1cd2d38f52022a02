"""Mixtures of normal distributions or counts of a column, and the points that represent it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from scstream.families.column_mixture import (
    _neighbours,
    log_evidence,
    log_evidence_of_counts,
    representatives,
)


def mixed(means, deviation, n=1_000, seed=0):
    rng = np.random.default_rng(seed)
    return rng.choice(means, n) + deviation * rng.normal(size=n)


def test_one_normal_distribution_is_described_by_its_density() -> None:
    y = representatives(mixed([3.0], 2.0))
    density = stats.norm(y.mean(), y.std()).logpdf(y).sum() - np.log(len(y))
    assert log_evidence(y) == pytest.approx(density, abs=0.1)


@pytest.mark.parametrize("means", [[0.0, 9.0], [0.0, 9.0, 40.0], [0.0, 6.0, 1e3, 1e6]])
def test_clusters_near_and_far_are_found(means):
    """As well as by the mixture that the rows are from, less the freedom to choose it."""
    y = representatives(mixed(means, 1.0))
    true = np.mean([stats.norm(m).pdf(y) for m in means], axis=0)
    free = 0.5 * (3 * len(means) - 1) * np.log(len(y))
    assert log_evidence(y) == pytest.approx(np.log(true).sum() - free, abs=6.0)


def test_it_is_the_same_in_other_units() -> None:
    y = representatives(mixed([0.0, 9.0], 1.0))
    assert log_evidence(1e6 * y - 3.0) == pytest.approx(log_evidence(y) - len(y) * np.log(1e6))


def test_representatives_are_in_order_and_equal_ones_are_spread() -> None:
    x = np.random.default_rng(0).normal(size=5_000)
    some = representatives(x)
    assert_allclose(some, np.quantile(x, (np.arange(256) + 0.5) / 256), atol=0.2)
    assert np.isin(some, x).all()
    assert_allclose(
        representatives(np.array([5.0, 1.0, 1.0, 1.0, 1.0, 3.0])),
        [0.25, 0.75, 1.25, 1.75, 3.0, 5.0],
    )
    grades = representatives(np.repeat(np.arange(5.0), 50))
    assert (np.diff(grades) > 0.0).all()
    assert np.abs(grades - np.repeat(np.arange(5.0), 50)).max() < 0.5
    assert_allclose(representatives(np.ones(3)), 1.0)


@pytest.mark.parametrize("rates", [[0.5], [6.0], [2.0, 40.0], [1.0, 10.0, 90.0]])
@pytest.mark.parametrize("shape", [3.0, 1e6])
def test_counts_are_described_as_well_as_by_the_mixture_that_they_are_from(rates, shape):
    rng = np.random.default_rng(0)
    x = np.sort(rng.poisson(rng.choice(rates, 250) * rng.gamma(shape, 1.0 / shape, 250)))
    true = np.mean([stats.nbinom(shape, shape / (shape + m)).pmf(x) for m in rates], axis=0)
    free = len(rates) * np.log(len(x))
    assert log_evidence_of_counts(x.astype(float)) > np.log(true).sum() - free - 6.0
    one = log_evidence_of_counts(x.astype(float), most=1)
    assert one <= log_evidence_of_counts(x.astype(float)) + 0.5


def test_first_groups_have_as_many_points_however_often_a_number_comes() -> None:
    parts = _neighbours(np.array([6, 1, 1]), 2)
    assert_allclose(parts, [[4 / 6, 0.0, 0.0], [2 / 6, 1.0, 1.0]])
