"""The engine of one machine: many blocks, threads, statistics kept or made anew."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import reference
from numpy.testing import assert_allclose, assert_array_equal
from problems import problem, reference_parameters
from scipy import sparse

from scstream.engines import CpuEngine, Key, blocks
from scstream.engines.chunks import SIZES, Sizes
from scstream.families import Gaussian, Multinomial, Student
from scstream.families.scores import LinearScore

KEY = Key(seed=99, batch=1, sweep=2)
ROWS = 300


def batch(name):
    """Return a family, points of the same kind as a problem's, and weights."""
    case, rng = problem(name), np.random.default_rng(0)
    X = case.X[rng.integers(30, size=ROWS)]
    if isinstance(case.family, Gaussian):
        X = X + rng.normal(size=X.shape) * X.std(axis=0)
    return case.family, case.family.check(X), rng.random(ROWS)


def components(family, points):
    """Return the drawn parameters of two clusters and of their sub-clusters."""
    rng = np.random.default_rng(1)
    T = family.statistics(points)
    return [family.draw(rng, family.prior + (rng.random((k, ROWS)) < 0.1) @ T) for k in (2, 4)]


def everything(engine, family, points, w):
    """Return all that an engine says about a batch, sampled and not."""
    eta, sub = (LinearScore(e) for e in components(family, points))
    engine.load(family, points, w)
    out = []
    for key in (KEY, None):
        sums = engine.sweep(eta, sub, 2, key)
        out += [sums.current, sums.rows, sums.rivals, sums.entropy]
        out += [engine.labels.copy(), engine.sublabels.copy()]
    other = LinearScore(np.roll(sub.eta, 1, axis=0))
    out += engine.resplit(other, np.array([True, False]))
    out += [engine.adopt(np.array([True, False])), engine.members(2, KEY)]
    out += [engine.evaluate(family, points, eta, lambda s: s)]
    return out


SMALL = Sizes(block_rows=64)  # a few hundred rows span several blocks, the last one not full


@pytest.mark.parametrize("kept", [True, False], ids=["kept", "not-kept"])
@pytest.mark.parametrize("name", ["gaussian-2d", "multinomial-8-default", "plain-poisson"])
def test_threads_change_not_a_bit(name, kept):
    family, points, w = batch(name)
    for n_threads, leaf in product([1, 2, 3], [128, 4096]):
        sizes = replace(SMALL, chunk_rows=leaf, kept_bytes=SIZES.kept_bytes if kept else 0)
        expected = everything(CpuEngine(1, sizes=sizes), family, points, w)
        got = everything(CpuEngine(n_threads, sizes=sizes), family, points, w)
        for one, other in zip(got, expected, strict=True):
            assert_array_equal(one, other)


@pytest.mark.parametrize("name", ["gaussian-2d", "multinomial-8-default", "plain-poisson"])
def test_blocks_change_no_label(name):
    family, points, w = batch(name)
    whole = everything(CpuEngine(1), family, points, w)
    in_blocks = everything(CpuEngine(2, sizes=SMALL), family, points, w)
    for one, other in zip(in_blocks, whole, strict=True):
        if one.dtype == np.int64:
            assert_array_equal(one, other)
        else:
            assert_allclose(one, other, rtol=1e-10, atol=1e-10)


def test_a_batch_of_several_true_blocks_is_that_of_the_reference():
    n, rng = 4500, np.random.default_rng(2)
    X = rng.normal(size=(n, 2)) + 3.0 * rng.integers(2, size=(n, 1))
    family = Gaussian().prepare(X)
    assert n > blocks.block_rows(6, 2)
    T = family.statistics(X)
    eta = family.draw(rng, family.prior + (rng.random((2, n)) < [[0.2], [0.01]]) @ T)
    sub = family.draw(rng, family.prior + (rng.random((4, n)) < 0.01) @ T)
    density, given = reference_parameters(family, eta, 2)
    scores = np.array([[density(x, *theta) for theta in given] for x in X])
    _, given = reference_parameters(family, sub, 2)
    sub_scores = np.array([[density(x, *theta) for theta in given] for x in X]).reshape(n, 2, 2)
    u = reference.uniforms(KEY.seed, KEY.batch, KEY.sweep, 0, n)
    expected = reference.label(scores, sub_scores, u)
    sums = reference.statistics(T, np.ones(n), expected.z, expected.share, 2)
    for n_threads in (1, 2, 3):
        engine = CpuEngine(n_threads)
        engine.load(family, X, np.ones(n))
        got = engine.sweep(LinearScore(eta), LinearScore(sub), 2, KEY)
        assert_array_equal(engine.labels, expected.z)
        assert_array_equal(engine.sublabels, expected.sub)
        assert_allclose(got.current, sums, rtol=1e-10, atol=1e-10)


def test_wide_sparse_counts_span_blocks():
    n, d, rng = 700, 900, np.random.default_rng(3)
    p = rng.dirichlet(np.full(d, 0.2), size=2)
    truth = np.arange(n) % 2
    X = sparse.csr_array(rng.multinomial(30, p[truth]))
    family = Multinomial(0.1).prepare(X)
    points = family.check(X)
    engine = CpuEngine(2, sizes=Sizes(block_rows=256))
    engine.load(family, points, np.ones(n))
    sums = np.stack([family.statistics(points[truth == c]).sum(axis=0) for c in range(2)])
    sub = family.predictive_score(np.repeat(sums, 2, axis=0), np.zeros(4))
    got = engine.sweep(family.predictive_score(sums, np.zeros(2)), sub, 2, None)
    assert_array_equal(engine.labels, truth)
    for part in (0, 1):  # which are alike, and share every point evenly
        assert_allclose(got.current[:, part], 0.5 * sums)


@pytest.mark.parametrize("n", [50, 5000])
def test_few_rows_of_heavy_clusters_are_labelled_as_many_are(n):
    """Below so many scores all are computed, above not; labels are the same."""
    rng = np.random.default_rng(6)
    X = rng.standard_t(3, size=(n, 2)) + 9.0 * rng.integers(3, size=(n, 2))
    family = Student(3.0).prepare(X)
    totals = np.stack([family.statistics(X[a::12]).sum(axis=0) for a in range(12)])
    score = family.predictive_score(totals, np.log(totals[:, 0]))
    labels = CpuEngine().assign(family, X, score)
    assert_array_equal(labels, np.argmax(score.block(family.statistics(X)), axis=1))
    apart = [CpuEngine().assign(family, X[a : a + 10], score) for a in range(0, n, 10)]
    assert_array_equal(labels, np.concatenate(apart))
