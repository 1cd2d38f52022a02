"""Mixtures of normal distributions or counts of a column, and the points that represent it."""

import numpy as np
import pytest
from scipy import stats

from scstream.encoders.column_mixture import (
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
