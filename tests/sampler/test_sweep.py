"""Sweeps: the weights and parameters that they draw, and the labels of the deterministic one."""

from dataclasses import replace

import numpy as np
import pytest
import reference
from numpy.testing import assert_allclose, assert_array_equal
from problems import REFERENCED, dense, problem
from sampling import Stream, random_state
from scipy import stats
from sklearn.metrics import adjusted_rand_score

from scstream.engines import CpuEngine, Sums
from scstream.families import Gaussian, Multinomial
from scstream.families.scores import JoinedScore
from scstream.sampler.clusters import State
from scstream.sampler.context import Context, Outliers
from scstream.sampler.sweep import (
    deterministic_sweep,
    left_out_below,
    left_out_sweep,
    predictive,
    restricted_sweep,
)
from scstream.sampler.window import Forgetting

RARE = 1e-9  # the chance that one statistical comparison refuses a right program
ALPHA = 1.7


class Recorder:
    """An engine without points that keeps what it was asked to sweep with."""

    def __init__(self):
        self.asked = []

    def sweep(self, score, sub, k, key):
        self.asked.append((score, sub, k, key))
        p = 4
        none = np.zeros((k, k))
        return Sums(np.zeros((k, 2, p)), none[:, :2].astype(np.int64), none.astype(np.int64), none)


@pytest.fixture(scope="module")
def drawn():
    """Return three clusters of counts in three categories, and 3,000 draws of a sweep's weights.

    A multinomial's log density is linear without a constant: what is left of it is the weight.
    """
    family = Multinomial([0.5, 1.0, 2.0]).prepare(np.ones((1, 3)))
    state = random_state(3, 4, Forgetting(half_life=2.0)).forget(np.full(3, 0.1))
    # few points, so that alpha matters, and unlike parts
    few = 0.1 * state.now.current * np.array([3.0, 0.3])[:, None]
    state = replace(state, now=replace(state.now, current=few))
    ctx = Context(family, Recorder(), np.random.default_rng(0), ALPHA, 5, 6)
    for _ in range(3000):
        restricted_sweep(ctx, state)
    return family, state, ctx.engine.asked


def test_weights_are_dirichlet_with_alpha_left_for_clusters_unborn(drawn):
    # broken on purpose (1 for alpha): it fails
    _, state, asked = drawn
    weight = np.exp([score.eta[:, 0] for score, *_ in asked])
    assert np.all(weight.sum(axis=1) < 1.0)
    n = state.recent
    for i in range(3):
        beta = stats.beta(n[i], n.sum() - n[i] + ALPHA)
        assert stats.kstest(weight[:, i], beta.cdf).pvalue > RARE
    unborn = stats.beta(ALPHA, n.sum())
    assert stats.kstest(1.0 - weight.sum(axis=1), unborn.cdf).pvalue > RARE


def test_subweights_are_dirichlet_with_half_of_alpha_each(drawn):
    # broken on purpose (alpha for half of it): it fails
    _, state, asked = drawn
    weight = np.exp([sub.eta[:, 0].reshape(3, 2) for _, sub, *_ in asked])
    assert_allclose(weight.sum(axis=2), 1.0, rtol=1e-12)
    n = state.parts[..., 0]
    for i in range(3):
        beta = stats.beta(n[i, 0] + ALPHA / 2, n[i, 1] + ALPHA / 2)
        assert stats.kstest(weight[:, i, 0], beta.cdf).pvalue > RARE


def test_parameters_are_drawn_from_posteriors_of_past_and_present(drawn):
    # broken on purpose (the past alone): it fails
    family, state, asked = drawn
    p = np.exp([score.eta[:, 1:] for score, *_ in asked])
    sub = np.exp([sub.eta[:, 1:] for _, sub, *_ in asked])
    parts = state.parts.reshape(6, 4)
    for draws, sums in ((p, state.totals), (sub, parts)):
        for i in range(len(sums)):
            conc = family.prior[1:] + sums[i, 1:]
            for j in range(3):
                beta = stats.beta(conc[j], conc.sum() - conc[j])
                assert stats.kstest(draws[:, i, j], beta.cdf).pvalue > RARE


def test_clusters_and_their_parts_are_drawn_apart(drawn):
    _, _, asked = drawn
    whole = np.array([score.eta[0, 1] for score, *_ in asked])
    parts = np.array([sub.eta[:2, 1] for _, sub, *_ in asked])
    weight = np.array([score.eta[0, 0] for score, *_ in asked])
    bound = stats.norm.isf(RARE) / np.sqrt(3000)
    for other in (parts[:, 0], parts[:, 1], weight):
        assert abs(stats.spearmanr(whole, other).statistic) < bound


def test_every_sweep_has_a_key_of_its_own(drawn):
    _, _, asked = drawn
    keys = [key for *_, key in asked]
    assert {(key.seed, key.batch) for key in keys} == {(5, 6)}
    assert len({key.sweep for key in keys}) == len(keys)
    assert all(k == 3 for _, _, k, _ in asked)


def test_clusters_without_points_get_weights_and_parameters(drawn):
    family, state, _ = drawn
    nothing = replace(state, now=replace(state.now, current=0 * state.now.current))
    nothing = nothing.forget(np.array([0.0, 0.0, 1.0]))
    for forgotten in (nothing, nothing.forget(np.zeros(3))):
        ctx = Context(family, Recorder(), np.random.default_rng(1), ALPHA, 5, 6)
        restricted_sweep(ctx, forgotten)
        deterministic_sweep(ctx, forgotten)
        (score, sub, _, _), (best, best_sub, _, key) = ctx.engine.asked
        for s in (score, sub):
            assert np.all(np.isfinite(s.eta))
        for s in (best, best_sub):
            assert np.all(np.isfinite(s.log_weight))
        assert key is None


def divided(case, forgetting):
    """Return a state of two clusters, half of whose points are in the past, and its groups."""
    rng = np.random.default_rng(2)
    where = rng.integers(4, size=(2, 30))  # sub-cluster of each point, past and present
    w = rng.random((2, 30))

    def sums(then):
        member = w[then] * (where[then] == np.arange(4)[:, None])
        return (member @ case.T).reshape(2, 2, -1)

    state = State.start(forgetting, np.zeros((2, case.T.shape[1])), 0.0, 0)
    state = replace(state, now=replace(state.now, current=sums(0))).settle(0.0).advance(2.0)
    state = replace(state, now=replace(state.now, current=sums(1)))
    faded = forgetting.decay(2.0)
    groups = []
    for g in range(4):
        X = np.concatenate([case.X[where[0] == g], case.X[where[1] == g]])
        groups.append((X, np.concatenate([faded * w[0][where[0] == g], w[1][where[1] == g]])))
    return state, [groups[:2], groups[2:]]


@pytest.mark.parametrize("name", REFERENCED)
@pytest.mark.parametrize("half_life", [1.5, None])
def test_deterministic_sweep_is_that_of_the_reference(name, half_life):
    case = problem(name)
    state, groups = divided(case, Forgetting(half_life=half_life))
    engine = CpuEngine()
    engine.load(case.family, case.points, np.ones(30))
    ctx = Context(case.family, engine, np.random.default_rng(3), ALPHA, 0, 0)
    before = ctx.rng.bit_generator.state
    new = deterministic_sweep(ctx, state)
    expected = reference.label(*reference.deterministic_scores(case.prior, groups, case.X, ALPHA))
    assert_array_equal(engine.labels, expected.z)
    assert_array_equal(engine.sublabels, expected.sub)
    sums = reference.statistics(case.T, np.ones(30), expected.z, expected.share, 2)
    assert_allclose(new.now.current, sums, rtol=1e-10, atol=1e-10)
    assert_allclose(new.past, state.past)
    assert ctx.rng.bit_generator.state == before  # nothing random about it


@pytest.mark.parametrize("name", REFERENCED)
def test_predictive_weighs_clusters_by_their_counts(name):
    case = problem(name)
    totals = np.array([2.0, 0.5])[:, None] * case.sums()
    got = predictive(case.family, totals, totals[:, 0], ALPHA).block(
        case.family.statistics(case.points)
    )
    weight = totals[:, 0] / (totals[:, 0].sum() + ALPHA)
    density = case.family.log_predictive(case.points, totals)
    base = case.family.log_base(case.points)
    assert_allclose(got + base[:, None], np.log(weight) + density, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("sweep", [restricted_sweep, deterministic_sweep])
@pytest.mark.parametrize("name", ["gaussian", "multinomial"])
def test_a_sweep_gives_the_sums_of_its_labels(sweep, name):
    for outliers in (False, True):
        stream = Stream(name, outliers=outliers)
        whole = stream.everything()
        stream.state = sweep(stream.ctx, stream.state)
        stream.check(shared=sweep is deterministic_sweep)
        assert_allclose(stream.everything(), whole)


def test_sweeps_from_the_truth_stay_there():
    rng, centres = np.random.default_rng(5), np.array([[0.0, 0.0], [20.0, 0.0], [0.0, 20.0]])
    truth = np.arange(90) % 3
    X = centres[truth] + rng.normal(size=(90, 2))
    family = problem("gaussian-2d").family
    T = dense(family.statistics(X))
    state = State.start(
        Forgetting(), np.stack([T[truth == c].sum(axis=0) for c in range(3)]), 0.0, 0
    )
    engine = CpuEngine()
    engine.load(family, X, np.ones(90))
    ctx = Context(family, engine, rng, 1.0, 0, 0)
    for sweep in (restricted_sweep, restricted_sweep, deterministic_sweep):
        state = sweep(ctx, state)
        assert adjusted_rand_score(truth, engine.labels) == 1.0


# -- outliers ------------------------------------------------------------------------------------


def test_the_outlier_component_stands_behind_the_clusters_as_odds():
    case = problem("gaussian-2d")
    sums = case.sums().sum(axis=0)[None]
    inner = predictive(case.family, case.sums(), case.sums()[:, 0], ALPHA)
    score = Outliers(0.2, sums).beside(inner, case.family)
    assert isinstance(score, JoinedScore)
    block = score.block(case.T)
    assert_allclose(block[:, :2], inner.block(case.T))
    density = case.family.predictive_score(sums, np.zeros(1)).block(case.T)
    assert_allclose(block[:, 2:], np.log(0.2 / 0.8) + density, rtol=1e-12)


def test_points_far_from_all_clusters_are_outliers():
    rng = np.random.default_rng(6)
    X = np.concatenate([rng.normal(size=(100, 2)), 40.0 * rng.normal(size=(6, 2)) + 200.0])
    case = problem("gaussian-2d")
    family = type(case.family)(cov=1.0, mean_strength=0.01, cov_strength=5.0).prepare(X)
    T = family.statistics(X)
    ctx = Context(family, CpuEngine(), rng, 1.0, 0, 0, Outliers(0.05, T.sum(axis=0)[None]))
    ctx.engine.load(family, X, np.ones(106))
    state = State.start(Forgetting(), T[:100].sum(axis=0)[None], 0.0, 0)
    new = deterministic_sweep(ctx, state)
    assert_array_equal(ctx.engine.labels[100:], -1)
    assert (ctx.engine.labels[:100] == 0).mean() > 0.95
    assert new.now.rows.sum() == (ctx.engine.labels == 0).sum()


def test_a_row_in_the_wrong_cluster_does_not_keep_itself_there():
    # 20 rows a cluster and 20 columns: what a row adds to a cluster decides where it belongs
    rng, y = np.random.default_rng(3), np.repeat([0, 1], 20)
    X = rng.normal(size=(40, 20)) + y[:, None]
    family = Gaussian().prepare(X)
    T, engine = family.statistics(X), CpuEngine()
    stayed = {deterministic_sweep: 0, left_out_sweep: 0}
    for i, sweep in [(i, sweep) for i in range(40) for sweep in stayed]:
        wrong = y.copy()
        wrong[i] = 1 - y[i]
        engine.load(family, X, np.ones(40))
        sums = np.array([T[wrong == c].sum(axis=0) for c in (0, 1)])
        steps = Context(family, engine, np.random.default_rng(0), 1.0, 0, 0)
        state = State.start(Forgetting(), sums, 0.0, 0)
        engine.start(wrong)
        sweep(steps, state)
        stayed[sweep] += int(engine.labels[i] != y[i])
    assert stayed[deterministic_sweep] > 30
    assert stayed[left_out_sweep] < 5
    assert 40.0 < left_out_below(steps, 2) < 1000.0
