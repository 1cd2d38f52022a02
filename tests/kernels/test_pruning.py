"""Scores as far as they matter: the same labels as by all scores, for less."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from scstream import Gaussian
from scstream.engines import CpuEngine, Key
from scstream.families import gaussian_scores
from scstream.families.scores import form_of
from scstream.kernels import pruning

K, ROWS = 12, 300
APART = {"apart": 6.0, "overlapping": 0.35}  # distances of the means by column
CASES = [(d, how) for d in (32, 37, 64) for how in APART]
cases = pytest.mark.parametrize(("d", "how"), CASES)


def clusters(d, how, offset=0.0):
    """Return a prepared family, points, and statistics of clusters (k, p) made of others."""
    rng = np.random.default_rng(d)
    means = rng.normal(size=(K, d)) * APART[how] + offset
    y = np.arange(3 * ROWS) % K
    X = means[y] + rng.normal(size=(len(y), d)) * rng.uniform(0.5, 2.0, (K, d))[y]
    family = Gaussian(np.zeros(d), 0.1, np.ones(d), 3.0 * d).prepare(X - offset)
    T = family.statistics(X)
    return family, X[:ROWS], np.stack([T[ROWS:][y[ROWS:] == c].sum(axis=0) for c in range(K)])


def scored(d, how, offset=0.0):
    family, X, s = clusters(d, how, offset)
    return family.predictive_score(s, np.log(np.arange(1.0, K + 1.0))), family.statistics(X)


class Plain:
    """A score without a form."""

    def __init__(self, score):
        self.block, self.pairs = score.block, score.pairs


def scores_near(score, T):
    return form_of(score).pruning.scores(T)


@cases
def test_what_matters_is_exact_and_the_rest_bounded(d, how):
    score, T = scored(d, how)
    exact, got = score.block(T), scores_near(score, T)
    behind = exact.max(axis=1, keepdims=True) - exact
    assert_allclose(got[behind < 25.0], exact[behind < 25.0], rtol=1e-11)
    assert (got >= exact - 1e-8).all()
    top = got.max(axis=1, keepdims=True)
    assert ((top - got)[behind > 40.0] > 35.0).all()
    assert_array_equal(got.argmax(axis=1), exact.argmax(axis=1))
    if how == "overlapping":
        assert (behind < 25.0).sum() > 2 * len(T)  # the case is what it is called
        assert_array_equal(np.argsort(-got)[:, :2], np.argsort(-exact)[:, :2])


def test_products_in_double_tell_apart_what_single_precision_does_not(monkeypatch):
    looked_at = []
    refine = pruning.refine
    monkeypatch.setattr(
        pruning, "refine", lambda *how: (looked_at.append(how[5].copy()), refine(*how))[1]
    )
    score, T = scored(64, "overlapping", offset=300.0)
    scores_near(score, T)
    assert np.isfinite(looked_at[0]).all()


def test_single_precision_is_not_used_where_it_is_too_coarse():
    score, T = scored(32, "overlapping", offset=3000.0)
    exact, got = score.block(T), scores_near(score, T)
    behind = exact.max(axis=1, keepdims=True) - exact
    assert_allclose(got[behind < 25.0], exact[behind < 25.0], rtol=1e-5)  # as far as `block` goes
    assert (got >= exact - 1e-2).all()


@cases
@pytest.mark.parametrize("key", [None, Key(1, 2, 3)], ids=["best", "drawn"])
def test_labels_are_those_of_all_scores_whatever_the_threads(d, how, key):
    family, X, s = clusters(d, how)
    X = np.tile(X, (4, 1)) + 0.1 * np.random.default_rng(1).normal(size=(4 * ROWS, d))
    score = family.predictive_score(s, np.zeros(K))
    sub = family.predictive_score(np.repeat(0.5 * s, 2, axis=0), np.zeros(2 * K))

    def swept(threads):
        engine = CpuEngine(threads)
        engine.load(family, X, np.ones(len(X)))
        return engine.sweep(score, sub, K, key), engine.labels

    one, labels = swept(1)
    two, same = swept(2)
    assert_array_equal(labels, same)
    assert_array_equal(one.current, two.current)
    score = Plain(score)
    every, expected = swept(1)
    assert_array_equal(labels, expected)
    assert_allclose(one.doubt, every.doubt, atol=1e-7)
    if how == "overlapping":
        assert_array_equal(one.rivals, every.rivals)


def test_the_error_of_single_precision_is_bounded():
    score, T = scored(64, "overlapping")
    base, single, error = score._single
    forms = base + (T[:, 1:].astype(np.float32) @ single.T).astype(float)
    size = np.linalg.norm(T[:, 1:], axis=1)
    off = np.abs(forms - T @ score.quad.T) / (size[:, None] * error)
    assert 0.0 < off.max() < 1.0
    assert gaussian_scores._ERROR <= 1.0


@cases
def test_assigned_labels_are_the_best_whatever_the_threads(d, how):
    family, X, s = clusters(d, how)
    for n_threads in (1, 3):
        score = family.predictive_score(s, np.zeros(K))
        expected = score.block(family.statistics(X)).argmax(axis=1)
        score = family.predictive_score(s, np.zeros(K))
        assert_array_equal(CpuEngine(n_threads).assign(family, X, score), expected)
