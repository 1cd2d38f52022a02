"""A model for each key: the labels of models that learn each key's rows alone, whatever fails."""

from time import sleep

import numpy as np
import pytest
from numpy.testing import assert_array_equal

pd = pytest.importorskip("pandas", reason="pandas is not installed")
pytest.importorskip("pyspark", reason="pyspark is not installed")

from spark_streams import run, stream, write_stream  # noqa: E402

from scstream import ScStream  # noqa: E402
from scstream.datasets import gaussian_stream  # noqa: E402
from scstream.spark import learn_by_key  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # Spark's, of other packages' versions
MODEL = ScStream(random_state=0, max_sweeps=5)


def tables(n_batches: int) -> list:
    """Return micro-batches of three keys; the last key has few rows, and not in every batch."""
    out = []
    for i, batch in enumerate(gaussian_stream(n_batches, 120, 3, 2, random_state=1)):
        table = pd.DataFrame(batch.X, columns=["x", "y m"])
        key = np.where(np.arange(120) % 2, "a", "b")
        key[: 5 * (i % 2)] = "c"
        seconds = pd.to_timedelta(3600 * i + np.arange(120), unit="s")
        out.append(table.assign(key=key, at=pd.Timestamp("2026-01-01") + seconds, note="free"))
    return out


def alone(table_list: list) -> dict:
    """Return labels and scores, by key, of models that learn each key's rows by themselves."""
    models, found = {}, {}
    for table in table_list:
        for key, rows in table.groupby("key"):
            model = models.setdefault(key, ScStream.from_bytes(MODEL.to_bytes()))
            X = rows[["x", "y m"]]
            anomaly = model.anomaly(X) if model.n_batches_ else np.full(len(X), np.nan)
            model.partial_fit(X, time=rows["at"].max())
            found.setdefault(key, []).append((model.labels_, anomaly))
            models[key] = ScStream.from_bytes(model.to_bytes())
    return {key: tuple(map(np.concatenate, zip(*own, strict=True))) for key, own in found.items()}


def test_each_key_has_its_own_model_and_a_failure_repeats_nothing(spark, tmp_path) -> None:
    batches, written, failed = tables(4), {}, []
    write_stream(tmp_path / "in", batches)
    rows = stream(spark, tmp_path / "in")
    out = learn_by_key(rows, "key", MODEL, columns=["x", "y m"], time="at")
    assert out.columns == [*rows.columns, "label", "anomaly"]

    def write(frame, batch):
        written[batch] = frame.toPandas()
        if batch == 2 and not failed:
            failed.append(batch)
            raise RuntimeError("the sink is gone")

    with pytest.raises(Exception, match="the sink is gone"):
        run(out, write, tmp_path / "checkpoint")
    assert sorted(written) == [0, 1, 2]
    run(out, write, tmp_path / "checkpoint")
    assert sorted(written) == [0, 1, 2, 3]
    found = pd.concat(written[i] for i in sorted(written))
    assert set(found["note"]) == {"free"}
    expected = alone(batches)
    assert set(expected) == set(found["key"]) == {"a", "b", "c"}
    for key, (labels, anomaly) in expected.items():
        own = found[found["key"] == key]
        assert_array_equal(own["label"].to_numpy(), labels)
        assert_array_equal(own["anomaly"].to_numpy(dtype=float), anomaly)
    states = spark.read.format("statestore").option("stateVarName", "model")
    models = states.load(str(tmp_path / "checkpoint")).collect()
    assert {row.key.key for row in models} == {"a", "b", "c"}
    last = {row.key.key: ScStream.from_bytes(row.value.model) for row in models}
    assert {key: model.n_batches_ for key, model in last.items()} == {"a": 4, "b": 4, "c": 2}
    assert last["a"].feature_names_in_.tolist() == ["x", "y m"]


def test_the_model_of_a_key_that_stays_away_is_dropped(spark, tmp_path) -> None:
    spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")  # or none ends
    first, *_ = tables(1)
    rare = first.assign(key=np.where(first["key"] == "a", "rare", "usual"))
    write_stream(tmp_path / "in", [rare, rare[rare["key"] == "usual"]])
    rows, found = stream(spark, tmp_path / "in"), {}

    def write(frame, batch):
        found[batch] = frame.toPandas()
        if batch == 0:
            sleep(3.0)  # longer than models are stored

    out = learn_by_key(rows, "key", MODEL, columns=["x", "y m"], ttl="2s")
    run(out, write, tmp_path / "checkpoint")
    assert found[1]["anomaly"].isna().all()  # which begins anew
    states = spark.read.format("statestore").option("stateVarName", "model")
    models = states.load(str(tmp_path / "checkpoint")).collect()
    assert {row.key.key for row in models} == {"usual"}
    kept = learn_by_key(rows, "key", MODEL, columns=["x", "y m"], ttl="1h")
    run(kept, write, tmp_path / "another")
    assert found[1]["anomaly"].notna().all()
    for wrong in ("2", 7, "-1s", "0s"):
        with pytest.raises(ValueError, match="length of time with a unit"):
            learn_by_key(rows, "key", MODEL, columns=["x", "y m"], ttl=wrong)


def test_what_cannot_be_learned_is_refused_before_the_query_starts(spark) -> None:
    rows = spark.createDataFrame([], "key string, x double, at timestamp, label long")
    with pytest.raises(ValueError, match="has the column 'label' already"):
        learn_by_key(rows, "key", MODEL, columns=["x"])
    rows = rows.drop("label")
    with pytest.raises(TypeError, match="Column 'at' is of type timestamp"):
        learn_by_key(rows, "key", MODEL)
    with pytest.raises(ValueError, match=r"it lacks \['z'\]"):
        learn_by_key(rows, "key", MODEL, columns=["x", "z"])
    with pytest.raises(ValueError, match=r"it lacks \['user'\]"):
        learn_by_key(rows, "user", MODEL, columns=["x"])
    with pytest.raises(TypeError, match="columns must be a list"):
        learn_by_key(rows, "key", MODEL, columns="x")
    with pytest.raises(TypeError, match="time column 'key' must hold timestamps"):
        learn_by_key(rows, "key", MODEL, columns=["x"], time="key")
    with pytest.raises(ValueError, match="kernel is a function"):
        learn_by_key(rows, "key", ScStream(kernel=lambda age: 1.0), columns=["x"])
