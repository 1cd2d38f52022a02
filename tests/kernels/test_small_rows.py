"""The compiled passes over few rows, step by step, against the same in plain NumPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from scstream import Gaussian, Rules, ScStream
from scstream.engines import CpuEngine, Key
from scstream.families.scores import LinearScore, StudentScore
from scstream.kernels import elementary, label_proposals, small_rows, small_scratch
from scstream.kernels.arguments import Rows, Scores, Sums, Workspace
from scstream.kernels.compiling import bare, kernel
from scstream.kernels.elementary import POSSIBLE


@kernel
def exponentials(x):
    elementary.exponentials(x, len(x))


@kernel
def logarithms(x):
    elementary.logs(x, len(x))


@bare
def swept(rows, scores, u, drawn, d, room, sums):
    small_rows.sweep_rows(
        Rows(*rows), Scores(*scores), u, (drawn, drawn), d, Workspace(*room), Sums(*sums)
    )


def test_exponentials_are_exact_to_rounding():
    x = np.concatenate([np.linspace(POSSIBLE, 1.0, 1001)[1:], [0.0, -1e-300, -1e-9]])
    out = x.copy()
    exponentials(out)
    assert_allclose(out, np.exp(x), rtol=1e-15)


def test_what_is_too_small_to_matter_is_0():
    x = np.array([POSSIBLE, POSSIBLE - 1.0, -1e9, -np.inf, np.nan])
    exponentials(x)
    assert_array_equal(x, np.zeros(5))


def test_logarithms_are_exact_to_rounding():
    x = np.concatenate([1.0 + np.logspace(-15, 0, 300), np.logspace(0, 300, 700), [1.0]])
    out = x.copy()
    logarithms(out)
    assert_allclose(out, np.log(x), rtol=4e-16)


def problem(d, k, n, seed=0, *, student=False, weights=False):
    """Return statistics, weights, and parameters of clusters and sub-clusters that overlap."""
    rng = np.random.default_rng(seed)
    family = Gaussian().prepare(rng.normal(size=(200, d)))
    X = rng.normal(size=(n, d)) * rng.choice([0.3, 1.0, 4.0], size=(n, 1))
    T = family.statistics(X)
    eta = np.zeros((3 * k, T.shape[1]))
    for r in range(3 * k):
        eta[r] = family.statistics(rng.normal(size=(20, d)) + rng.normal(size=d)).sum(axis=0)
    score = family.predictive_score(eta, rng.normal(size=3 * k))
    if student:
        eta, const, power = score.quad, score.const, score.power
    else:
        eta, const, power = -0.5 * score.quad, np.zeros(3 * k), np.zeros(3 * k)
    w = rng.choice([0.5, 1.0, 2.0], size=n) if weights else np.ones(n)
    return family, X, T, w, eta, const, power


def at_once(T, w, eta, const, power, key):
    n, k, d = len(T), len(eta) // 3, int(np.sqrt(2 * T.shape[1])) - 1
    drawn = key is not None
    u = np.empty((2, n))
    if drawn:
        from scstream.kernels.labelling import uniforms

        uniforms(key.seed, key.batch, key.sweep, 0, u)
    z, sub = np.zeros((2, n), dtype=np.int64)
    current, rows = np.zeros((k, 2, T.shape[1])), np.zeros((k, 2), dtype=np.int64)
    rivals, doubt = np.zeros((k, k), dtype=np.int64), np.zeros((k, k))
    floats, ints, singles = small_scratch.room_needed(n, k, T.shape[1])
    room = np.full(floats, np.nan), np.full(ints, -1), np.full(singles, np.nan, np.float32)
    sums = current, rows, rivals, doubt
    swept((T, w, z, sub), (eta, const, power), u, drawn, d, room, sums)
    return z, sub, current, rows, rivals, doubt


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("key", [None, Key(5, 1, 2)])
@pytest.mark.parametrize(
    ("d", "k", "n"), [(1, 1, 5), (1, 3, 200), (2, 20, 700), (3, 7, 129), (15, 70, 300)]
)
def test_a_sweep_is_that_of_the_engine(d, k, n, key, weights):
    family, X, T, w, eta, const, power = problem(d, k, n, student=key is None, weights=weights)
    assert_like_the_engine(T, w, eta, const, power, family, X, key)


def assert_like_the_engine(T, w, eta, const, power, family, X, key):
    """All that a sweep finds is what the engine finds; returns the labels."""
    k = len(eta) // 3
    z, sub, current, rows, rivals, doubt = at_once(T, w, eta, const, power, key)
    engine = CpuEngine()
    engine.load(family, X, w)
    if key is None:
        scores = [StudentScore(eta[r], const[r], power[r]) for r in (slice(k), slice(k, None))]
    else:
        scores = [LinearScore(eta[r]) for r in (slice(k), slice(k, None))]
    expected = engine.sweep(*scores, k, key)
    assert_array_equal(z, engine.labels)
    assert_array_equal(sub, engine.sublabels)
    assert_array_equal(rows, expected.rows)
    assert_array_equal(rivals, expected.rivals)
    size = max(np.abs(expected.current).max(), 1.0)
    assert_allclose(current, expected.current, rtol=1e-12, atol=1e-12 * size)
    assert_allclose(doubt, expected.doubt, rtol=1e-9, atol=1e-9)
    return z


@pytest.mark.parametrize("key", [None, Key(5, 1, 2)])
def test_scores_that_are_no_numbers_leave_labels_in_range(key):
    _family, _X, T, w, eta, const, power = problem(2, 5, 300, student=key is None)
    eta[:5] = np.nan
    z, _sub, *_ = at_once(T, w, eta, const, power, key)
    assert z.min() >= 0
    assert z.max() < 5


@bare
def best_three(products, k, scores, plain, short, top, place):
    label_proposals.look(
        products, label_proposals.BLOCK, k, Scores(*scores), plain, short, top, place
    )


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("k", [1, 2, 5, 8])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300, -1e300])
def test_whatever_scores_are_the_best_labels_are_labels(value, k, plain):
    """What single precision proposes is in range, and no score that it compares is NaN."""
    width = label_proposals.WIDTH
    odd = np.full(k, np.nan), np.full(k, np.inf), np.full(k, 1e37), np.full(k, -1e38)
    for levels, powers in [(np.zeros(k), np.ones(k)), *((levels, np.ones(k)) for levels in odd),
                           *((np.zeros(k), powers) for powers in odd)]:  # fmt: skip
        products = np.random.default_rng(0).normal(size=(k + 1) * width)
        products[::3] = value
        short = np.full((k + 1) * width, np.nan, dtype=np.float32)
        top = np.full(3 * width, np.nan, dtype=np.float32)
        place = np.full((2, width), -9)
        scores = np.zeros((k, 1)), levels, powers
        best_three(products, k, scores, plain, short, top, place)
        rows = slice(label_proposals.BLOCK)
        assert set(place[0, rows]) <= set(range(k))
        assert set(place[1, rows]) <= set(range(-1, k))
        assert np.isfinite(top.reshape(3, width)[:, rows]).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_predictions_are_those_of_the_long_way(d, dtype):
    rng = np.random.default_rng(d)
    centres = 4.0 * rng.normal(size=(12, d))
    X = (centres[rng.integers(12, size=900)] + rng.normal(size=(900, d))).astype(dtype)
    model = ScStream(random_state=0).partial_fit(X)
    quick = model.predict(X)
    assert_array_equal(quick, model.set_params(rules=Rules(compiled_columns=0)).predict(X))
    assert len(np.unique(quick)) > 1
