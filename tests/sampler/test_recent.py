"""The share of a cluster is that of the rows that it gets, whatever it forgets of its past."""

import numpy as np
import pytest
from sampler.driving import clusters_with_a_past
from streams import blobs

from scstream import ScStream
from scstream.sampler.recent import recent_rows, seen_lately

PLACES = np.array([[0.0, 0.0], [14.0, 0.0], [0.0, 14.0], [14.0, 14.0]])


def test_a_cluster_that_moves_keeps_its_share() -> None:
    """Its past does not describe it any more, and is forgotten; it gets a quarter of the rows."""
    model, places = ScStream(random_state=0), PLACES.copy()
    for b in range(20):
        model.partial_fit(blobs(1000, b, places)[0])
        places[0] -= 0.5
    clusters = {c.id: c for c in model.clusters_}
    moving = clusters[int(model.predict(places[:1])[0])]
    others = [c for c in clusters.values() if c is not moving]
    assert moving.count < 0.3 * min(c.count for c in others)
    np.testing.assert_allclose([c.weight for c in clusters.values()], 0.25, atol=0.03)
    drawn = model.sample(4000, random_state=0)[1]
    assert 0.2 < np.mean(drawn == moving.id) < 0.3


@pytest.mark.parametrize("half_life", [None, 5.0])
def test_where_nothing_is_forgotten_it_is_that_of_the_points(half_life) -> None:
    model = ScStream(random_state=0, half_life=half_life)
    model.partial_fit(blobs(300, 0)[0]).partial_fit(blobs(300, 0)[0])
    total = sum(c.count for c in model.clusters_) + 1.0
    for cluster in model.clusters_:
        assert cluster.weight == pytest.approx(cluster.count / total, abs=0.01)


def rows(before, after, past, current, pairs):
    """Return the recent rows of ids, given those before as a dictionary."""
    ids, had = np.array(list(before)), np.array(list(before.values()), dtype=float)
    out = recent_rows((ids, had), np.array(after), np.array(past), np.array(current), pairs)
    return dict(zip(after, out.tolist(), strict=True))


def test_a_place_that_was_left_is_no_cluster_any_more() -> None:
    """Its cluster has moved by six deviations, and has its id and its rows."""
    model, ids, found = ScStream(random_state=0), [], []
    for b in range(12):
        shift = np.array([0.0 if b < 8 else 6.0, 0.0])
        X, y = blobs(400, b, PLACES + shift)
        labels = model.partial_fit(X).labels_
        ids.append([np.bincount(labels[y == c]).argmax() for c in range(4)])
        found.append(model.n_clusters_)
    assert all(own == ids[0] for own in ids)
    assert found[:8] + found[9:] == [4] * 11
    assert sum(c.weight for c in model.clusters_) == pytest.approx(1.0, abs=0.01)


def test_who_has_no_recent_rows_is_gone_unless_it_is_new_or_the_last() -> None:
    state = clusters_with_a_past(3).advance(1.0)
    old = state.having(lived=np.array([3, 3, 3]))
    assert seen_lately(old, np.array([1.0 - 2.0**-50, 2.0, 3.0])).tolist() == [0, 1, 2]
    assert seen_lately(old, np.array([0.9, 2.0, 0.0])).tolist() == [1]
    assert seen_lately(old, np.array([0.5, 0.9, 0.0])).tolist() == [1]
    new = state.having(lived=np.array([3, 3, 0]))
    assert seen_lately(new, np.array([0.9, 2.0, 0.0])).tolist() == [1, 2]


def test_it_is_saved(tmp_path) -> None:
    model, places = ScStream(random_state=0), PLACES.copy()
    for b in range(6):
        model.partial_fit(blobs(300, b, places)[0])
        places[0] -= 1.0
    model.save(tmp_path / "m")
    again = ScStream.load(tmp_path / "m")
    assert [c.weight for c in again.clusters_] == [c.weight for c in model.clusters_]


def test_shares_follow_what_rows_the_clusters_get_now():
    rng = np.random.default_rng(0)
    model = ScStream(random_state=0, half_life=3.0)
    for share in [0.5] * 15 + [0.9] * 15:
        y = rng.random(400) >= share
        model.partial_fit(rng.normal(size=(400, 2)) + np.where(y, 30.0, 0.0)[:, None])
    assert model.n_clusters_ == 2
    # five half-lives later 3 % of what counts is of the even batches
    assert max(cluster.weight for cluster in model.clusters_) == pytest.approx(0.89, abs=0.03)
