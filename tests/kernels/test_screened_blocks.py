"""Labels of rows by the kernels: drawn and best ones, at their edges, for every kind of scores."""

import numpy as np
import pytest
import reference
from numpy.testing import assert_allclose, assert_array_equal

from scstream.engines.labels import labeller
from scstream.families.scores import JoinedScore, LinearScore, StudentScore

LAST = np.nextafter(1.0, 0.0)


class Plain:
    """A score that has no form: its scores are the statistics."""

    def block(self, T):
        return np.array(T, float)

    def pairs(self, T, z):
        raise NotImplementedError


def room(n):
    return np.full(n, -9), np.full(n, -9), np.full(n, -9.0)


def draw_rows(scores, u):
    found = room(len(u))
    labeller(Plain(), scores, drawn=True).draw(scores, np.asarray(u, float), *found)
    return found


def best_rows(scores):
    found, rows = room(len(scores)), labeller(Plain(), scores, drawn=False)
    rows.best(scores, *found)
    assert_array_equal(rows.best_alone(scores), found[0])
    return found


def draw(scores, u):
    """Return labels, second choices and doubts of rows with the same scores."""
    z, second, doubt = draw_rows(np.tile(np.asarray(scores, float), (len(u), 1)), u)
    return z.tolist(), second.tolist(), doubt


@pytest.mark.parametrize("level", [0.0, -1e5, 1e5])
def test_what_is_impossible_is_never_drawn(level):
    scores = [level - 40.0, -np.inf, level, level - 1e3]
    z, second, doubt = draw(scores, [0.0, 0.5, LAST])
    assert z == [2, 2, 2]
    assert second == [0, 0, 0]
    assert_allclose(doubt, 0.0, atol=1e-15)


@pytest.mark.parametrize("k", [2, 30])
def test_unlikely_labels_are_drawn_as_often_as_they_should(k):
    # a uniform close to a boundary must find them
    rng = np.random.default_rng(k)
    scores = np.where(rng.random((2000, k)) < 0.5, -15.0, 0.0) + rng.normal(size=(2000, k))
    cumulated = np.cumsum(np.exp(scores), axis=1)
    at = rng.integers(k, size=2000)
    u = cumulated[np.arange(2000), at] / cumulated[:, -1] * (1.0 - 1e-10)
    z, second, doubt = draw_rows(scores, u)
    expected = (cumulated <= (u * cumulated[:, -1])[:, None]).sum(axis=1)
    assert_array_equal(z, expected)
    assert (scores[np.arange(2000), z] < -10.0).any()
    others = scores.copy()
    others[np.arange(2000), z] = -np.inf
    assert_array_equal(second, np.argmax(others, axis=1))
    gap = others.max(axis=1) - scores[np.arange(2000), z]
    assert_allclose(doubt, np.logaddexp(0.0, gap), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 63, 64, 65])
@pytest.mark.parametrize("n", [1, 63, 64, 65, 200])
def test_labels_are_those_of_the_reference(n, k):
    rng = np.random.default_rng(100 * n + k)
    scores, u = 3.0 * rng.normal(size=(n, k)) - 50.0, rng.random(n)
    for found, z in (
        (draw_rows(scores, u), [reference.drawn(row, x) for row, x in zip(scores, u, strict=True)]),
        (best_rows(scores), np.argmax(scores, axis=1)),
    ):
        assert_array_equal(found[0], z)
        others = scores.copy()
        others[np.arange(n), z] = -np.inf
        if k == 1:
            assert set(found[1]) == {-1}
            continue
        assert_array_equal(found[1], np.argmax(others, axis=1))
        gap = others.max(axis=1) - scores[np.arange(n), z]
        assert_allclose(found[2], np.logaddexp(0.0, gap), rtol=1e-12, atol=1e-15)


def kinds(value, where):
    """Return scores of every kind of 130 rows and 7 components, some of which are ``value``."""
    rng = np.random.default_rng(4)
    T, eta, const, power = (
        rng.normal(size=(130, 3)),
        rng.normal(size=(7, 3)),
        np.ones(7),
        np.ones(7),
    )
    scores = T @ eta.T
    rows, one = slice(60, 70), 2
    if where == "rows":
        T[rows, 1] = scores[rows] = value
    elif where == "component":
        eta[one, 1] = scores[:, one] = value
    elif where == "weight":
        eta[one, 0] = const[one] = scores[:, one] = value
    elif where == "power":
        power[one] = value
    else:
        T[:], scores[:] = value, value
    linear, student = LinearScore(eta), StudentScore(eta, const, power)
    yield Plain(), scores
    for score in (linear, student, JoinedScore([linear, student])):
        yield score, T


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e200, -1e200, 1e38, 1e39])
@pytest.mark.parametrize("where", ["rows", "component", "weight", "power", "all"])
def test_labels_are_in_range_whatever_the_scores(value, where):
    # on some processors a kernel that was promised numbers found label 5 of 0 to 4
    u = np.random.default_rng(0).random(130)
    with np.errstate(all="ignore"):
        for score, T in kinds(value, where):
            k = score.block(T).shape[1]
            for drawn in (False, True):
                found, rows = room(130), labeller(score, T, drawn=drawn)
                if drawn:
                    rows.draw(T, u, *found)
                else:
                    rows.best(T, *found)
                    assert ((rows.best_alone(T) >= 0) & (rows.best_alone(T) < k)).all()
                assert ((found[0] >= 0) & (found[0] < k)).all()
                assert ((found[1] >= -1) & (found[1] < k)).all()
                if where == "rows":  # the others are as if there were none such
                    plain, sane = room(130), np.r_[0:60, 70:130]
                    scores = score.block(T[sane])
                    if drawn:
                        labeller(Plain(), T, drawn=True).draw(
                            scores, u[sane], *(p[:120] for p in plain)
                        )
                    else:
                        labeller(Plain(), T, drawn=False).best(scores, *(p[:120] for p in plain))
                    assert_array_equal(found[0][sane], plain[0][:120])
                    assert_array_equal(found[1][sane], plain[1][:120])


@pytest.mark.parametrize("drawn", [False, True])
def test_labels_do_not_depend_on_the_rows_around(drawn):
    rng = np.random.default_rng(7)
    T, eta = rng.normal(size=(300, 6)), rng.normal(size=(5, 6))
    T[:, 0] = 1.0
    u = rng.random(300)
    linear = LinearScore(np.repeat(eta, 2, axis=0))  # ties wherever rounding is the same
    student = StudentScore(np.abs(linear.eta), np.zeros(10), np.ones(10))
    for score in (linear, student, JoinedScore([linear, student])):
        rows, whole = labeller(score, T, drawn=drawn), room(300)

        def label(at, to, rows=rows):
            if drawn:
                rows.draw(T[at].copy(), u[at], *to)
            else:
                rows.best(T[at].copy(), *to)

        label(slice(None), whole)
        for step in (1, 7, 65):
            for a in range(0, 300, step):
                at = slice(a, min(a + step, 300))
                part = room(at.stop - a)
                label(at, part)
                for mine, all_ in zip(part, whole, strict=True):
                    assert_array_equal(mine, all_[at])
