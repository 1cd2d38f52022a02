"""``scstream run --groups``: the column of groups, its events, its checkpoints, its mistakes."""

import csv
import json

import numpy as np
import pytest

from scstream.cli import main


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=3000)
    X = rng.uniform(-2, 2, size=(3000, 2)) + 9.0 * y[:, None]
    path = tmp_path / "data.csv"
    np.savetxt(path, X, delimiter=",", header="a,b", comments="")
    return path, y


def run(*words):
    with pytest.raises(SystemExit) as end:
        raise SystemExit(main([str(word) for word in words]))
    return end.value.code


def test_the_column_follows_the_label(data, tmp_path):
    path, y = data
    out, notes = tmp_path / "out.csv", tmp_path / "notes.jsonl"
    given = ["--batch-size", 500, "--random-state", 1, "--quiet"]
    assert run("run", path, *given, "--groups", "--chronicle", notes, "-o", out) == 0
    with out.open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["row", "label", "group", "probability", "score"]
    last = np.array([int(row["group"]) for row in rows[2500:]])
    assert np.unique(np.column_stack([last, y[2500:]]), axis=0).shape == (2, 2)
    moment = json.loads(notes.read_text().splitlines()[-1])
    assert len(moment["groups"]) == len(moment["ids"])


def test_a_level_is_a_number_from_0_to_1(data, capsys):
    assert run("run", data[0], "--groups", "2") == 2
    assert "a level is a number from 0 to 1; got '2'" in capsys.readouterr().err


def test_the_field_needs_groups(data, capsys):
    assert run("run", data[0], "--fields", "label,group") == 2
    assert "The field group needs --groups" in capsys.readouterr().err
