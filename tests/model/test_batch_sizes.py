"""Batches of any sizes in any order: clusters that do not move are neither split nor joined."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from scstream import ScStream
from scstream.datasets import gaussian_stream


def places(k, d, rng):
    """Return places at least eight deviations apart."""
    out = []
    while len(out) < k:
        x = rng.uniform(-8.0, 8.0, d) * k ** (1.0 / d)
        if all(np.linalg.norm(x - y) > 8.0 for y in out):
            out.append(x)
    return np.array(out)


def learn(k, d, sizes, seed, **params):
    """Return how many clusters are found after each batch, and how well rows are labelled."""
    rng = np.random.default_rng(seed)
    centres, model, found, scores = places(k, d, rng), ScStream(random_state=seed, **params), [], []
    for n in sizes:
        y = rng.integers(k, size=n)
        model.partial_fit(centres[y] + rng.normal(size=(n, d)))
        found.append(model.n_clusters_)
        scores.append(adjusted_rand_score(y, model.labels_))
    return found, scores


# With the best sub-labels in the deterministic sweep these find up to 30 of 20, with drawn ones and
# their entropy 27.
JUMPS = [1000, 1000, 20_000, 20_000, 1000, 300, 5000, 30, 1000, 20_000]


@pytest.mark.parametrize("seed", range(4))
def test_a_large_batch_after_small_ones_splits_nobody(seed):
    found, scores = learn(20, 2, JUMPS, seed)
    assert found == [20] * len(JUMPS)
    assert min(scores) > 0.995


@pytest.mark.parametrize("family", ["gaussian", "diagonal"])
def test_clusters_of_many_rows_that_move_far_leave_none_behind(family):
    """With a 32nd of their past kept 15 to 20 clusters are left of 5."""
    found, named = [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        centres = np.column_stack([100.0 * np.arange(5), np.zeros(5)])
        model = ScStream(family, random_state=seed)
        for _ in range(8):
            y = rng.integers(5, size=5000)
            model.partial_fit(centres[y] + rng.normal(size=(5000, 2)))
            centres[:, 1] += 3.5
        found.append(model.n_clusters_)
        named += [c for c in range(5) if model.labels_[y == c].min() < 5]
    assert sum(found) <= 16  # one place that was left may be remembered for long
    assert len(named) >= 14


def test_a_hundred_times_as_many_rows():
    found, scores = learn(12, 5, [600, 600, 60_000, 600, 60_000], 0)
    assert found == [12] * 5
    assert min(scores) > 0.999


@pytest.mark.parametrize(("d", "k", "box", "off"), [(3, 12, 4.0, 2), (5, 20, 5.0, 0)])
def test_clusters_that_overlap_are_not_split_where_labels_cut_them(d, k, box, off):
    for seed in range(3):
        first, *later = gaussian_stream(6, 20_000, k, d, box=box, drift="none", random_state=seed)
        model = ScStream(random_state=0, half_life=None, max_sweeps=3)
        model.set_params(splits=False, merges=False).partial_fit(first.X, labels=first.y)
        model.set_params(splits=True, merges=True)
        found = [model.partial_fit(batch.X).n_clusters_ for batch in later]
        assert k - off <= found[-1] <= max(found[1:]) <= k
