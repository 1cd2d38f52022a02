"""Passes over Gaussian batches of many columns say what passes over blocks of statistics say."""

import numpy as np
import pytest
from agreement import assert_same_division, assert_same_sweep
from numpy.testing import assert_allclose, assert_array_equal

from scstream import Gaussian
from scstream.engines import CpuEngine, Key
from scstream.engines.chunks import Sizes
from scstream.families.scores import LinearScore

K = 7


class InBlocks(Gaussian):
    """Its batches are passed over in blocks of statistics."""

    def quadratic_frame(self):
        return None


def problem(d, apart, n=1500, dtype=np.float64, near=0.0):
    """Return families, rows, their weights, and statistics of clusters and of sub-clusters.

    Every other cluster is near the one before it, if they are to be near.
    """
    rng = np.random.default_rng([d, int(apart), n])
    y = rng.integers(K, size=n)
    means = apart * rng.normal(size=(K, d))
    if near > 0.0:
        means[1::2] = means[: K - 1 : 2] + near * rng.normal(size=(K // 2, d))
    X = means[y] + rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    X = X.astype(dtype)
    families = [kind().prepare(X[:900]) for kind in (Gaussian, InBlocks)]
    T = families[0].statistics(X)
    side = rng.random(n) < 0.5
    parts = np.stack(
        [T[(y == c) & (side == b)].sum(axis=0) for c in range(K) for b in (True, False)]
    )
    return families, X, rng.uniform(0.5, 1.5, n), parts.reshape(K, 2, -1).sum(axis=1), parts


def predictives(family, clusters, parts):
    log_weight = np.log(clusters[:, 0] / clusters[:, 0].sum())
    return family.predictive_score(clusters, log_weight), family.predictive_score(
        parts, np.zeros(2 * K)
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("drawn", [True, False])
@pytest.mark.parametrize("apart", [0.1, 2.0, 30.0])
@pytest.mark.parametrize("d", [20, 40])
def test_the_passes_agree(d, apart, drawn, dtype):
    families, X, weight, clusters, parts = problem(d, apart, dtype=dtype)
    score, sub = predictives(families[0], clusters, parts)
    key, engines = Key(1, 2, 3) if drawn else None, [CpuEngine(2), CpuEngine(1)]
    for engine, family in zip(engines, families, strict=True):
        engine.load(family, X, weight)
    assert_same_sweep(engines, score, sub, K, key)
    flat = np.random.default_rng(5).normal(size=parts.shape)
    by_columns = np.where(np.arange(parts.shape[1]) <= d, flat, 0.0)  # products do not matter
    for by in (sub, LinearScore(flat), LinearScore(by_columns), LinearScore(0.0 * flat)):
        assert_same_division(engines, by, np.arange(K) % 3 > 0)


@pytest.mark.parametrize("count", [1e-3, 1.0, 1e5])
@pytest.mark.parametrize("apart", [1e3, 1e6])
def test_clusters_that_overlap_are_told_apart_far_from_others(apart, count):
    """Of many points each weighs little; then bounds in single precision are coarse beside that."""
    families, X, weight, clusters, parts = problem(40, apart, near=0.3)
    score, sub = predictives(families[0], count * clusters, count * parts)
    engines = CpuEngine(2), CpuEngine(1)
    for engine, family in zip(engines, families, strict=True):
        engine.load(family, X, weight)
    assert_same_sweep(engines, score, sub, K, Key(1, 2, 3))


@pytest.mark.parametrize("chunk", [64, 4096])
@pytest.mark.parametrize("drawn", [True, False])
@pytest.mark.parametrize("apart", [0.3, 30.0])
def test_any_number_of_threads_gives_the_same_bits(drawn, apart, chunk):
    (family, _), X, weight, clusters, parts = problem(33, apart, 9000)
    score, sub = predictives(family, clusters, parts)
    chosen, sums = np.arange(K) != 2, []
    for threads in (1, 2, 5):
        engine = CpuEngine(threads, sizes=Sizes(chunk_rows=chunk))
        engine.load(family, X, weight)
        swept = engine.sweep(score, sub, K, Key(1, 2, 3) if drawn else None)
        sums.append(
            [
                swept.current,
                swept.entropy,
                swept.rivals,
                *engine.resplit(sub, chosen),
                engine.labels,
            ]
        )
    for others in sums[1:]:
        for one, other in zip(sums[0], others, strict=True):
            assert one.tobytes() == other.tobytes()


def test_rows_in_parts_of_a_batch_add_up_as_the_whole():
    (family, _), X, weight, clusters, parts = problem(33, 2.0, 9000)
    score, sub = predictives(family, clusters, parts)
    whole, tree = CpuEngine(1), []
    whole.load(family, X, weight)
    swept = whole.sweep(score, sub, K, Key(1, 2, 3))
    labels = []
    for start in (0, 4096):
        engine, rows = CpuEngine(3), slice(start, 4096 if start == 0 else None)
        engine.load(family, X[rows], weight[rows], start)
        tree += engine.sweep_parts(score, sub, K, Key(1, 2, 3))
        labels.append(engine.labels)
    assert_array_equal(np.concatenate(labels), whole.labels)
    assert [part.first for part in tree] == [0, 1, 2]
    assert_allclose(sum(part.values[0] for part in tree), swept.current, rtol=1e-12)
