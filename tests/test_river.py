"""Clusterer and detector for river: its own checks, buffering, rows that lack features."""

import functools
import importlib
import pickle
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

from scstream import ScStream
from scstream.datasets import gaussian_stream

river = pytest.importorskip("river", reason="river is not installed")
from river import anomaly, base, checks  # noqa: E402 - only where river is there
from river.checks import common  # noqa: E402

from scstream.river import StreamClusterer, StreamDetector  # noqa: E402

NAMES = list("dbca")


def stream(n_batches=3, batch_size=100, d=4):
    """Return rows as dicts, and their true labels."""
    batches = list(
        gaussian_stream(
            n_batches=n_batches,
            batch_size=batch_size,
            n_features=d,
            n_clusters=3,
            random_state=2,
        )
    )
    X = np.vstack([batch.X for batch in batches])
    y = np.concatenate([batch.y for batch in batches])
    return [dict(zip(NAMES, row, strict=False)) for row in X.tolist()], y


DATA = stream()
FEW = 120  # rows for a check


@pytest.mark.parametrize(
    "check", list(checks.yield_checks(StreamClusterer())), ids=lambda c: c.__name__
)
def test_rivers_checks_of_an_estimator(check):
    check(StreamClusterer())


# River leaves these out for clusterers, as they need data; they hold here too.
@pytest.mark.parametrize(
    "check",
    [
        common.check_learn_one,
        common.check_pickling,
        common.check_shuffle_features_no_impact,
        common.check_emerging_features,
        common.check_disappearing_features,
        common.check_radically_disappearing_features,
        common.check_no_state_aliasing_with_input,
        common.check_clone_is_independent,
        common.check_seeding_is_idempotent,
        common.check_bounded_memory_growth,
    ],
    ids=lambda check: check.__name__,
)
@pytest.mark.parametrize("family", ["gaussian", "diagonal"])
def test_rivers_checks_with_data(check, family):
    rows, y = DATA
    check(StreamClusterer(family, batch_size=30, seed=0), list(zip(rows, y, strict=True))[:FEW])


def still(n):
    """Return rows of three clusters that stay where they are."""
    X = gaussian_stream(1, n, 3, 4, random_state=2)[0].X
    return [dict(zip(NAMES, row, strict=True)) for row in X.tolist()]


def with_anomalies(n):
    """Return such rows, one in 30 of them far off, and whether a row is that."""
    rng = np.random.default_rng(3)
    odd = rng.random(n) < 1 / 30
    far = (dict.fromkeys(NAMES, v) for v in rng.uniform(60.0, 90.0, n).tolist())
    return [(f, True) if o else (x, False) for x, f, o in zip(still(n), far, odd, strict=True)]


@pytest.mark.parametrize(
    "check", list(checks.yield_checks(StreamDetector())), ids=lambda c: c.__name__
)
def test_rivers_checks_of_an_anomaly_detector(check):
    if isinstance(check, functools.partial):  # with data of river's, which it would download
        check.func(StreamDetector(batch_size=30, seed=0), dataset=with_anomalies(300))
    else:
        check(StreamDetector())


def test_a_detector_is_one_for_river_and_scores_as_the_clusterer_does():
    detector, clusterer = (
        kind(batch_size=100, seed=5) for kind in (StreamDetector, StreamClusterer)
    )
    assert isinstance(detector, base.AnomalyDetector)
    assert not isinstance(detector, base.Clusterer)
    assert not isinstance(clusterer, base.AnomalyDetector)
    rows, _ = DATA
    for row in rows:
        assert detector.score_one(row) == clusterer.score_one(row)
        detector.learn_one(row)
        clusterer.learn_one(row)
    assert clusterer.score_one(dict.fromkeys(NAMES, 300.0)) > 0.999


def test_a_filter_of_river_keeps_anomalies_from_the_detector():
    model = anomaly.ThresholdFilter(StreamDetector(batch_size=100, seed=0), threshold=0.999)
    rows = still(151)
    for row in rows[:150]:
        model.learn_one(row)
    held = len(model.anomaly_detector._buffer)
    far = dict.fromkeys(NAMES, 300.0)
    assert model.classify(model.score_one(far))
    model.learn_one(far)
    assert len(model.anomaly_detector._buffer) == held
    model.learn_one(rows[150])
    assert len(model.anomaly_detector._buffer) == held + 1


def test_rows_are_learned_in_batches_as_the_model_would():
    rows, _ = DATA
    clusterer = StreamClusterer(batch_size=100, seed=5)
    for row in rows[:250]:
        clusterer.learn_one(row)
    model = ScStream(random_state=5)
    for start in (0, 100):
        model.partial_fit(
            [[row[name] for name in sorted(NAMES)] for row in rows[start : start + 100]]
        )
    assert clusterer.features == sorted(NAMES)
    assert clusterer.model.n_batches_ == 2
    np.testing.assert_array_equal(clusterer.model.labels_, model.labels_)
    clusterer.flush()
    assert clusterer.model.n_batches_ == 3
    clusterer.flush()
    assert clusterer.model.n_batches_ == 3  # there was nothing left


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames_are_learned_and_labelled_as_their_rows(frame):
    rows, _ = DATA
    one, many = StreamClusterer(seed=0), StreamClusterer(seed=0)
    for row in rows[:250]:
        one.learn_one(row)
    for start in (0, 70, 180):
        many.learn_many(frame(rows[start : {0: 70, 70: 180, 180: 250}[start]]))
    labels = many.predict_many(frame(rows[250:]))
    assert type(labels) is type(frame(rows)[NAMES[0]])
    assert list(labels) == [one.predict_one(row) for row in rows[250:]]


def test_features_that_come_later_are_left_out_with_one_warning():
    rows, _ = DATA
    clusterer, same = StreamClusterer(seed=0), StreamClusterer(seed=0)
    for row in rows[:100]:
        clusterer.learn_one(row)
        same.learn_one(row)
    with pytest.warns(UserWarning, match=r"\['new'\]"):
        clusterer.learn_one({**rows[100], "new": 3.0})
    same.learn_one(rows[100])
    for row in rows[101:200]:
        clusterer.learn_one({**row, "new": 3.0})  # a second warning would be an error here
        same.learn_one(row)
    assert clusterer.predict_one({**rows[0], "newer": 1}) == same.predict_one(rows[0])
    np.testing.assert_array_equal(clusterer.model.labels_, same.model.labels_)


def test_what_a_row_lacks_is_missing():
    rows, _ = DATA
    clusterer = StreamClusterer(seed=0)
    for row in rows[:200]:
        clusterer.learn_one({**row, "c": None} if row["a"] > 0.0 else row)
    places = [clusterer.features.index(name) for name in NAMES]
    for row in rows[200:]:
        part = {"a": row["a"], "b": None, "c": float("nan")}
        X = np.full((1, len(NAMES)), np.nan)
        X[0, places[NAMES.index("a")]] = row["a"]
        assert clusterer.predict_one(part) == clusterer.model.predict(X)[0]
    student = StreamClusterer("student", seed=0)
    for row in rows[:99]:
        student.learn_one(row)
    with pytest.raises(ValueError, match="NaN"):
        student.learn_one({"a": 1.0})


@pytest.mark.parametrize("value", [np.inf, "red", [1, 2], 10**400])
def test_a_bad_row_is_refused_and_changes_nothing(value):
    rows, _ = DATA
    clusterer = StreamClusterer(seed=0)
    for row in rows[:150]:
        clusterer.learn_one(row)
    before = pickle.dumps(clusterer)
    with pytest.raises(ValueError, match="'a' is"):
        clusterer.learn_one({**rows[150], "a": value})
    with pytest.raises(ValueError, match="no value"):
        clusterer.learn_one({"a": None})
    assert pickle.dumps(clusterer) == before


def test_a_batch_that_the_model_refuses_is_dropped_and_said():
    clusterer = StreamClusterer("poisson", batch_size=30, seed=0)
    rng = np.random.default_rng(0)
    for n in rng.poisson(5, size=30):
        clusterer.learn_one({"n": n})
    for n in rng.poisson(5, size=29):
        clusterer.learn_one({"n": n})
    with pytest.raises(ValueError, match="negative") as caught:
        clusterer.learn_one({"n": -1})
    assert "30 buffered rows were dropped" in caught.value.__notes__[0]
    assert clusterer.model.n_batches_ == 1
    clusterer.learn_one({"n": 4})
    clusterer.flush()
    assert clusterer.model.n_batches_ == 2


def test_river_that_is_missing_is_named_with_its_extra(monkeypatch):
    monkeypatch.delitem(sys.modules, "scstream.river")
    monkeypatch.setitem(sys.modules, "river", None)
    with pytest.raises(ImportError, match=r"scstream\[river\]"):
        importlib.import_module("scstream.river")


def test_a_row_far_off_has_a_high_score_and_few_ordinary_ones_have():
    model, rng = StreamClusterer(seed=0, batch_size=200), np.random.default_rng(0)
    assert model.score_one({"x": 0.0, "y": 0.0}) == 0.0  # nothing is known yet
    rows = [{"x": float(x), "y": float(y)} for x, y in rng.normal(size=(2400, 2))]
    for row in rows[:2000]:
        model.learn_one(row)
    scores = np.array([model.score_one(row) for row in rows[2000:]])
    assert np.all((scores >= 0.0) & (scores < 1.0))
    assert (scores > 0.99).mean() < 0.05
    assert model.score_one({"x": 9.0, "y": 9.0}) > 0.999
