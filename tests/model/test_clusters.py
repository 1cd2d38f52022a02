"""What the model tells of its clusters, and of what happened to them."""

import numpy as np
import pytest
from streams import CORNERS, blob_stream, blobs, ids, labels_of

from scstream import ScStream
from scstream.datasets import gaussian_stream
from scstream.estimator import learning


def test_weights_and_counts_add_up() -> None:
    y = np.repeat([0, 1, 2], [300, 180, 120])
    X = CORNERS[y] + np.random.default_rng(0).standard_normal((600, 2))
    model = ScStream(alpha=2.0, random_state=0).fit(X)
    clusters = model.clusters_
    for values in ([c.count for c in clusters], [c.rows for c in clusters]):
        assert values == pytest.approx([300, 180, 120])
    assert [c.weight for c in clusters] == pytest.approx([0.5, 0.3, 0.2])
    assert [c.id for c in clusters] == [0, 1, 2]
    assert model.n_clusters_ == 3


@pytest.mark.parametrize("batch_size", [50, 400, 2000])
@pytest.mark.parametrize("options", [{}, {"half_life": None}, {"outlier_weight": 0.05}], ids=str)
def test_shares_are_what_predict_gives_the_latest_rows(batch_size, options, tmp_path) -> None:
    rng = np.random.default_rng(1)
    first = np.concatenate([rng.random(4000) < 0.8, rng.random(4000) < 0.1])  # of the rows
    X = CORNERS[np.where(first, 0, 1 + rng.integers(2, size=8000))] + rng.normal(size=(8000, 2))
    X = X.round(1)  # labels of coarse numbers are not those that they are learned by
    X[::50] = rng.uniform(-30, 40, size=(160, 2))
    model = ScStream(random_state=0, **options)
    for start in range(0, 8000, batch_size):
        model.partial_fit(X[start : start + batch_size])
    model.save(tmp_path / "m")
    labels, shown = model.predict(X[-2000:]), ScStream.load(tmp_path / "m").summary()
    for i, row in shown.iterrows():
        assert row["share"] == pytest.approx(np.mean(labels == i), abs=0.04)
        assert row["rows"] >= 0.5
    assert shown["share"].sum() == pytest.approx(np.mean(labels >= 0), abs=0.04)
    everything = shown["rows"].sum() / shown["share"].sum()
    assert everything == pytest.approx(max(1000, batch_size), rel=0.01)
    drawn = model.sample(4000, random_state=0)[1]
    assert np.mean(drawn == 0) == pytest.approx(np.mean(labels == 0), abs=0.05)


def test_a_cluster_that_labels_no_row_is_not_shown() -> None:
    model = ScStream(random_state=0)
    for seed in range(3):
        model.partial_fit(blobs(1200, seed)[0])
    model.partial_fit(blobs(1200, 9, CORNERS[:2])[0])  # none of the third one
    assert model.n_clusters_ == 3
    assert len(model.summary()) == 2
    assert "2 clusters" in model._repr_html_()


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
