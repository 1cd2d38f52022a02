"""Counts that vary more than Poisson counts: densities, dispersions, clusters beside numbers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.metrics import adjusted_rand_score

from scstream import ScStream
from scstream.families import NegativeBinomial, Poisson

CORNERS = 6.0 * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])


def wide_counts(rng, rate, dispersion):
    """Return counts with the given rates, and the variance ``rate + dispersion rate**2``."""
    rate = np.asarray(rate)
    return rng.poisson(rate * dispersion * rng.standard_gamma(1.0 / dispersion, rate.shape))


def sums(family, groups):
    return np.array([family.statistics(X).sum(axis=0) for X in groups])


def test_predictives_are_beta_negative_binomial() -> None:
    X = wide_counts(np.random.default_rng(0), np.tile([3.0, 20.0], (30, 1)), 0.5).astype(float)
    family = NegativeBinomial([0.5, 1.0], mean=[4.0, 10.0], strength=[2.0, 0.5]).prepare(X)
    r, x = np.array([2.0, 1.0]), np.array([2.0, 0.5]) + X.sum(axis=0)
    count = np.array([2.0 / 4.0, 0.5 / 10.0]) + 30
    expected = stats.betanbinom.logpmf(X, r, r * count, x).sum(axis=1)
    got = family.log_predictive(X, sums(family, [X]))[:, 0]
    assert_allclose(got, expected, rtol=1e-9)


def test_hardly_dispersed_counts_are_poisson() -> None:
    X = np.random.default_rng(0).poisson([3.0, 20.0], (30, 2)).astype(float)
    prior = {"mean": [4.0, 10.0], "strength": [2.0, 0.5]}
    wide, plain = NegativeBinomial(1e-7, **prior).prepare(X), Poisson(**prior).prepare(X)
    s = sums(plain, [X])
    assert_allclose(wide.log_predictive(X, s), plain.log_predictive(X, s), rtol=1e-4)


@pytest.mark.parametrize("dispersion", [0.02, 0.2, 1.0])
@pytest.mark.parametrize("beside", [False, True])
def test_the_dispersion_is_that_within_clusters(dispersion, beside) -> None:
    """Not that of all rows, from which it starts; beside other columns it comes down by steps."""
    rng = np.random.default_rng(1)
    groups = [
        wide_counts(rng, np.tile(rates, (400, 1)), dispersion).astype(float)
        for rates in ([2, 15, 90, 9], [90, 2, 15, 9], [15, 90, 2, 9])
    ]
    family = NegativeBinomial().prepare(np.concatenate(groups))
    assert np.all(family.hyperparameters()["dispersion"][:3] > 1.0)
    family.alone = not beside
    clusters = sums(family, groups)
    for _ in range(20):
        family = family.adapt(clusters)
    found = family.hyperparameters()["dispersion"]
    assert np.all((dispersion / 1.8 < found) & (found < 1.8 * dispersion))


def test_beside_other_columns_dispersions_fall_once_clusters_are_known() -> None:
    rng = np.random.default_rng(3)
    groups = [wide_counts(rng, np.full((400, 1), rate), 0.1).astype(float) for rate in (3.0, 60.0)]
    family = NegativeBinomial().prepare(np.concatenate(groups))
    s = sums(family, groups)
    assert family.simplified(True) is family  # alone its clusters are found by the dispersion
    family.alone = False
    held = family.simplified(True)
    assert held.adapt(s).hyperparameters()["dispersion"] == family.hyperparameters()["dispersion"]
    assert held.simplified(True) is held
    free = held.simplified(False).adapt(s)
    assert free.hyperparameters()["dispersion"] < family.hyperparameters()["dispersion"]


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_auto_takes_wide_counts_beside_numbers_for_what_they_are(seed) -> None:
    """Poisson clusters would cut each of the four into a dozen, one for each range of counts.

    Where dispersions fall while small groups are merged, the second and third seed have 7 clusters.
    """
    rng = np.random.default_rng(seed)
    model = ScStream("auto", random_state=seed)
    for _ in range(2):
        y = rng.integers(4, size=500)
        X = CORNERS[y] + rng.normal(size=(500, 2))
        rate = np.column_stack(
            [9.0 * rng.gamma(1.0, 1.0, 500), 19.0 * rng.gamma(0.5, 1.0, 500), np.full(500, 2.0)]
        )
        model.partial_fit(np.column_stack([X, rng.poisson(rate)]))
        assert model.n_clusters_ == 4
        assert adjusted_rand_score(y, model.labels_) > 0.95
