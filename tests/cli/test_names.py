"""Names and types of columns go with the model: into the checkpoint, and back by name."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from scstream import ScStream
from scstream.cli import main

ARGS = ["--random-state", "0", "--n-jobs", "1", "--batch-size", "60"]


@pytest.fixture
def frame(tmp_path, monkeypatch):
    """Stand in a folder with a table of columns of all kinds, and a run over it."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    z = rng.integers(3, size=180)
    frame = pd.DataFrame(
        {
            "when": pd.date_range("2026-01-05", periods=180, freq="min"),
            "a": rng.normal(8.0 * z, 1.0).round(3),
            "b": rng.normal(-5.0 * z, 1.0).round(3),
            "flag": rng.random(180) < np.array([0.1, 0.5, 0.9])[z],
            "colour": np.array(["red", "green", "blue"])[z],
        }
    )
    frame.to_csv("rows.csv", index=False)
    assert main(["run", "rows.csv", "-o", "none", "--checkpoint", "state", "--quiet", *ARGS,
                 "--events", "events.jsonl", "--chronicle", "chronicle.jsonl"]) == 0  # fmt: skip
    return frame


def labels(path):
    return np.loadtxt(path, delimiter=",", skiprows=1)[:, 1].astype(int)


def test_swapped_columns_are_found_by_name(frame):
    frame[["flag", "colour", "b", "when", "a"]].assign(more="x").to_csv(
        "other.csv", index=False, sep=";", decimal=","
    )
    for name in ("rows", "other"):
        assert main(["predict", "state", f"{name}.csv", "-o", f"{name}.out.csv"]) == 0
    np.testing.assert_array_equal(labels("other.out.csv"), labels("rows.out.csv"))
    frame.to_parquet("rows.parquet")
    assert main(["predict", "state", "rows.parquet", "-o", "parquet.out.csv"]) == 0
    np.testing.assert_array_equal(labels("parquet.out.csv"), labels("rows.out.csv"))


def test_columns_of_numbers_alone_are_found_by_name_too(frame):
    frame[["a", "b"]].to_csv("ab.csv", index=False)
    frame[["b", "a"]].to_csv("ba.csv", index=False)
    assert main(["fit", "ab.csv", "--model", "m.scs", "-o", "none", *ARGS[:4]]) == 0
    for name in ("ab", "ba"):
        assert main(["predict", "m.scs", f"{name}.csv", "-o", f"{name}.out.csv"]) == 0
    np.testing.assert_array_equal(labels("ab.out.csv"), labels("ba.out.csv"))
    assert main(["predict", "m.scs", "ab.csv", "--columns", "b,a", "-o", "named.csv"]) == 0
    np.testing.assert_array_equal(labels("named.csv"), labels("ab.out.csv"))


def test_missing_and_different_columns_are_refused_by_name(frame, capsys):
    frame.drop(columns=["b", "colour"]).to_csv("few.csv", index=False)
    assert main(["predict", "state", "few.csv", "-o", "none"]) == 1
    told = capsys.readouterr().err
    assert "learned from 'b', 'colour', and few.csv has no such columns" in told
    assert "--columns A,B,..." in told
    frame.assign(a="word").to_csv("words.csv", index=False)
    assert main(["predict", "state", "words.csv", "-o", "none"]) == 1
    told = capsys.readouterr().err
    assert (
        "holds 'word', which is not a number\nIf it stands for a missing value: --missing word"
        in told
    )
    assert "--text" not in told  # what the model has learned cannot be changed
    model = ScStream.load(next(Path("state").glob("*.scstream")))
    with pytest.raises(ValueError, match="learned from 'flag', but the table has no such column"):
        model.predict(frame[["b", "a", "colour"]])


def test_true_and_false_mean_the_same_as_in_python(frame):
    X = frame.drop(columns="when")
    model = ScStream("auto", random_state=0)
    for i in range(0, 180, 60):
        model.partial_fit(X[i : i + 60], time=frame["when"][i + 59].to_pydatetime())
    loaded = ScStream.load(next(Path("state").glob("*.scstream")))
    assert loaded.family_.name == model.family_.name
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.clusters_[0].columns == model.clusters_[0].columns
    assert loaded.dates_
    assert model.dates_


def test_names_categories_and_dates_are_shown(frame, capsys):
    assert main(["show", "state"]) == 0
    shown = capsys.readouterr().out
    for word in ("a", "b", "flag", "colour", "2026-01-05 02:59:00", "red", "blue"):
        assert word in shown
    events = [json.loads(line) for line in Path("events.jsonl").read_text().splitlines()]
    assert events[0]["date"] == "2026-01-05 00:59:00"
    drift = next(event for event in events if event["kind"] == "drift")
    assert {"a", "b"} <= set(drift["velocity"])
    head = json.loads(Path("chronicle.jsonl").read_text().splitlines()[0])
    assert head["dates"] is True
    assert head["columns"][:2] == ["a", "b"]
    pytest.importorskip("matplotlib", reason="Matplotlib is not installed")
    assert main(["report", "chronicle.jsonl", "-o", "page.html"]) == 0
    page = Path("page.html").read_text()
    assert "2026-01-05 00:59:00" in page
    assert "1767" not in page.split('<div class="page">')[0]  # the tables
    for word in ("red", "green", "blue", "colour"):
        assert word in page
