"""Forgetting: the window against sums over all batches with their weights written out."""

import numpy as np
import pytest
import reference
from numpy.testing import assert_allclose, assert_array_equal
from problems import problem

from scstream import Diagonal, Gaussian, Spherical
from scstream.engines import CpuEngine
from scstream.sampler.context import Context
from scstream.sampler.forgetting import completed_by_present, forget, near, shares_worth_keeping
from scstream.sampler.initialise import start_from_labels
from scstream.sampler.sweep import restricted_sweep
from scstream.sampler.window import Forgetting, Window


def test_with_a_kernel_clusters_forget_by_age_alone():
    assert Forgetting(half_life=3.0).adaptive
    assert not Forgetting(half_life=3.0, kernel=lambda age: 1.0).adaptive
    assert not Forgetting(half_life=None).adaptive


K, P = 3, 4
TIMES = np.cumsum([0.0, 1.0, 0.25, 3.0, 0.5, 0.5, 7.0, 1.0, 1.0, 2.0, 0.1, 0.4])


def batches(times=TIMES, seed=0):
    """Return (time, sums, entropies) of batches of three clusters."""
    rng = np.random.default_rng(seed)
    return [(t, rng.random((K, 2, P)), rng.random((K, K))) for t in times]


def passed(forgetting, given):
    """Yield the window at the time of each batch but the first, before that batch is in it."""
    window = Window.empty(forgetting, K, P)
    for i, (time, sums, entropy) in enumerate(given):
        window = window.advance(time)
        if i:
            yield i, window
        window = with_batch(window, sums, entropy, time)


def with_batch(window, sums, entropy, time):
    """Return the window with a batch in it, as `State.settle` adds it."""
    if window.is_one_sum:
        return window.with_past(window.sums[0] + sums, window.entropy[0] + entropy)
    return window.with_record(sums, entropy, time)


@pytest.mark.parametrize("half_life", [0.3, 5.0, None])
def test_half_life_window_is_a_weighted_sum_without_history(half_life):
    def weight(age):
        return 1.0 if half_life is None else 2.0 ** (-age / half_life)

    given = batches()
    for i, window in passed(Forgetting(half_life=half_life), given):
        past, entropy = window.past()
        now = given[i][0]
        expected = reference.window_sum(weight, now, [(t, s) for t, s, _ in given[:i]])
        assert_allclose(past, expected, rtol=1e-12)
        expected = reference.window_sum(weight, now, [(t, d) for t, _, d in given[:i]])
        assert_allclose(entropy, expected, rtol=1e-12)
        assert len(window.sums) == 1


KERNELS = {
    "power": lambda age: 1.0 / (1.0 + age),
    "box": lambda age: float(age <= 4.0),
    "bell": lambda age: np.exp(-0.5 * (age / 3.0) ** 2),
    "ramp": lambda age: max(0.0, 1.0 - age / 6.0),
}


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("epsilon", [1e-8, 0.05])
def test_kernel_window_is_a_weighted_sum_of_what_is_not_negligible(name, epsilon):
    kernel, given = KERNELS[name], batches()

    def weight(age):
        return kernel(age) if kernel(age) > epsilon else 0.0

    for i, window in passed(Forgetting(kernel=kernel, epsilon=epsilon), given):
        now = given[i][0]
        past, entropy = window.past()
        expected = reference.window_sum(weight, now, [(t, s) for t, s, _ in given[:i]])
        assert_allclose(past, expected, rtol=1e-12, atol=1e-15)
        expected = reference.window_sum(weight, now, [(t, d) for t, _, d in given[:i]])
        assert_allclose(entropy, expected, rtol=1e-12, atol=1e-15)
        assert len(window.sums) == sum(weight(now - t) > 0 for t, _, _ in given[:i])


def test_an_exponential_kernel_is_a_half_life():
    given = batches()
    kernel = Forgetting(kernel=lambda age: 2.0 ** (-age / 2.5), epsilon=0.0)
    for (_, one), (_, other) in zip(
        passed(kernel, given), passed(Forgetting(half_life=2.5), given), strict=True
    ):
        assert_allclose(one.past()[0], other.past()[0], rtol=1e-12)


@pytest.mark.parametrize("bad", [-0.1, np.nan, np.inf])
def test_a_kernel_must_give_weights(bad):
    window = Window.empty(Forgetting(kernel=lambda age: bad), K, P)
    time, sums, entropy = batches()[0]
    with pytest.raises(ValueError, match=r"kernel must give a finite weight of at least 0"):
        window.with_record(sums, entropy, time).advance(1.0)


def test_a_batch_too_old_is_gone_for_good():
    time, sums, entropy = batches()[0]
    window = Window.empty(Forgetting(kernel=KERNELS["box"]), K, P).with_record(sums, entropy, time)
    assert window.advance(4.0).past()[0].any()
    assert len(window.advance(4.1).sums) == 0


# -- bounded records -----------------------------------------------------------------------------


def counted(kernel, max_records, n=300):
    """Return counts of a stream of equal batches by the window, and as they should be."""
    sums, entropy = np.ones((1, 2, 1)), np.ones((1, 1))
    window = Window.empty(Forgetting(kernel=kernel, max_records=max_records), 1, 1)
    got, expected = [], []
    for time in range(n):
        window = window.advance(float(time))
        if time >= n // 2:
            got.append(window.past()[0].sum())
            expected.append(2.0 * sum(kernel(float(time - t)) for t in range(time)))
        window = with_batch(window, sums, entropy, float(time))
        assert len(window.sums) <= max_records
    return np.array(got), np.array(expected)


# -- forgetting more than time alone would ---------------------------------------------------------


def test_scaling_keeps_a_share_of_each_cluster():
    share = np.array([1.0, 0.5, 0.125])
    for forgetting in (Forgetting(), Forgetting(kernel=KERNELS["power"])):
        *_, (_, window) = passed(forgetting, batches())
        (past, entropy), (less, less_entropy) = window.past(), window.scaled(share).past()
        assert_allclose(less, share[:, None, None] * past, rtol=1e-12)
        for i in range(K):
            for j in range(K):  # a entropy is shared by two, and goes with the one that goes first
                assert less_entropy[i, j] == pytest.approx(min(share[i], share[j]) * entropy[i, j])


def test_a_cluster_that_moved_keeps_less_of_its_past():
    case = problem("gaussian-2d")
    rng = np.random.default_rng(1)
    T = case.family.statistics
    still, moved = rng.normal(size=(200, 2)), rng.normal(size=(200, 2)) + 4.0
    past = np.stack([T(still).sum(axis=0)] * 3)
    current = np.stack(
        [T(rng.normal(size=(100, 2))).sum(axis=0), T(moved).sum(axis=0), 0 * past[0]]
    )
    share = shares_worth_keeping(case.context(1.0), past, current)
    assert share[0] == 1.0
    assert share[1] < 0.2
    assert share[2] == 1.0  # nothing is known of its present
    assert np.all((share > 0) & (share <= 1))


def kept_after(step, sizes, d=2):
    """Return what two clusters of so many points had, and the shares kept: each column steps so."""
    n, rng = sum(sizes), np.random.default_rng(1)
    family = Gaussian().prepare(rng.normal(size=(500, d)))
    labels = np.repeat([0, 1], sizes)
    X = rng.normal(size=(n, d)) + 100.0 * labels[:, None]
    engine = CpuEngine()
    engine.load(family, X, np.ones(n))
    steps = Context(family, engine, rng, 1.0, 0, 0)
    state = start_from_labels(steps, Forgetting(), labels, adapt=False).settle(0.0).advance(1.0)
    engine.load(family, X + step, np.ones(n))
    steps = Context(family, engine, rng, 1.0, 0, 0)
    state = restricted_sweep(steps, state)
    had = state.past[..., 0].sum(axis=1)
    return had, forget(steps, state).past[..., 0].sum(axis=1) / had


def test_who_comes_far_away_is_somebody_else_and_nothing_is_forgotten():
    """So the place is still known when its cluster comes back there."""
    for sizes in [2000, 200], [200, 2000]:
        assert kept_after(11.0, sizes)[1][0] == 1.0
    assert kept_after(13.0 / 8**0.5, [200, 200], 8)[1][0] == 1.0


@pytest.mark.parametrize("d", [1, 2, 8, 32])
@pytest.mark.parametrize("family", [Gaussian, Diagonal, Spherical])
def test_how_far_clusters_may_move_does_not_depend_on_the_number_of_columns(family, d):
    """If the same points counted in any number of columns, 14 deviations would be near in 32."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, d))
    family = family().prepare(X)
    past = family.statistics(X).sum(axis=0)[None]
    family = family.adapt(past).settled(1)
    ctx = Context(family, CpuEngine(), rng, 1.0, 0, 0)
    for length, expected in ((6.0, True), (10.2, False)):
        current = family.statistics(X + length / d**0.5).sum(axis=0)[None]
        assert near(ctx, past, current)[0] == expected


@pytest.mark.parametrize("missing", [0.3, 0.6])
def test_entries_nobody_observed_do_not_speak_for_the_past(missing):
    """Filled by the past, as the sweep leaves them, they are where the cluster was before."""
    rng = np.random.default_rng(0)
    before, X = rng.normal(size=(4000, 2)), rng.normal(size=(4000, 2)) + 1.0
    gappy = np.where(rng.random(X.shape) < missing, np.nan, X)
    family = Gaussian().prepare(before)
    family = family.adapt(family.statistics(before).sum(axis=0)[None])
    engine = CpuEngine()
    engine.load(family, before, np.ones(4000))
    steps = Context(family, engine, rng, 1.0, 0, 0)
    state = start_from_labels(steps, Forgetting(), np.zeros(4000, dtype=np.int64), adapt=False)
    state = state.settle(0.0).advance(1.0)
    engine.load(family, gappy, np.ones(4000))
    state = restricted_sweep(steps, state)
    swept, current = state.current[0], completed_by_present(steps, state)[0]
    observed = np.nanmean((gappy - family.frame[0]) / family.frame[1], axis=0)
    assert np.all(observed - swept[1:3] / swept[0] > 0.15)
    assert_allclose(current[1:3] / current[0], observed, atol=0.1)
    # a row counts by what is observed of it: less than one, but for complete ones
    whole = (~np.isnan(gappy)).all(axis=1).sum()
    some = (~np.isnan(gappy)).any(axis=1).sum() - whole
    assert_allclose(current[0], whole + 0.5 * some, rtol=1e-9)
    assert_array_equal(state.current[0], swept)  # what the moves go on with
