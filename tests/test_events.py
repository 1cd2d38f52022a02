"""Events: what happened to clusters, how fast they move, and who is told."""

import json

import numpy as np
import pandas as pd
import pytest
from streams import CORNERS, blob_stream, blobs, counts, snapshot

from scstream import ScStream
from scstream.events import KINDS, Event

FAST = {"random_state": 0, "max_sweeps": 5}


def of_kind(model: ScStream, *kinds: str) -> list[Event]:
    return [event for event in model.events_ if event.kind in kinds]


def busy_stream():
    """Return batches in which clusters come, go, part and meet."""
    rng = np.random.default_rng(1)
    for b in range(24):
        gap = 9.0 * max(np.sin(0.35 * b), 0.0)  # they meet, and stay for a while
        centres = np.array([[0.0, 0.0], [gap, 0.0], [30.0, 30.0 + b]])[: 3 - (b % 9 > 5)]
        y = rng.integers(len(centres), size=150)
        yield centres[y] + rng.normal(size=(150, 2))


@pytest.fixture(scope="module")
def busy():
    """Return a model after a busy stream, and the events of each batch."""
    model, told = ScStream(half_life=0.4, **FAST), []
    for X in busy_stream():
        told.append(model.partial_fit(X).events_)
    return model, told


def test_every_kind_happens_and_fits_the_history(busy) -> None:
    model, told = busy
    of_groups = {"group-split", "group-merge"}  # nobody asks for groups here
    found = {event.kind for batch in told for event in batch}
    assert found == set(KINDS) - {"return", "widen", "clock", "restart"} - of_groups
    for record, batch in zip(model.history_, told, strict=True):
        assert {(e.batch, e.time) for e in batch} <= {(record.batch, record.time)}
        by_kind = {kind: [e for e in batch if e.kind == kind] for kind in KINDS}
        assert tuple(e.cluster for e in by_kind["birth"]) == record.births
        assert tuple(e.cluster for e in by_kind["death"]) == record.deaths
        assert tuple(e.cluster for e in by_kind["return"]) == record.returns
        assert tuple((e.cluster, e.other) for e in by_kind["split"]) == record.splits
        assert tuple((e.cluster, e.other) for e in by_kind["merge"]) == record.merges


def test_births_and_deaths_say_where_from_and_where_to(busy) -> None:
    pairs = set()
    for batch in busy[1]:
        parents = {e.other: e.cluster for e in batch if e.kind == "split"}
        survivors = {e.other: e.cluster for e in batch if e.kind == "merge"}
        for event in batch:
            if event.kind == "birth":
                assert event.other == parents.get(event.cluster)
                pairs.add(("birth", event.other is None))
            if event.kind == "death":
                assert event.other == survivors.get(event.cluster)
                pairs.add(("death", event.other is None))
    assert len(pairs) == 4


def test_events_are_plain_json(busy) -> None:
    for batch in busy[1]:
        for event in batch:
            plain = event.to_dict()
            assert json.loads(json.dumps(plain, allow_nan=False)) == plain
            assert None not in plain.values()
            assert list(plain)[:4] == ["kind", "batch", "time", "cluster"]


# -- drift --------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["gaussian", "diagonal", "spherical"])
@pytest.mark.parametrize("step", [1.0, 0.25])
def test_drift_is_a_velocity_in_data_units_and_a_speed_in_deviations(family, step) -> None:
    """The clusters have deviation 1, move by (0.6, 0) in a unit of time, and remember little."""
    model = ScStream(family, half_life=0.25 * step, max_clusters=3, **FAST)
    names = ["east", "north"]
    for b in range(4):
        X = blobs(3000, b, CORNERS + np.array([0.6 * step * b, 0.0]))[0]
        model.partial_fit(pd.DataFrame(X, columns=names), time=step * b)
    drifts = of_kind(model, "drift")
    assert len(drifts) == 3
    for event in drifts:  # six deviations of the difference of two means of 1,000 points
        off = 6.0 * np.sqrt(2.0 / 900.0) / step
        assert event.velocity["east"] == pytest.approx(0.6, abs=off)
        assert event.velocity["north"] == pytest.approx(0.0, abs=off)
        assert abs(event.speed - np.hypot(*event.velocity.values())) < 0.1 * event.speed + 0.01


def test_the_speed_of_a_gaussian_is_mahalanobiss(busy) -> None:
    model = ScStream(**FAST).partial_fit(blobs(300, 0)[0])
    before = {cluster.id: cluster.mean for cluster in model.clusters_}
    model.partial_fit(blobs(300, 1, CORNERS + 0.5)[0], time=2.0)
    drifts = {event.cluster: event for event in of_kind(model, "drift")}
    assert len(drifts) == 3
    for cluster in model.clusters_:
        shift = cluster.mean - before[cluster.id]
        far = np.sqrt(shift @ np.linalg.inv(cluster.covariance) @ shift) / 2.0
        assert drifts[cluster.id].speed == pytest.approx(far)
        assert list(drifts[cluster.id].velocity.values()) == pytest.approx(shift / 2.0)


def moved(family, make, **options) -> list[Event]:
    """Return the drift of a stream that stands still, then moves."""
    model = ScStream(family, half_life=1.0, **{**FAST, **options})
    for b, place in enumerate([0.0, 0.0, 1.0]):
        model.partial_fit(make(b, place))
    return of_kind(model, "drift")


def poisson(b, place):
    return np.random.default_rng(b).poisson(4.0 + 3.0 * place, (400, 2))


def bernoulli(b, place):
    return np.random.default_rng(b).random((400, 2)) < 0.3 + 0.3 * place


def gamma(b, place):
    return np.random.default_rng(b).gamma(4.0, 1.0 + place, (400, 2))


def directions(b, place):
    X = np.random.default_rng(b).normal(size=(400, 5), scale=0.1)
    return X + np.array([1.0, 0.4 * place, 0.0, 0.0, 0.0])


def words(b, place):
    p = np.array([0.5, 0.3, 0.2]) + 0.2 * place * np.array([-1.0, 1.0, 0.0])
    return np.random.default_rng(b).choice(["ash", "oak", "elm"], (400, 2), p=p)


def texts(b, place):
    p = np.array([0.5, 0.3, 0.2]) + 0.2 * place * np.array([-1.0, 1.0, 0.0])
    return np.random.default_rng(b).multinomial(30, p, 400)


def squared_step(family, shift, at) -> float:
    """Return the squared length of a step in the cluster's own deviations, family by family."""
    if family == "directional":
        return at["concentration"] * (shift @ shift)
    location = next(
        at[key] for key in ("mean", "rate", "probability", "probabilities") if key in at
    )
    variance = {
        "poisson": location,
        "bernoulli": location * (1.0 - location),
        "exponential": location**2,
        "categorical": location,
        "multinomial": location,
    }.get(family)
    if family == "gamma":
        variance = location**2 / at["shape"]
    if family in ("diagonal", "spherical"):
        variance = at["variance"]
    return (shift**2 / variance).sum()


@pytest.mark.parametrize(
    ("family", "make"),
    [
        ("diagonal", lambda b, place: 3.0 * place + gamma(b, 0.0)),
        ("spherical", lambda b, place: 3.0 * place + gamma(b, 0.0)),
        ("poisson", poisson),
        ("bernoulli", bernoulli),
        ("gamma", gamma),
        ("exponential", gamma),
        ("directional", directions),
        ("categorical", words),
        ("multinomial", texts),
    ],
)
def test_the_speed_is_the_step_in_deviations_of_the_family(family, make) -> None:
    # broken on purpose (the gamma's variance without its shape, or without the square): it fails
    model = ScStream(family, half_life=1.0, max_clusters=1, **FAST)
    model.partial_fit(make(0, 0.0))
    before = model.clusters_[0].parameters
    model.partial_fit(make(1, 1.0), time=2.5)
    (cluster,) = model.clusters_
    (event,) = of_kind(model, "drift")
    key = next(k for k in ("mean", "rate", "probability", "probabilities") if k in before)
    shift = cluster.parameters[key] - before[key]
    assert event.speed == pytest.approx(
        np.sqrt(squared_step(family, shift, cluster.parameters)) / 2.5
    )
    if family == "gamma":
        assert not np.allclose(cluster.parameters["shape"], 1.0)  # which would hide it


@pytest.mark.parametrize(
    ("family", "make", "in_data"),
    [
        ("bernoulli", bernoulli, True),
        ("gamma", gamma, True),
        ("exponential", gamma, True),
        ("directional", directions, False),
        ("categorical", words, False),
        ("multinomial", texts, False),
    ],
)
def test_every_family_tells_how_fast_it_moves(family, make, in_data) -> None:
    still = moved(family, lambda b, place: make(b, 0.0), max_clusters=1)
    gone = moved(family, make, max_clusters=1)
    assert len(still) == len(gone) == 1
    assert gone[0].speed > 3.0 * still[0].speed > 0.0
    assert (gone[0].velocity is not None) == in_data


def test_events_are_worked_out_only_when_asked_for(monkeypatch) -> None:
    def refuse(*args):
        raise AssertionError("nobody asked")

    monkeypatch.setattr("scstream.estimator.describing.events_of", refuse)
    model = ScStream(**FAST)
    for X, _ in blob_stream(3, 60):
        model.partial_fit(X).predict(X)
    with pytest.raises(AssertionError, match="nobody asked"):
        _ = model.events_


# -- telling ------------------------------------------------------------------------------------


def test_the_callback_is_told_every_event_once_the_batch_is_learned() -> None:
    told: list[tuple[Event, int]] = []
    model = ScStream(**FAST)
    model.set_params(on_event=lambda event: told.append((event, model.n_batches_)))
    expected = []
    for X, _ in blob_stream(3, 90):
        model.partial_fit(X)
        expected += [(event, model.n_batches_) for event in model.events_]
    assert told == expected
    assert len(told) > 3
    model.fit(blobs(90, 9)[0])
    assert [event.kind for event, _ in told[len(expected) :]] == ["birth"] * model.n_clusters_


def test_an_error_in_the_callback_comes_out_and_the_batch_stays_learned() -> None:
    told = []

    def fail(event):
        told.append(event)
        raise RuntimeError("no room for the event")

    plain, model = ScStream(**FAST), ScStream(on_event=fail, **FAST)
    for X, _ in blob_stream(3, 90):
        plain.partial_fit(X)
        with pytest.raises(RuntimeError, match="no room for the event"):
            model.partial_fit(X)
        assert told.pop() == model.events_[0]
        assert told == []
        assert model.events_ == plain.events_
        assert snapshot(model._learner) == snapshot(plain._learner)
        np.testing.assert_array_equal(model.labels_, plain.labels_)


def test_a_refused_batch_tells_nothing() -> None:
    told = []
    model = ScStream(on_event=told.append, **FAST).partial_fit(blobs(90, 0)[0])
    told.clear()
    with pytest.raises(ValueError, match="contains infinity"):
        model.partial_fit(np.full((3, 2), np.inf))
    assert told == []
    assert [event.kind for event in model.events_] == ["birth"] * 3


def test_it_is_not_saved_and_events_go_on_after_loading(tmp_path) -> None:
    told = []
    model = ScStream(on_event=told.append, **FAST)
    for X, _ in blob_stream(2, 90):
        model.partial_fit(X)
    model.save(tmp_path / "m")
    twin = ScStream.load(tmp_path / "m")
    assert twin.on_event is None
    assert twin.events_ == [event for event in model.events_ if event.kind != "drift"]
    X = counts(90, 0)[0][:, :2].astype(float)
    told.clear()
    model.partial_fit(X)
    assert twin.partial_fit(X).events_ == told
