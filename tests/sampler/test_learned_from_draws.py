"""Clusters that overlap, in batches of many rows: best labels would shrink them, and split them."""

import numpy as np
import pytest

from scstream import Rules, ScStream

BY_BEST_LABELS = Rules(drawn_rows=10**9)


def side_by_side(seed, apart, n=5_000, batches=6, k=3):
    """Yield rows of clusters with deviation 1 along a line."""
    rng = np.random.default_rng(seed)
    for _ in range(batches):
        z = rng.integers(k, size=n)
        yield (apart * z + rng.normal(size=n))[:, None]


def counts(rules, seed):
    model = ScStream(random_state=seed, rules=rules)
    return [model.partial_fit(X).n_clusters_ for X in side_by_side(seed, 3.0)]


@pytest.mark.parametrize("seed", [0, 2])
def test_their_number_does_not_grow(seed):
    # broken on purpose (nothing is drawn; greedy splits of the first batch): it fails
    assert np.mean(counts(Rules(), seed)) < 3.8
    assert np.mean(counts(Rules(drawn_rows=10**9, starts=1), seed)) > 4.5


def test_they_are_cut_less():
    widths = {}
    for rules in (Rules(), BY_BEST_LABELS):
        model = ScStream(random_state=0, rules=rules)
        model.partial_fit(next(side_by_side(1, 3.0, n=20_000)))
        assert model.n_clusters_ == 3
        middle = sorted(model.clusters_, key=lambda cluster: cluster.mean[0])[1]
        widths[rules] = float(np.sqrt(middle.covariance[0, 0]))
    assert widths[BY_BEST_LABELS] < 0.75  # that of a normal cut off at one and a half
    assert widths[Rules()] > widths[BY_BEST_LABELS] + 0.05


def test_labels_are_the_best_ones_all_the_same():
    X = next(side_by_side(0, 4.0))
    models = [ScStream(random_state=0, rules=r).partial_fit(X) for r in (Rules(), BY_BEST_LABELS)]
    np.testing.assert_array_equal(models[0].labels_, models[1].labels_)
    np.testing.assert_array_equal(models[0].sublabels_, models[1].sublabels_)
    assert models[0].clusters_[0].count != models[1].clusters_[0].count


def test_clusters_far_apart_are_learned_by_their_best_labels():
    X = next(side_by_side(0, 20.0))
    models = [ScStream(random_state=0, rules=r).partial_fit(X) for r in (Rules(), BY_BEST_LABELS)]
    assert models[0].clusters_[0].count == models[1].clusters_[0].count
