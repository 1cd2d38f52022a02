"""Products of families: each block is as if it were alone, and the blocks add up."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import problem

from scstream.families import Categorical, Product


@pytest.fixture
def case():
    return problem("product")


def pieces(case):
    """Return each block's family, its columns of the rows, and its part of the two groups."""
    family, sums = case.family, case.sums()
    blocks = family.independent_blocks(0)
    return [(b.family, case.points[:, b.rows], b.statistics(sums)) for b in blocks]


def test_marginals_and_predictives_are_products(case):
    s = case.sums()
    marginal = sum(block.log_marginal(own) for block, _, own in pieces(case))
    assert_allclose(case.family.log_marginal(s), marginal, rtol=1e-12)
    predictive = sum(block.log_predictive(X, own) for block, X, own in pieces(case))
    assert_allclose(case.family.log_predictive(case.points, s), predictive, rtol=1e-10)


def test_a_division_follows_all_blocks_together(case):
    """A block whose groups are alike goes along with those whose groups differ."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.r_[rng.normal(0, 1, 100), rng.normal(9, 1, 100)], rng.poisson(5, 200)])
    family = Product({"diagonal": [0], "poisson": [1]}).meet(X, None)
    family = family.prepare(family.check(X))
    T = family.statistics(family.check(X))
    first, second = T[:100].sum(axis=0)[None], T[100:].sum(axis=0)[None]
    past = T.sum(axis=0)[None]
    part = family.division.divide(past, family.division.boundary(first, second))
    assert part[0, 0] == pytest.approx(100, abs=3)
    assert_allclose(part[0, -1] / past[0, -1], 0.5, atol=0.03)
    own = family.independent_blocks(2)[0].statistics(part)[0]
    assert own[2] / own[1] == pytest.approx(first[0, 2] / 100, abs=0.2)


def test_a_product_with_a_wide_block_is_compressed_and_scores_the_same():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=200), rng.poisson(5, 200), rng.integers(300, size=200)])
    family = Product({"gaussian": [0], "poisson": [1], "categorical": [2]}).meet(X, None)
    points = family.check(X)
    family = family.prepare(points)
    T = family.statistics(points)
    assert not isinstance(T, np.ndarray)
    s = np.stack([T[:90].sum(axis=0), T[90:].sum(axis=0)])
    score, z = family.predictive_score(s, np.zeros(2)), np.zeros(200, dtype=np.int64)
    assert_allclose(score.block(T), score.block(T.toarray()), rtol=1e-12)
    assert_allclose(score.pairs(T, z), score.pairs(T.toarray(), z), rtol=1e-12)


def test_blocks_keep_their_own_categories():
    X = np.array([["a", "p"], ["b", "q"], ["a", "q"]], dtype=object)
    family = Product([("categorical", [1]), (Categorical(max_categories=5), [0])]).meet(X, None)
    assert [block._known for block in family._families] == [(("q", "p"),), (("a", "b"),)]
    assert_allclose(family.check(X), [[1, 0], [0, 1], [0, 0]])
