"""The share of a cluster is that of the rows that it gets, whatever it forgets of its past."""

import numpy as np
import pytest
from sampler.driving import clusters_with_a_past
from streams import blobs

from scstream import ScStream
from scstream.sampler.recent import seen_lately

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


@pytest.mark.parametrize("family", ["gaussian", "student", "diagonal"])
def test_all_that_is_said_of_weights_describes_one_mixture(family) -> None:
    """Of two equal clusters one jitters, and forgets its shape in nearly every batch.

    By the points that shapes are made of it would get .39 of the rows.
    """
    rng, model = np.random.default_rng(0), ScStream(family, random_state=0)
    for _ in range(30):
        y = rng.integers(2, size=1000)
        place = np.array([[0.0, 0.0], [40.0, 0.0]])
        place[1] += rng.normal(scale=1.5, size=2)
        X = place[y] + rng.normal(size=(1000, 2))
        model.partial_fit(X)
    assert model.n_clusters_ == 2
    jitters = int(model.predict(place[1:])[0])
    shares = {
        "weight": next(c.weight for c in model.clusters_ if c.id == jitters),
        "sample": np.mean(model.sample(20_000, random_state=0)[1] == jitters),
        "predict": np.mean(model.predict(X) == jitters),
    }
    density = model.family_.log_predictive(place, model._learner.state.totals)
    shares["score_samples"] = np.exp(model.score_samples(place[1:])[0] - density[1].max())
    for name, share in shares.items():
        assert 0.43 < share < 0.57, name


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

    def seen(lived, *earlier):
        return seen_lately(state.having(lived=np.array(lived), earlier=np.array(earlier))).tolist()

    assert seen([3, 3, 3], 1.0 - 2.0**-50, 2.0, 3.0) == [0, 1, 2]
    assert seen([3, 3, 3], 0.9, 2.0, 0.0) == [1]
    assert seen([3, 3, 3], 0.5, 0.9, 0.0) == [1]
    assert seen([3, 3, 0], 0.9, 2.0, 0.0) == [1, 2]


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
