"""Rows that clusters have learned from are scored without what they taught."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from scstream.families import Diagonal, Gaussian, Multinomial
from scstream.families.left_out import LeftOutScore
from scstream.sampler.sweep import predictive

ALPHA = 0.3


def normal_rows(family, d, rng):
    X = rng.normal(size=(30, d)) * rng.uniform(0.5, 2.0, d)
    return family.prepare(X), X


def counts(d, rng):
    X = sparse.csr_array(rng.poisson(0.4, size=(30, d)).astype(float))
    return Multinomial().prepare(X), X


CASES = {
    "few columns": lambda rng: normal_rows(Gaussian(), 3, rng),
    "many columns": lambda rng: normal_rows(Gaussian(), 20, rng),
    "diagonal": lambda rng: normal_rows(Diagonal(), 6, rng),
    "counts": lambda rng: counts(40, rng),
}


def problem(case):
    """Return a family, statistics of rows, their labels (one is in no cluster) and weights."""
    rng = np.random.default_rng(7)
    family, X = CASES[case](rng)
    T = family.statistics(X)
    dense = T.toarray() if sparse.issparse(T) else T
    z = rng.integers(0, 3, 30)
    z[:3], z[3] = [0, 1, 2], -1
    z[4] = 3  # a cluster of its own
    weight = rng.uniform(0.3, 1.7, 30)
    return family, T, dense, z, weight


def totals_of(dense, z, weight, k):
    past = 0.4 * dense[:k] * np.array([1.0, 2.0, 3.0, 0.0])[:k, None]
    return past + np.array([(weight * (z == c)) @ dense for c in range(k)])


@pytest.mark.parametrize("case", CASES)
def test_each_row_is_scored_by_clusters_that_never_saw_it(case):
    family, T, dense, z, weight = problem(case)
    totals = totals_of(dense, z, weight, 4)
    clusters = predictive(family, totals, totals[:, 0], ALPHA)
    scores = LeftOutScore(family, totals, totals[:, 0], ALPHA, clusters, clusters).of_members(
        T, z, weight
    )
    everyone = totals[:, 0].sum() + ALPHA
    for i in range(30):
        for c in range(4):
            without = totals[c] - weight[i] * dense[i] if z[i] == c else totals[c]
            if z[i] == c and i == 4:
                expected = family.log_marginal(dense[i]) + np.log(ALPHA / everyone)
            else:
                expected = family.log_marginal(without + dense[i]) - family.log_marginal(without)
                expected += np.log(without[0] / everyone)
            assert_allclose(scores[i, c], expected, rtol=1e-8, atol=1e-8)


def test_components_that_were_ruled_out_count_again_where_a_row_falls_far():
    """In many columns components far below the best are not scored, unless the best falls."""
    rng = np.random.default_rng(5)
    z = np.arange(60) % 3
    X = rng.normal(size=(60, 40)) + 3.0 * z[:, None]
    wrong = np.where(np.arange(60) < 6, (z + 1) % 3, z)  # what holds these rows is that they count
    family = Gaussian().prepare(X)
    T, weight = family.statistics(X), np.ones(60)
    totals = np.array([T[wrong == c].sum(axis=0) for c in range(3)])
    clusters = predictive(family, totals, totals[:, 0], ALPHA)
    score = LeftOutScore(family, totals, totals[:, 0], ALPHA, clusters, clusters)
    scores = score.of_members(T, wrong, weight)
    plain = clusters.block(T)
    fell = plain.max(axis=1) - scores.max(axis=1)
    assert fell.max() > 15.0
    others = (np.arange(3) != wrong[:, None]) & (fell > 12.5)[:, None]
    below = scores.max(axis=1, keepdims=True) - scores
    matter = others & (below < 24.0)
    assert matter.sum() > 10
    assert_allclose(scores[matter], plain[matter], rtol=1e-9)
    assert (scores >= plain - 1e-9)[others].all()  # of the rest it is a bound
    assert (scores.argmax(axis=1)[:6] == z[:6]).all()
