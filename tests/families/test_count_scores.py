"""Labels of rows whose scores are sums of a table's rows: those of all sums in full precision."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from scstream.engines.labels import Labeller
from scstream.families import Multinomial


class Plain:
    """A score without a form."""

    def __init__(self, score):
        self.block, self.pairs = score.block, score.pairs


def draw_labels(score, T, u, *to):
    Labeller(score, T).draw(T, u, *to)


def best_labels(score, T, *to):
    Labeller(score, T).best(T, *to)


def best_alone(score, T):
    return Labeller(score, T).best_alone(T)


# how far clusters are apart, and how long the rows are, up to where single precision is too coarse
CASES = {"apart": (0.1, 80), "near": (5.0, 80), "one": (1e4, 80), "long": (1.0, 10**6)}


def scored(how, k=30, n=400, d=25):
    """Return a score that is ready, and the rows it is ready for."""
    spread, trials = CASES[how]
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.full(d, spread), k)
    X = np.array([rng.multinomial(trials, p[i % k]) for i in range(n)], float)
    family = Multinomial(0.5).prepare(X)
    T = family.statistics(family.check(X))
    s = np.zeros((k, d + 1))
    for c in range(k):
        s[c, 1:] = X[c::k].sum(axis=0)
    score = family.predictive_score(s, rng.normal(size=k))
    score.ready(lambda: T[:8])
    return score, T


def room(n):
    return np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n)


@pytest.mark.parametrize("how", CASES)
def test_best_labels_are_those_of_the_sums_in_full(how):
    score, T = scored(how)
    expected, got = room(T.shape[0]), room(T.shape[0])
    best_labels(Plain(score), T, *expected)
    best_labels(score, T, *got)
    for mine, theirs in zip(got[:2], expected[:2], strict=True):
        assert_array_equal(mine, theirs)
    assert_allclose(got[2], expected[2], rtol=1e-9, atol=1e-8)
    assert_array_equal(best_alone(score, T), expected[0])


@pytest.mark.parametrize("how", CASES)
def test_labels_are_drawn_as_by_the_sums_in_full(how):
    score, T = scored(how)
    exact, u = score.block(T), np.random.default_rng(1).random(T.shape[0])
    u[:4] = 0.0, 1e-9, 0.5, np.nextafter(1.0, 0.0)
    expected, got = room(len(u)), room(len(u))
    draw_labels(Plain(score), T, u, *expected)
    draw_labels(score, T, u, *got)
    for mine, theirs in zip(got[:2], expected[:2], strict=True):
        assert_array_equal(mine, theirs)
    assert_allclose(got[2], expected[2], rtol=1e-9, atol=1e-8)
    if how == "near":  # the case is what it is called
        assert (expected[0] != exact.argmax(axis=1)).any()


@pytest.mark.parametrize("how", CASES)
def test_labels_do_not_depend_on_the_rows_around(how):
    score, T = scored(how)
    u, whole = np.random.default_rng(1).random(T.shape[0]), room(T.shape[0])
    draw_labels(score, T, u, *whole)
    alone = best_alone(score, T)
    for a in range(0, T.shape[0], 37):
        rows = type(T)(T[a : a + 37].copy())  # rows by themselves have a table of their own
        again = type(score)(score.prior, score.sums.copy(), score.log_weight)
        again.ready(lambda rows=rows: rows)
        part = room(rows.shape[0])
        draw_labels(again, rows, u[a : a + 37], *part)
        for mine, all_ in zip(part, whole, strict=True):
            assert_array_equal(mine, all_[a : a + 37])
        assert_array_equal(best_alone(again, rows), alone[a : a + 37])
