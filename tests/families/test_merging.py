"""Merges by statistics alone: what is left of an over-clustering, and what it is judged for."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import gammaln

from scstream import ScStream
from scstream.families import Poisson
from scstream.families.merging import Pairs, merged

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


@pytest.mark.parametrize(("shape", "least", "most"), [(1.0, 1.0, 1.0), (16.0, 8.0, 32.0)])
def test_a_shared_shape_is_found_whatever_the_number_of_pieces(shape, least, most):
    """Read off the pieces as they are, it came to 2 and more for shape 1."""
    mean = np.exp(RNG.uniform(0.0, 5.0, (5, 3)))
    rows = RNG.gamma(shape, mean[RNG.integers(5, size=1000)] / shape)
    for seed in range(3):
        model = ScStream("gamma", random_state=seed).fit(rows)
        assert np.all(model.prior_["shape"] >= least)
        assert np.all(model.prior_["shape"] <= most)
