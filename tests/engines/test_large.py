"""Passes over large Gaussian batches say what passes over blocks of statistics say."""

import numpy as np
import pytest
from agreement import assert_same_division, assert_same_sweep
from numpy.testing import assert_array_equal

from scstream import Gaussian
from scstream.engines import CpuEngine, Key
from scstream.families.scores import JoinedScore, LinearScore

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
    one, other = assert_same_sweep(engines, score, sub, K, key, ROUNDED[kind])
    assert_array_equal(one.rivals, other.rivals)
    assert_same_division(engines, sub, np.arange(K) % 3 > 0)
    labels = [e.assign(f, X, score) for e, f in zip(engines, families, strict=True)]
    assert_array_equal(*labels)


def test_labels_do_not_depend_on_what_was_known_before():
    families, X, weight, clusters, parts = problem("apart", 2)
    engines = [CpuEngine(2), CpuEngine(1)]
    for engine, family in zip(engines, families, strict=True):
        engine.load(family, X, weight)
    for order in (np.arange(K), np.roll(np.arange(K), 1)):  # other clusters under the same numbers
        score, sub = scores(families[0], clusters[order], parts, drawn=True, background=False)
        assert_same_sweep(engines, score, sub, K, Key(1, 2, 3), 1e-9)
        moved = np.concatenate([order[3:], order[:3]])
        score, sub = scores(families[0], clusters[moved], parts, drawn=False, background=False)
        assert_same_sweep(engines, score, sub, K, None, 1e-9)


@pytest.mark.parametrize("drawn", [True, False])
def test_any_number_of_threads_gives_the_same_bits(drawn):
    (family, _), X, weight, clusters, parts = problem("apart", 3, 70_001)
    score, sub = scores(family, clusters, parts, drawn=drawn, background=False)
    chosen, sums = np.ones(K, dtype=bool), []
    for threads in (1, 2, 3, 7):
        engine = CpuEngine(threads)
        engine.load(family, X, weight)
        swept = engine.sweep(score, sub, K, Key(1, 2, 3) if drawn else None)
        sums.append([swept.current, swept.entropy, *engine.resplit(sub, chosen), engine.labels])
    for others in sums[1:]:
        for one, other in zip(sums[0], others, strict=True):
            assert one.tobytes() == other.tobytes()
