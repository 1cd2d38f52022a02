"""Streams of mixed tables and of directions: their oracle knows the densities they come from."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, stats
from scipy.special import gamma

from scstream.datasets import mixed_stream
from scstream.datasets.directional import DirectionalMixture
from scstream.datasets.mixed import _KINDS, TableMixture

FOUR = [0.1, 0.2, 0.3, 0.4]
ALL = dict.fromkeys(_KINDS, 2)


def one(kind, parameters):
    """Return a mixture of one component with the given parameters of one column."""
    at = np.asarray(parameters, dtype=float).reshape(1, 1, -1)
    return TableMixture(np.ones(1), np.zeros(1, dtype=np.int64), {kind: at}, 0.0)


@pytest.mark.parametrize(
    ("kind", "parameters", "expected"),
    [
        ("diagonal", [3.0, 2.0], stats.norm(3.0, 2.0)),
        ("spherical", [3.0, 2.0], stats.norm(3.0, 2.0)),
        ("poisson", [4.0], stats.poisson(4.0)),
        ("gamma", [6.0], stats.gamma(4.0, scale=1.5)),
        ("exponential", [6.0], stats.expon(scale=6.0)),
        ("bernoulli", [0.3, 0.7], stats.bernoulli(0.7)),
        ("categorical", FOUR, stats.rv_discrete(values=(range(4), FOUR))),
    ],
)
def test_entries_have_the_density_that_the_oracle_knows(kind, parameters, expected):
    mixture = one(kind, parameters)
    X = mixture.draw(np.zeros(4000, dtype=np.int64), np.random.default_rng(0))
    discrete = kind in ("poisson", "bernoulli", "categorical")
    log_density = expected.logpmf if discrete else expected.logpdf
    assert_allclose(mixture.log_density(X)[:, 0], log_density(X[:, 0]), rtol=1e-10)
    error = expected.std() / np.sqrt(4000)
    assert abs(X.mean() - expected.mean()) < stats.norm.isf(1e-9) * error


def test_the_kinds_come_in_the_order_given_and_are_what_they_are():
    batch = mixed_stream(ALL, 3, 500, 4, random_state=0)[1]
    X, columns = batch.X, batch.truth.columns
    assert X.shape == (500, 14)
    assert [j for block in columns.values() for j in block] == list(range(14))
    whole = [*columns["poisson"], *columns["bernoulli"], *columns["categorical"]]
    assert_array_equal(X[:, whole], np.round(X[:, whole]))
    assert X[:, [*columns["gamma"], *columns["exponential"]]].min() > 0
    assert set(np.unique(X[:, columns["bernoulli"]])) == {0.0, 1.0}
    assert X[:, columns["categorical"]].max() <= 5


def test_entries_are_missing_at_random_and_the_oracle_sees_the_rest():
    full, gappy = (
        mixed_stream(ALL, 3, 2000, 4, missing=share, random_state=0)[0] for share in (0.0, 0.3)
    )
    share = np.isnan(gappy.X).mean()
    assert abs(share - 0.3) < 6 * np.sqrt(0.21 / gappy.X.size)
    assert not np.isnan(full.X).any()
    kept = {"diagonal": gappy.truth.parameters["diagonal"]}
    some = TableMixture(gappy.truth.weights, gappy.truth.clusters, kept, 0.0)
    X = full.X.copy()
    X[:, 2:] = np.nan
    assert_allclose(gappy.truth.log_density(X), some.log_density(full.X[:, :2]), rtol=1e-12)
    right = [(batch.oracle == batch.y).mean() for batch in (full, gappy)]
    assert right[1] < right[0]


@pytest.mark.parametrize("drift", ["none", "incremental", "gradual", "sudden", "recurring"])
def test_clusters_move_as_the_drift_says(drift):
    stream = mixed_stream(ALL, 8, 50, 4, drift=drift, random_state=1)
    first, last = (stream[b].truth.parameters["poisson"] for b in (0, 7))
    if drift in ("none", "recurring"):
        known = np.concatenate([stream[b].truth.parameters["poisson"] for b in range(8)])
        assert len(np.unique(known[:, 0, 0])) <= 4
    else:
        assert not np.allclose(first[:1], last[:1])
    for kind in ("bernoulli", "categorical"):
        assert_allclose(stream[5].truth.parameters[kind].sum(axis=-1), 1.0)


@pytest.mark.parametrize(("d", "kappa"), [(2, 3.0), (3, 20.0), (8, 20.0)])
def test_directions_have_the_density_that_the_oracle_knows(d, kappa):
    mixture = DirectionalMixture(np.ones(1), np.zeros(1, dtype=np.int64), np.eye(d)[:1], kappa)
    X = mixture.draw(np.zeros(20_000, dtype=np.int64), np.random.default_rng(0))
    assert_allclose((X * X).sum(axis=1), 1.0)
    ring = 2 * np.pi ** ((d - 1) / 2) / gamma((d - 1) / 2)  # the area of a slice of radius 1

    def weighted(angle, power):
        x = np.zeros((1, d))
        x[0, 0] = np.cos(angle)
        density = np.exp(mixture.log_density(x)[0, 0])
        return density * ring * np.sin(angle) ** (d - 2) * np.cos(angle) ** power

    assert integrate.quad(weighted, 0, np.pi, args=(0,))[0] == pytest.approx(1.0, rel=1e-7)
    expected = integrate.quad(weighted, 0, np.pi, args=(1,))[0]
    error = X[:, 0].std() / np.sqrt(len(X))
    assert abs(X[:, 0].mean() - expected) < stats.norm.isf(1e-9) * error
