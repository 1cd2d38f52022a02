"""What the model tells of its clusters, and of what happened to them."""

import numpy as np
import pytest
from streams import CORNERS, blob_stream, blobs, counts, ids, labels_of

from scstream import ScStream
from scstream.datasets import gaussian_stream
from scstream.estimator import learning


def test_weights_and_counts_add_up() -> None:
    y = np.repeat([0, 1, 2], [300, 180, 120])
    X = CORNERS[y] + np.random.default_rng(0).standard_normal((600, 2))
    model = ScStream(alpha=2.0, random_state=0).fit(X)
    clusters = model.clusters_
    assert [c.count for c in clusters] == pytest.approx([300, 180, 120])
    assert [c.weight for c in clusters] == pytest.approx([300 / 602, 180 / 602, 120 / 602])
    assert [c.id for c in clusters] == [0, 1, 2]
    assert model.n_clusters_ == 3


def test_means_and_covariances_are_those_of_the_points() -> None:
    spread = np.array([[2.0, 0.5], [0.0, 1.0]])
    y = np.random.default_rng(1).integers(3, size=3000)
    X = 3 * CORNERS[y] + np.random.default_rng(0).standard_normal((3000, 2)) @ spread
    for cluster in ScStream(random_state=0).fit(X).clusters_:
        own = X[np.linalg.norm(X - cluster.mean, axis=1) < 15]
        assert len(own) == round(cluster.count)
        # the prior is worth a few points of a thousand
        np.testing.assert_allclose(cluster.mean, own.mean(axis=0), atol=0.02)
        np.testing.assert_allclose(cluster.covariance, np.cov(own.T), rtol=0.05, atol=0.05)


def test_probabilities_are_the_shares_of_the_counts() -> None:
    X, y = counts(900, 0)
    model = ScStream("multinomial", random_state=0).fit(X)
    for cluster in model.clusters_:
        own = X[model.labels_ == cluster.id]
        assert cluster.count == pytest.approx(len(own))
        assert cluster.probabilities.sum() == pytest.approx(1.0)
        shares = own.sum(axis=0) / own.sum()
        np.testing.assert_allclose(cluster.probabilities, shares, atol=0.002)
    assert len(set(zip(model.labels_.tolist(), y.tolist(), strict=True))) == 3


def test_a_cluster_has_its_familys_parameters_and_no_others() -> None:
    cluster = ScStream(random_state=0).fit(blobs(100, 0)[0]).clusters_[0]
    assert set(cluster.parameters) == {"mean", "covariance"}
    with pytest.raises(AttributeError, match="probabilities"):
        _ = cluster.probabilities
    with pytest.raises(AttributeError):
        cluster.count = 3.0


def test_ages_are_counted_from_birth_in_the_users_time() -> None:
    model = ScStream(random_state=0)
    for time, centres in [
        (10.0, CORNERS[:2]),
        (10.5, CORNERS[:2]),
        (14.0, CORNERS),
        (15.0, CORNERS),
    ]:
        model.partial_fit(blobs(200, int(2 * time), centres)[0], time=time)
    old, new = [c for c in model.clusters_ if c.id < 2], [c for c in model.clusters_ if c.id >= 2]
    assert [(c.born, c.age) for c in old] == [(10.0, 5.0)] * 2
    assert [(c.born, c.age) for c in new] == [(14.0, 1.0)]
    assert model.time_ == 15.0


def test_what_is_shown_cannot_be_used_to_change_the_model() -> None:
    X, _ = blobs(100, 0)
    model = ScStream(random_state=0).partial_fit(X)
    scores = model.score_samples(X)
    for cluster in model.clusters_:
        cluster.mean[:] = cluster.covariance[:] = 1e9
    for value in model.prior_.values():
        if isinstance(value, np.ndarray):
            value[:] = 1e9
    model.history_.clear()
    model.labels_[:] = -7
    np.testing.assert_array_equal(model.score_samples(X), scores)
    assert len(model.history_) == 1
    assert ids(model) == [0, 1, 2]


# -- history ------------------------------------------------------------------------------------


def test_each_batch_has_a_record() -> None:
    model = ScStream(random_state=0)
    for b, n in enumerate([100, 30, 0, 200]):
        model.partial_fit(blobs(n, b)[0], time=0.5 * b)
        last = model.history_[-1]
        assert (last.batch, last.time, last.n_points) == (b, 0.5 * b, n)
        assert last.n_clusters == model.n_clusters_
        assert np.isfinite(last.log_posterior)
    assert len(model.history_) == 4
    assert model.history_[0].births == (0, 1, 2)


def test_a_birth_is_recorded_with_the_id_of_the_new_points() -> None:
    model = ScStream(random_state=0)
    for b in range(3):
        model.partial_fit(blobs(200, b, CORNERS[:2])[0])
    X, y = blobs(300, 9)
    model.partial_fit(X)
    (born,) = model.history_[-1].births
    assert born >= 2
    np.testing.assert_array_equal(model.labels_ == born, y == 2)
    ((parent, part),) = model.history_[-1].splits
    assert parent in (0, 1)
    assert part == born


def test_a_death_is_recorded_when_a_cluster_is_forgotten() -> None:
    """It has n points; its count is below 1 after log2(n) half-lives."""
    model = ScStream(half_life=1, random_state=0)
    X, y = blobs(300, 0)
    model.partial_fit(X)
    gone = int(model.labels_[y == 2][0])
    deaths = []
    for b in range(1, 12):
        model.partial_fit(blobs(200, b, CORNERS[:2])[0])
        deaths += [(b, i) for i in model.history_[-1].deaths]
    assert deaths == [(int(np.ceil(np.log2((y == 2).sum()))), gone)]
    assert gone not in ids(model)


def test_a_merge_is_recorded_with_who_survives() -> None:
    """Two clusters come to lie upon each other, and the past is soon forgotten."""
    model = ScStream(half_life=0.5, random_state=0)
    y = np.repeat([0, 1], [200, 80])
    for b in range(15):
        centres = CORNERS[:2] * max(0.0, 1 - b / 5)
        X = centres[y] + np.random.default_rng(b).standard_normal((280, 2))
        model.partial_fit(X)
    assert model.n_clusters_ == 1
    merges = [pair for record in model.history_ for pair in record.merges]
    deaths = [i for record in model.history_ for i in record.deaths]
    assert merges
    assert {gone for _, gone in merges} <= set(deaths)
    assert ids(model) == [0]


def test_a_split_is_recorded_and_the_larger_part_keeps_the_id() -> None:
    model = ScStream(half_life=1, random_state=0)
    y = np.repeat([0, 1], [200, 100])
    for b in range(20):  # one cluster while the first rows are still clustered anew
        centres = CORNERS[:2] * np.clip((b - 4) / 12, 0.0, 1.0)
        X = centres[y] + np.random.default_rng(b).standard_normal((300, 2))
        model.partial_fit(X)
        assert model.n_clusters_ == 1 or b > 4
    assert model.n_clusters_ == 2
    assert set(model.labels_[y == 0].tolist()) == {0}
    (new,) = set(model.labels_[y == 1].tolist())
    assert (0, new) in [pair for record in model.history_ for pair in record.splits]


@pytest.mark.parametrize("rows", [3, 200])
def test_the_history_tells_all_that_happens_to_ids_and_none_is_used_twice(rows) -> None:
    model = ScStream(half_life=2, random_state=0, max_sweeps=15)
    stream = gaussian_stream(30, rows, n_clusters=8, births=0.8, random_state=5)
    alive, ever = set(), set()
    for batch in stream:
        model.partial_fit(batch.X)
        record = model.history_[-1]
        assert not set(record.births) & ever
        assert set(record.deaths) <= alive
        alive = (alive | set(record.births)) - set(record.deaths)
        ever |= alive
        assert alive == set(ids(model))
        assert set(model.labels_.tolist()) <= alive
        assert {gone for _, gone in record.merges} <= set(record.deaths)
        assert {new for _, new in record.splits} <= set(record.births)
    assert len(ever) > len(alive)


def test_the_history_is_bounded(monkeypatch) -> None:
    assert learning._HISTORY == 1000
    monkeypatch.setattr(learning, "_HISTORY", 5)
    model = ScStream(random_state=0)
    labels_of(model, [X for X, _ in blob_stream(9, 40)])
    assert [record.batch for record in model.history_] == [4, 5, 6, 7, 8]
    assert model.fit(blobs(40, 0)[0]).history_[0].batch == 0
    assert len(model.history_) == 1
