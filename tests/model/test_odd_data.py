"""Data that real streams hold: constants, copies, collinear columns, single points, nothing."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from streams import CORNERS, blob_stream, blobs, counts, ids, labels_of, total_count

from scstream import ScStream

STREAM = blob_stream(4, 150)
Y = np.concatenate([y for _, y in STREAM])


def assert_sound(model, X) -> None:
    """Check that what the model says of a batch can be."""
    assert np.all(np.isfinite(model.score_samples(X)))
    chances = model.predict_proba(X)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert set(model.predict(X).tolist()) <= set(ids(model))
    for cluster in model.clusters_:
        values = cluster.parameters.values()
        assert all(np.all(np.isfinite(value)) for value in values)
    assert all(np.isfinite(record.log_posterior) for record in model.history_)


def ari_when(change, **options) -> float:
    model = ScStream(random_state=0, **options)
    labels = labels_of(model, [change(X) for X, _ in STREAM])
    assert_sound(model, change(STREAM[-1][0]))
    return adjusted_rand_score(Y, np.concatenate(labels))


@pytest.mark.parametrize("value", [0.0, 1.0, -3e6, 1e-9, 0.1])
def test_constant_columns_do_no_harm(value) -> None:
    assert ari_when(lambda X: np.column_stack([X, np.full(len(X), value)])) >= 0.99


@pytest.mark.parametrize(
    "change",
    [
        lambda X: np.column_stack([X, X[:, 0]]),
        lambda X: np.column_stack([X, X[:, 0] + X[:, 1]]),
        lambda X: np.column_stack([X, 1e6 * X[:, 0] - 3.0, -X[:, 1]]),
    ],
    ids=["copy", "sum", "two more"],
)
def test_collinear_columns_do_no_harm(change) -> None:
    assert ari_when(change) >= 0.99


def test_duplicated_points_do_no_harm() -> None:
    def change(X):
        X = X.copy()
        X[1::5], X[2::5] = X[::5], X[3::5]
        return X

    y = np.concatenate([change(y) for _, y in STREAM])
    scores = []
    for seed in range(8):  # pairs of equal points may look like a cluster, so not every run is best
        model = ScStream(random_state=seed)
        labels = labels_of(model, [change(X) for X, _ in STREAM])
        assert_sound(model, STREAM[-1][0])
        scores.append(adjusted_rand_score(y, np.concatenate(labels)))
    assert np.mean(scores) >= 0.9


@pytest.mark.parametrize("value", [0.0, 7.0, 1e-300, -1e12])
@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (200, 5)])
def test_equal_points_are_one_cluster(value, shape) -> None:
    model, X = ScStream(random_state=0, max_sweeps=10), np.full(shape, value)
    for _ in range(3):
        model.partial_fit(X)
        assert model.n_clusters_ == 1
        assert len(set(model.labels_.tolist())) == 1
        assert_sound(model, X)
    np.testing.assert_allclose(model.clusters_[0].mean, X[0], rtol=1e-9, atol=1e-300)


def test_more_columns_than_rows_will_do() -> None:
    model = ScStream(random_state=0, max_sweeps=10)
    for b in range(4):
        X = np.random.default_rng(b).standard_normal((10, 30))
        model.partial_fit(X)
        assert_sound(model, X)


def test_heavy_tails_do_no_harm() -> None:
    model = ScStream(random_state=0)
    for b in range(5):
        X = np.random.default_rng(b).standard_cauchy((200, 2))
        model.partial_fit(X)
        assert_sound(model, X)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_numbers_near_the_ends_of_the_range(scale) -> None:
    assert ari_when(lambda X: X * scale) >= 0.99


def test_a_stream_that_goes_far_away_is_followed() -> None:
    model, scores = ScStream(random_state=0), []
    for b in range(30):
        X, y = blobs(150, b, CORNERS + 20.0 * b)
        model.partial_fit(X)
        assert_sound(model, X)
        scores.append(adjusted_rand_score(y, model.labels_))
    assert np.median(scores) >= 0.99


def test_clusters_keep_their_shape_however_far_the_stream_has_come() -> None:
    """The prior's mean, set where the stream began, must not pull at clusters that went away."""
    model = ScStream(random_state=0)
    for b in range(40):
        model.partial_fit(blobs(150, b, CORNERS + 20.0 * min(b, 25))[0])
    live = [cluster for cluster in model.clusters_ if cluster.count > 100]
    assert len(live) == 3
    for cluster in live:
        np.testing.assert_allclose(cluster.covariance, np.eye(2), atol=0.5)


# -- few points ---------------------------------------------------------------------------------

PAIR = np.array([[0.0, 0.0], [30.0, 0.0]])


@pytest.mark.parametrize("seed", range(2))
def test_points_that_come_one_by_one_from_two_clusters_in_turn(seed) -> None:
    model = ScStream(random_state=seed, max_sweeps=5)
    rng = np.random.default_rng(seed)
    labels = [
        int(model.partial_fit(PAIR[[b % 2]] + rng.standard_normal((1, 2))).labels_[0])
        for b in range(60)
    ]
    assert model.n_clusters_ == 2
    assert len(set(labels[30::2])) == len(set(labels[31::2])) == 1
    assert labels[30] != labels[31]
    assert_sound(model, PAIR)


@pytest.mark.parametrize("kind", ["gaussian", "multinomial"])
def test_every_stage_of_a_stream_of_single_rows_is_sound(kind) -> None:
    model = ScStream(kind, random_state=0, max_sweeps=5)
    X = blobs(30, 0)[0] if kind == "gaussian" else counts(30, 0)[0]
    seen = set()
    for b in range(30):
        model.partial_fit(X[[b]])
        seen |= {int(model.labels_[0])}
        assert model.labels_.shape == (1,)
        assert model.n_batches_ == b + 1
        assert set(model.labels_.tolist()) <= set(ids(model))
        assert_sound(model, X)
    assert min(seen) == 0


# -- nothing ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [6, 150], ids=["early", "mid-stream"])
def test_an_empty_batch_lets_time_pass(rows) -> None:
    model = ScStream(random_state=0, half_life=2).partial_fit(blobs(rows, 0)[0])
    before = {c.id: c for c in model.clusters_}
    model.partial_fit(np.empty((0, 2)))
    model.partial_fit(np.empty((0, 2)), time=2)
    assert (model.n_batches_, model.time_) == (3, 2.0)
    assert model.labels_.shape == model.sublabels_.shape == (0,)
    assert model.history_[-1].n_points == 0
    for cluster in model.clusters_:
        assert cluster.count == pytest.approx(0.5 * before[cluster.id].count)
        assert cluster.age == 2.0
    kept = [i for i, c in before.items() if c.count >= 2.0]
    assert ids(model) == kept
    assert_sound(model, CORNERS)


@pytest.mark.filterwarnings("ignore:Only .* of the weight of the last batch")
@pytest.mark.parametrize("rows", [10, 150], ids=["few rows", "many rows"])
@pytest.mark.parametrize("empty", [False, True], ids=["", "after an empty batch"])
@pytest.mark.parametrize("gap", [1e3, 1e9])
def test_after_a_very_long_gap_everything_begins_anew(rows, empty, gap) -> None:
    model = ScStream(half_life=5.0, random_state=0).partial_fit(blobs(rows, 0)[0])
    before = ids(model)
    if empty:
        model.partial_fit(np.empty((0, 2)), time=gap - 1)
        assert_sound(model, CORNERS)
    X = blobs(rows, 1)[0] + 500.0  # where they were they would be known again
    model.partial_fit(X, time=gap)
    assert min(ids(model)) > max(before)
    assert set(model.labels_.tolist()) == set(ids(model))
    assert total_count(model) == pytest.approx(rows)
    assert {c.born for c in model.clusters_} == {gap}
    assert set(model.history_[-1].births) == set(ids(model))
    assert_sound(model, X)
