"""Passes over large Gaussian batches say what passes over blocks of statistics say."""

import numpy as np
import pytest
from agreement import assert_same_division, assert_same_sweep
from numpy.testing import assert_array_equal

from scstream import Gaussian
from scstream.engines import CpuEngine, Key
from scstream.engines.base import finished_sweep
from scstream.engines.large import _components, _gains_of, gains_of
from scstream.engines.ordered_sums import Tree
from scstream.families.scores import JoinedScore, LinearScore, form_of

K = 9
KINDS = ["apart", "far apart", "on one another", "far from the frame"]
# rows a million deviations away have scores whose differences are all but rounding
ROUNDED = dict.fromkeys(KINDS, 1e-9) | {"far from the frame": 1e-4}


class InBlocks(Gaussian):
    """Its batches are passed over in blocks of statistics."""

    def quadratic_frame(self):
        return None


def places(kind, d, rng):
    if kind == "far apart":
        return 30.0 * rng.normal(size=(K, d))
    if kind == "on one another":
        return 0.3 * rng.normal(size=(K, d))
    return 3.0 * rng.normal(size=(K, d))


def problem(kind, d, n=9000):
    """Return families, rows, their weights, and statistics of clusters and of sub-clusters."""
    rng = np.random.default_rng([d, len(kind)])
    y = rng.integers(K, size=n)
    X = places(kind, d, rng)[y] + rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    if kind == "far from the frame":
        X[:40] += 1e6 * rng.normal(size=(40, d))
    families = [kind_of().prepare(X[50:2000]) for kind_of in (Gaussian, InBlocks)]
    T = families[0].statistics(X)
    side = rng.random(n) < 0.5
    parts = np.stack(
        [T[(y == c) & (side == b)].sum(axis=0) for c in range(K) for b in (True, False)]
    )
    return families, X, rng.uniform(0.5, 1.5, n), parts.reshape(K, 2, -1).sum(axis=1), parts


def scores(family, clusters, parts, *, drawn, background):
    rng = np.random.default_rng(3)
    log_weight = np.log(clusters[:, 0] / clusters[:, 0].sum())
    if drawn:
        score = LinearScore(family.sampled_score(rng, clusters, log_weight).form.eta)
        sub = LinearScore(family.sampled_score(rng, parts, np.zeros(2 * K)).form.eta)
    else:
        score = family.predictive_score(clusters, log_weight)
        sub = family.predictive_score(parts, np.zeros(2 * K))
    if background:
        flat = np.zeros((1, clusters.shape[1]))
        flat[0, 0] = -12.0
        score = JoinedScore([score, LinearScore(flat)])
    return score, sub


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("drawn", [True, False])
@pytest.mark.parametrize("d", [1, 2, 5, 11])
@pytest.mark.parametrize("kind", KINDS)
def test_the_passes_agree(kind, d, drawn, background):
    families, X, weight, clusters, parts = problem(kind, d)
    score, sub = scores(families[0], clusters, parts, drawn=drawn, background=background)
    key = Key(1, 2, 3) if drawn else None
    engines = [CpuEngine(2), CpuEngine(1)]
    for engine, family in zip(engines, families, strict=True):
        engine.load(family, X, weight)
    for _ in range(2):  # the second pass takes rows in the order of their labels
        one, other = assert_same_sweep(engines, score, sub, K, key, ROUNDED[kind])
        assert_array_equal(one.rivals, other.rivals)
    assert_same_division(engines, sub, np.arange(K) % 3 > 0)
    labels = [e.assign(f, X, score) for e, f in zip(engines, families, strict=True)]
    assert_array_equal(*labels)


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("d", [1, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_scores_of_many_points_need_no_logarithm(kind, d, background):
    families, X, weight, clusters, parts = problem(kind, d)
    score, sub = scores(families[0], 50.0 * clusters, parts, drawn=False, background=background)
    form = form_of(score)
    with np.errstate(all="ignore"):
        by = _components(form.eta, form.const, form.power, d, straight=True)
    assert by.floor > -np.inf
    engines = [CpuEngine(2), CpuEngine(1)]
    for engine, family in zip(engines, families, strict=True):
        engine.load(family, X, weight)
    for _ in range(2):
        one, other = assert_same_sweep(engines, score, sub, K, None, ROUNDED[kind])
        assert_array_equal(one.rivals, other.rivals)
    labels = [e.assign(f, X, score) for e, f in zip(engines, families, strict=True)]
    assert_array_equal(*labels)


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("d", [1, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_most_labels_are_known_from_the_sweep_before(kind, d, background):
    families, X, weight, clusters, parts = problem(kind, d)
    engines = [CpuEngine(2), CpuEngine(1)]
    for engine, family in zip(engines, families, strict=True):
        engine.load(family, X, weight)
    _gains_of.cache_clear()
    gains = gains_of(K, d, seconds=True)
    for drawn in (True, False, False):
        gains.near.share, gains.near.passes = 1.0, 0  # all components are scored
        score, sub = scores(families[0], clusters, parts, drawn=drawn, background=background)
        key = Key(1, 2, 3) if drawn else None
        one, other = assert_same_sweep(engines, score, sub, K, key, ROUNDED[kind])
        assert_array_equal(one.rivals, other.rivals)
    _gains_of.cache_clear()
    assert kind != "apart" or 0.0 < gains.carried.share < 0.7  # those that were not known


def test_labels_do_not_depend_on_what_was_known_before():
    families, X, weight, clusters, parts = problem("apart", 2)
    engines = [CpuEngine(2), CpuEngine(1)]
    for engine, family in zip(engines, families, strict=True):
        engine.load(family, X, weight)
    gains_of(K, 2, seconds=True).near.share = 1.0
    for order in (np.arange(K), np.roll(np.arange(K), 1)):  # other clusters under the same numbers
        score, sub = scores(families[0], clusters[order], parts, drawn=True, background=False)
        assert_same_sweep(engines, score, sub, K, Key(1, 2, 3), 1e-9)
        moved = np.concatenate([order[3:], order[:3]])
        score, sub = scores(families[0], clusters[moved], parts, drawn=False, background=False)
        assert_same_sweep(engines, score, sub, K, None, 1e-9)
    _gains_of.cache_clear()


def test_lines_are_near_scores_of_many_points():
    (family, _), X, _, clusters, parts = problem("apart", 2)
    score, _ = scores(family, 50.0 * clusters, parts, drawn=False, background=False)
    form, T = score.form, family.statistics(X + 20.0 * (np.arange(len(X)) % 7 == 0)[:, None])
    by = _components(form.eta, form.const, form.power, 2, straight=True)
    assert 0.0 < by.bend < 0.1
    exact = (form.const - form.power * np.log(T @ form.eta.T)) / np.log(2.0)
    lines = T @ by.turned
    near = exact > by.floor
    assert 0.1 < near.mean() < 0.9
    assert np.abs(lines - exact)[near].max() <= by.bend + 1e-9
    assert (lines - exact)[~near].max() <= by.bend + 1e-9
    few = _components(form.eta, form.const, form.power / 100.0, 2, straight=True)
    assert few.bend == 0.0
    assert few.floor == -np.inf


@pytest.mark.parametrize("drawn", [True, False])
def test_any_number_of_threads_gives_the_same_bits(drawn):
    (family, _), X, weight, clusters, parts = problem("apart", 3, 70_001)
    score, sub = scores(family, clusters, parts, drawn=drawn, background=False)
    chosen, sums = np.ones(K, dtype=bool), []
    for threads in (1, 2, 3, 7):
        engine = CpuEngine(threads)
        engine.load(family, X, weight)
        swept = engine.sweep(score, sub, K, Key(1, 2, 3) if drawn else None)
        sums.append([swept.current, swept.doubt, *engine.resplit(sub, chosen), engine.labels])
    for others in sums[1:]:
        for one, other in zip(sums[0], others, strict=True):
            assert one.tobytes() == other.tobytes()


@pytest.fixture(autouse=True)
def _nothing_learned():
    _gains_of.cache_clear()


def test_components_far_away_are_not_scored():
    (family, _), X, weight, clusters, parts = problem("far apart", 2)
    score, sub = scores(family, clusters, parts, drawn=False, background=False)
    engine = CpuEngine(1)
    engine.load(family, X, weight)
    engine.sweep(score, sub, K, None)
    engine.sweep(score, sub, K, None)
    assert gains_of(K, 2, seconds=True).near.share < 0.5


def test_where_clusters_overlap_ruling_out_is_given_up_and_tried_again():
    (family, _), X, weight, clusters, parts = problem("on one another", 2)
    score, sub = scores(family, clusters, parts, drawn=False, background=False)
    engine = CpuEngine(1)
    engine.load(family, X, weight)
    engine.sweep(score, sub, K, None)
    gain = gains_of(K, 2, seconds=True).near
    assert gain.share > 0.9
    tried = [gain.pays() for _ in range(60)]
    assert tried.count(False) > 40
    assert True in tried


def test_an_unaligned_shard_adds_up_along_the_same_tree():
    (family, _), X, weight, clusters, parts = problem("apart", 2, 4096 * 7 + 100)
    score, sub = scores(family, clusters, parts, drawn=True, background=False)
    whole = CpuEngine(1)
    whole.load(family, X, weight)
    expected = whole.sweep(score, sub, K, Key(1, 2, 3))
    shards, cut = [CpuEngine(1), CpuEngine(1)], 3 * 4096
    found = []
    for shard, rows in zip(shards, (slice(0, cut), slice(cut, None)), strict=True):
        shard.load(family, X[rows], weight[rows], rows.start)
        found += shard.sweep_parts(score, sub, K, Key(1, 2, 3))
    assert finished_sweep(Tree(found).total()).current.tobytes() == expected.current.tobytes()
    labels = np.concatenate([shard.labels for shard in shards])
    assert_array_equal(labels, whole.labels)
