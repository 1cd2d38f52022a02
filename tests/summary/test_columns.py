"""What is printed under a column's name is that column's, in any order of kinds."""

import json
import re
from itertools import permutations

import numpy as np
import pandas as pd
import pytest

from scstream import ScStream
from scstream.chronicle import Chronicle
from scstream.cli import main
from scstream.report import render_report

KINDS = "colour", "height", "visits", "member", "spent"


def table(order, seed=0, n=120):
    """Return a table whose columns have ranges that do not overlap, of two clusters."""
    rng = np.random.default_rng(seed)
    z = np.arange(n) % 2
    frame = pd.DataFrame(
        {
            "colour": np.where(z, "red", "blue"),
            "height": rng.normal(1500.0 + 300.0 * z, 10.0),
            "visits": rng.poisson(np.where(z, 40, 10)),
            "member": rng.random(n) < np.where(z, 0.9, 0.1),
            "spent": np.exp(rng.normal(np.where(z, 20.0, 16.0), 0.4)),
        }
    )
    return frame[list(order)]


def is_of(name, value):
    """Whether it can be what a cluster's column holds."""
    if name == "colour":
        return str(value).startswith(("red", "blue"))
    low, high = {
        "height": (1400, 1900), "visits": (2, 100), "member": (0, 1), "spent": (1e5, 1e11),
    }[name]  # fmt: skip
    text = str(value).replace(",", "")
    return low <= (float(text[:-1]) / 100.0 if text.endswith("%") else float(text)) <= high


ORDERS = [*permutations(KINDS)][::7]  # every kind at every place


@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_every_door_joins_columns_by_name(order, tmp_path, capsys):
    model, chronicle = ScStream("auto", random_state=0, max_sweeps=5), Chronicle()
    for batch in range(2):
        mixed = table(order if batch == 0 else order[::-1], seed=batch)
        chronicle.observe(model.partial_fit(mixed), rows=mixed)
    assert [*model.clusters_[0].columns] == list(order)
    for name, values in model.summary()[list(order)].items():
        assert all(is_of(name, value) for value in values)
    centers = model.cluster_centers_
    for j, name in enumerate(order):
        assert np.isnan(centers[:, j]).all() or all(is_of(name, x) for x in centers[:, j])
    for event in model.events_:
        if event.velocity:
            assert abs(event.velocity["height"]) < 50.0
            assert abs(event.velocity["visits"]) < 10.0
    moment = chronicle[-1]
    for name, values in zip(chronicle.columns, moment.means.T, strict=True):
        assert all(is_of(name, x) for x in values)
    for row in moment.examples:
        for name, x in zip(chronicle.fields, row["values"], strict=True):
            assert is_of(name, x)
    report = render_report(chronicle).split("Clusters</h2><table>")[1].split("</table>")[0]
    head, cells = (re.findall(rf"<{tag}[^>]*>(.*?)</{tag}>", report) for tag in ("th", "td"))
    model.save(tmp_path / "m.scstream")
    capsys.readouterr()
    assert main(["show", str(tmp_path / "m.scstream")]) == 0
    lines = capsys.readouterr().out.split("\n\n")[1].splitlines()
    printed = [re.split("  +", line.strip()) for line in lines]
    for names, rows in ((printed[0], printed[1:]), (head, [cells[: len(head)]])):
        for row in rows:
            found = dict(zip(names, row, strict=True))
            assert all(is_of(name, found[name]) for name in order)
    assert main(["show", str(tmp_path / "m.scstream"), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["columns"] == [*shown["clusters"][0]["columns"]] == list(order)


def test_a_files_names_are_those_of_its_columns(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table(KINDS)[["visits", "height"]].rename(columns={"visits": "2"}).to_csv("d.csv", index=False)
    assert main(["run", "d.csv", "--checkpoint", "state", "-o", "none", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["show", "state", "--json"]) == 0
    for cluster in json.loads(capsys.readouterr().out)["clusters"]:
        assert [*cluster["columns"]] == ["2", "height"]
        assert "column" not in cluster["different"]


def test_categories_have_the_shares_of_the_rows():
    """Of the rows alone: what is not among them has no share, however few they are."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=200), "sex": ["f"] * 150 + ["m"] * 50, "new": True})
    frame.loc[199, "x"] = 1e4
    frame.loc[:99, "new"] = False
    model = ScStream("auto", random_state=0).fit(frame)
    for cluster in model.clusters_:
        rows = frame[model.labels_ == cluster.id]
        sex, new = cluster.columns["sex"]["probabilities"], cluster.columns["new"]["probability"]
        assert sex["m"] == pytest.approx((rows["sex"] == "m").mean(), abs=1e-6)
        assert sex["(other)"] == pytest.approx(0.0, abs=1e-6)
        assert new == pytest.approx(rows["new"].mean(), abs=1e-6)
    assert model.n_clusters_ > 1
    drawn, _ = model.sample(2000, random_state=0)
    assert 0.1 < np.mean(drawn[:, 1] == "m") < 0.4
