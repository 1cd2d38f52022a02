"""Labels found by scores in float32 are those of exact scores."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from scstream.core import Scores
from scstream.engines.labels import Labeller
from scstream.families.scores import JoinedScore, LinearScore, StudentScore

NONE, NO_LABELS = np.zeros(0), np.zeros(0, np.int64)
native = pytest.importorskip(
    "scstream.core.native._compiled", reason="the native core was not built"
)


def rows_and_components(rng, n, d, k, *, far=0.0, spread=1.0):
    """Return statistics (n, p) of Gaussian rows, and forms (k, p) that are least at centres."""
    centre = 3.0 * rng.standard_normal((k, d)) + far
    X = centre[rng.integers(0, k, n)] + rng.standard_normal((n, d))
    up = np.triu_indices(d)
    T = np.column_stack([np.ones(n), X, X[:, up[0]] * X[:, up[1]]])
    forms = np.empty((k, T.shape[1]))
    for c in range(k):
        A = rng.standard_normal((d, d))
        P = (A @ A.T / d + 0.3 * np.eye(d)) / spread
        twice = np.where(up[0] == up[1], 1.0, 2.0)
        forms[c] = np.concatenate(
            [[centre[c] @ P @ centre[c]], -2.0 * P @ centre[c], twice * P[up]]
        )
    return T, forms


class Plain:
    """A score without a form."""

    def __init__(self, score):
        self.block, self.pairs = score.block, score.pairs


def compared(T, by, u, score):
    """Return labels, second choices and entropies, and the same by exact scores."""
    found, plain = (
        (np.empty(len(T), np.int64), np.empty(len(T), np.int64), np.empty(len(T))) for _ in "ab"
    )
    native.label_rows(T, by, u, *found)
    with np.errstate(all="ignore"):
        native.label_scores(score.block(T), u, *plain)
    return found, plain


def drawn(T, eta, u):
    """Return both of drawn labels."""
    return compared(T, Scores(eta, NONE, NONE), u, LinearScore(eta))


def best(T, quad, const, power):
    """Return both of the best labels."""
    by = Scores(quad, const, power)
    found, plain = compared(T, by, NONE, StudentScore(quad, const, power))
    alone = np.empty(len(T), np.int64)
    native.label_rows(T, by, NONE, alone, NO_LABELS, NONE)
    assert_array_equal(alone, found[0])
    return found, plain


def assert_same(found, plain):
    for a, b in zip(found[:2], plain[:2], strict=True):
        assert_array_equal(a, b)
    assert_allclose(found[2], plain[2], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 20, 83])
@pytest.mark.parametrize(("n", "d"), [(1, 2), (63, 1), (700, 3), (1000, 10)])
def test_draws_are_those_of_exact_scores(n, d, k):
    # broken on purpose (rounding taken for a hundredth of what it is), it fails
    rng = np.random.default_rng(n + k)
    T, forms = rows_and_components(rng, n, d, k)
    eta = -0.5 * forms
    eta[:, 0] += rng.standard_normal(k)
    assert_same(*drawn(T, eta, rng.random(n)))


@pytest.mark.parametrize("k", [1, 2, 3, 5, 20, 83])
@pytest.mark.parametrize(("n", "d", "dof"), [(1, 2, 3.0), (700, 3, 30.0), (1000, 5, 1e4)])
def test_best_labels_are_those_of_exact_scores(n, d, k, dof):
    rng = np.random.default_rng(n + k)
    T, forms = rows_and_components(rng, n, d, k)
    quad = forms / dof
    quad[:, 0] += 1.0
    assert_same(*best(T, quad, rng.standard_normal(k), np.full(k, 0.5 * dof)))


@pytest.mark.parametrize("far", [1e2, 1e3])
def test_rows_far_from_the_frame_are_scored_in_float64(far):
    rng = np.random.default_rng(0)
    T, forms = rows_and_components(rng, 500, 3, 20, far=far)
    single = (-0.5 * forms).astype(np.float32) @ T.T.astype(np.float32)
    assert np.abs(single - (-0.5 * forms) @ T.T).max() > 1e-3  # float32 would not do
    assert_same(*drawn(T, -0.5 * forms, rng.random(500)))
    quad = forms / 50.0
    quad[:, 0] += 1.0
    assert_same(*best(T, quad, np.zeros(20), np.full(20, 25.0)))


def test_ties_go_to_the_first():
    rng = np.random.default_rng(2)
    T, forms = rows_and_components(rng, 300, 3, 6)
    quad = np.repeat(forms, 2, axis=0) / 20.0
    quad[:, 0] += 1.0
    const, power = np.zeros(12), np.full(12, 10.0)
    found, plain = best(T, quad, const, power)
    assert_same(found, plain)
    assert (found[0] % 2 == 0).all()
    assert_array_equal(found[1], found[0] + 1)
    eta = np.repeat(-0.5 * forms, 2, axis=0)
    (z, second, _), plain = drawn(T, eta, rng.random(300))
    assert_array_equal(z, plain[0])
    assert_array_equal(second, plain[1])


@pytest.mark.parametrize("by", [1e-7, 1e-5, 1e-3])
def test_scores_closer_than_float32_can_tell(by):
    rng = np.random.default_rng(9)
    T, forms = rows_and_components(rng, 1000, 3, 6)
    quad = np.repeat(forms, 2, axis=0) / 20.0
    quad[:, 0] += 1.0
    near = by * rng.standard_normal(12)
    found, plain = best(T, quad, near, np.full(12, 10.0))
    assert_same(found, plain)
    assert 0.2 < (found[0] % 2).mean() < 0.8
    eta = np.repeat(-0.5 * forms, 2, axis=0)
    eta[:, 0] += near
    assert_same(*drawn(T, eta, rng.random(1000)))


@pytest.mark.parametrize("by", [1e-9, 2e-5])
@pytest.mark.parametrize("d", [0, 2])
def test_uniforms_at_the_boundaries_of_probabilities(d, by):
    rng = np.random.default_rng(3)
    T, eta = (
        np.ones((2000, 1)),
        rng.standard_normal((9, 1)),
    )  # with hardly an error but the weights'
    if d > 0:
        T, forms = rows_and_components(rng, 2000, d, 9, spread=5.0)
        eta = -0.5 * forms
    scores = T @ eta.T
    weight = np.exp(scores - scores.max(axis=1, keepdims=True))
    cumulated = np.cumsum(weight, axis=1) / weight.sum(axis=1, keepdims=True)
    at = rng.integers(0, 8, 2000)
    for side in (-by, by):
        u = np.clip(cumulated[np.arange(2000), at] + side, 0.0, np.nextafter(1.0, 0.0))
        assert_same(*drawn(T, eta, u))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e30, 1e200])
@pytest.mark.parametrize("where", ["row", "component", "all"])
def test_numbers_that_float32_cannot_hold(value, where):
    rng = np.random.default_rng(4)
    T, forms = rows_and_components(rng, 130, 2, 7)
    quad = forms / 20.0
    quad[:, 0] += 1.0
    eta, const, power = -0.5 * forms, np.zeros(7), np.full(7, 10.0)
    if where == "row":
        T[3, 1] = value
    else:
        for table in (eta, quad):
            table[2 if where == "component" else slice(None), 4] = value
    u = rng.random(130)
    pairs = drawn(T, eta, u), best(T, quad, const, power)
    sane = np.ones(130, bool)
    sane[3] = where != "row"
    for found, plain in pairs:
        for a in found[:2]:
            assert ((a >= -1) & (a < 7)).all()
        assert (found[0] >= 0).all()
        if where == "row" or np.isfinite(value):
            assert_same([a[sane] for a in found], [b[sane] for b in plain])


@pytest.mark.parametrize("draws", [False, True])
@pytest.mark.parametrize("k", [1, 6, 20])
def test_an_outlier_component_beside_clusters_is_labelled_as_by_exact_scores(k, draws):
    rng = np.random.default_rng(k)
    T, forms = rows_and_components(rng, 700, 3, k)
    eta = -0.5 * forms
    wide = np.zeros((1, T.shape[1]))
    wide[0, [0, 4, 7, 9]] = 1.0, 0.05, 0.05, 0.05
    score = JoinedScore([LinearScore(eta), StudentScore(wide, np.array([-4.0]), np.array([3.0]))])
    u, made, other = (
        rng.random(700),
        Labeller(score, dense=True),
        Labeller(Plain(score), dense=True),
    )
    assert made.fused
    assert not other.fused
    found, expected = (
        [np.empty(700, np.int64), np.empty(700, np.int64), np.empty(700)] for _ in "ab"
    )
    if draws:
        made.draw(T, u, *found)
        other.draw(T, u, *expected)
    else:
        made.best(T, *found)
        other.best(T, *expected)
    assert_same(found, expected)
    assert (found[0] == k).any()
    assert (found[0] < k).any()
