"""Merges by statistics alone: what is left of an over-clustering, and what it is judged for."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import gammaln

from scstream import ScStream
from scstream.families import Directional, Gamma, Poisson
from scstream.families.merging import Pairs, best_merged, merged

RNG = np.random.default_rng(0)
X = RNG.poisson(np.repeat([[3.0], [60.0]], 300, axis=0)).astype(float)


def pieces(family, order, m):
    """Return statistics and places of m pieces of the rows in the given order."""
    T = family.statistics(X[order])
    s = np.stack([part.sum(axis=0) for part in np.array_split(T, m)])
    return s, s[:, 2:] / s[:, 1:2]


def test_pieces_become_the_clusters_that_they_are_pieces_of():
    family = Poisson().prepare(X)
    s, at = pieces(family, np.arange(600), 40)
    left, level = merged(family, s, at)
    assert len(left) == 2
    assert_allclose(np.sort(left[:, 0]), [300.0, 300.0])
    assert_allclose(left.sum(axis=0), s.sum(axis=0))
    assert level == pytest.approx(float((gammaln(left[:, 0]) + family.log_marginal(left)).sum()))


def test_every_merge_pays():
    family = Poisson().prepare(X)
    s, at = pieces(family, RNG.permutation(300), 40)  # all of one cluster
    before = float((gammaln(s[:, 0]) + family.log_marginal(s)).sum())
    left, level = merged(family, s, at)
    assert len(left) == 1
    assert level > before


def test_empty_clusters_and_a_single_one_are_left_alone():
    family = Poisson().prepare(X)
    s = family.statistics(X).sum(axis=0)
    left, _ = merged(family, np.stack([s, 0.0 * s]), np.array([[1.0], [0.0]]))
    assert_allclose(left, s[None])


def test_neighbours_among_many_columns_are_those_among_few():
    at = RNG.normal(size=(60, 3))
    s = np.concatenate([np.ones((60, 1)), at], axis=1)
    few, many = Pairs.of(s, at), Pairs.of(s, np.pad(at, ((0, 0), (0, 30))))
    for one, other in zip(few, many, strict=True):
        assert_allclose(one, other)
    pairs = {frozenset(pair) for pair in zip(few.a.tolist(), few.b.tolist(), strict=True)}
    assert len(pairs) == len(few.a)  # each once,
    away = np.linalg.norm(at[:, None] - at, axis=2)
    nearest = np.argsort(away, axis=1)[:, 1:4]  # of three to each
    assert pairs == {frozenset((i, j)) for i in range(60) for j in nearest[i].tolist()}
    assert_allclose(few.both, s[few.a] + s[few.b])


def test_places_that_are_too_far_away_have_no_neighbours():
    at = np.full((3, 20), 1e200) * [[1.0], [-1.0], [0.0]]
    with np.errstate(all="ignore"):
        assert len(Pairs.of(np.ones((3, 2)), at).a) == 0


def test_of_several_trials_the_best_one_says_what_is_left():
    rows = Directional().check(np.eye(8)[np.repeat([0, 1], 300)] + 0.3 * RNG.normal(size=(600, 8)))
    trials = [Directional(concentration=c).prepare(rows) for c in (0.1, 20.0, 1e4)]
    s = np.add.reduceat(trials[0].statistics(rows), np.arange(0, 600, 15))
    at = s[:, 1:] / s[:, :1]
    found = [merged(trial, s, at) for trial in trials]
    assert len({len(left) for left, _ in found}) > 1
    best = max(found, key=lambda pair: pair[1])[0]
    assert_allclose(best_merged(trials, s, at), best)
    assert_allclose(best_merged(trials[::-1], s, at), best)


@pytest.mark.parametrize(("shape", "least", "most"), [(1.0, 1.0, 1.0), (16.0, 8.0, 32.0)])
def test_a_shared_shape_is_found_whatever_the_number_of_pieces(shape, least, most):
    """Read off the pieces as they are, it came to 2 and more for shape 1."""
    mean = np.exp(RNG.uniform(0.0, 5.0, (5, 3)))
    rows = RNG.gamma(shape, mean[RNG.integers(5, size=1000)] / shape)
    for seed in range(3):
        model = ScStream("gamma", random_state=seed).fit(rows)
        assert np.all(model.prior_["shape"] >= least)
        assert np.all(model.prior_["shape"] <= most)


def test_a_shape_that_is_given_stays():
    rows = RNG.gamma(3.0, 1.0, (100, 2))
    model = ScStream(Gamma(shape=3.0), random_state=0, max_sweeps=3).fit(rows)
    assert_allclose(model.prior_["shape"], 3.0)
