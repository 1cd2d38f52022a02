"""Tables that hold in mid-stream what their first rows did not show."""

import copy
import json

import numpy as np
import pandas as pd
import pytest
from connections import connections
from sklearn.metrics import adjusted_rand_score

from scstream import Product, ScStream
from scstream.chronicle import Chronicle
from scstream.cli import main
from scstream.report import write_report


def surprise(table, what):
    """Return a table that holds something which its first rows did not show."""
    table = table.copy()
    column, rows, value = SURPRISES[what][:3]
    if isinstance(value, np.ndarray):
        table[column] = value[: len(table)]
    else:
        table[column] = table[column].astype(object if isinstance(value, str) else float)
        table.loc[rows, column] = value
    return table


SURPRISES = {
    "a yes/no column holds 3": ("failed", 7, 3, "bernoulli", "negative-binomial"),
    "a yes/no column holds -1": ("failed", 7, -1, "bernoulli", "categorical"),
    "a yes/no column holds 0.5": ("logged_in", 7, 0.5, "bernoulli", "diagonal"),
    "counts hold -1": ("count", 7, -1, "negative-binomial", "diagonal"),
    "counts hold 1.5": ("count", 7, 1.5, "negative-binomial", "diagonal"),
    "a missing real number": ("duration", 1, np.nan, None, None),
    "a missing count": ("count", 1, np.nan, None, None),
    "a new category": ("protocol", 3, "sctp", "3 categories", "4 categories"),
    "a constant column varies": (
        "rate", None, np.random.default_rng(0).normal(1.5, 0.3, 1000), "idle", "diagonal"
    ),
    "an empty column is filled": (
        "note", None, np.array(["a", "b"] * 500, dtype=object), "idle", "categorical"
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def learned():
    model = ScStream("auto", random_state=0, max_sweeps=10)
    for seed in range(2):
        model.partial_fit(connections(1000 if seed == 0 else 400, seed)[0])
    return model


@pytest.mark.parametrize("what", SURPRISES)
def test_the_stream_goes_on_and_says_what_became_of_the_column(learned, what, tmp_path):
    model = copy.deepcopy(learned)
    told = []
    model.set_params(on_event=told.append)
    ids = {c.id for c in model.clusters_}
    column, _, _, was, now = SURPRISES[what]
    table, y = connections(400, 2)
    table = surprise(table, what)
    assert adjusted_rand_score(y, model.predict(table)) > 0.99
    assert np.isfinite(model.score_samples(table)).all()
    assert model.predict_proba(table).shape == (400, 4)
    assert repr(model.family_) == repr(learned.family_)  # looking changes nothing
    model.partial_fit(table)
    found = [(e.column, e.was, e.now) for e in model.events_ if e.kind == "widen"]
    assert found == ([] if was is None else [(column, was, now)])
    assert [e for e in told if e.kind == "widen"] == [e for e in model.events_ if e.kind == "widen"]
    assert {c.id for c in model.clusters_} == ids
    assert adjusted_rand_score(y, model.labels_) > 0.99
    model.set_params(on_event=None).save(tmp_path / "model")
    again = ScStream.load(tmp_path / "model")
    assert repr(again.family_) == repr(model.family_)
    assert again.history_ == model.history_
    for seed in (3, 4):
        table, y = connections(400, seed)
        for one in (model, again):
            one.partial_fit(surprise(table, what) if seed == 3 else table)
        np.testing.assert_array_equal(again.labels_, model.labels_)
        assert adjusted_rand_score(y, model.labels_) > 0.99
        assert not [e for e in model.events_ if e.kind == "widen"]
    assert {c.id for c in model.clusters_} == ids


def test_several_surprises_at_once_and_one_after_the_other(learned):
    model = copy.deepcopy(learned)
    columns = set()
    names = [name for name in SURPRISES if SURPRISES[name][3] not in (None, "3 categories")]
    for seed, group in enumerate((names[:2], names[2:4], names[4:])):
        table, y = connections(400, 10 + seed)
        for name in group:
            table = surprise(table, name)
        model.partial_fit(table)
        columns |= {e.column for e in model.events_ if e.kind == "widen"}
        assert adjusted_rand_score(y, model.labels_) > 0.98
    assert columns == {"failed", "logged_in", "count", "rate", "note"}
    assert model.clusters_[0].columns.keys() == learned.clusters_[0].columns.keys()


def test_what_the_user_fixed_is_refused_and_not_widened():
    blocks = {
        "gaussian": ["duration", "bytes"], "poisson": ["count"], "categorical": ["protocol"],
        "bernoulli": ["logged_in", "failed"],
    }  # fmt: skip
    model = ScStream(Product(blocks), random_state=0, max_sweeps=3)
    model.partial_fit(connections(300, 0)[0])
    for what, words in (
        ("a yes/no column holds 3", r"Column 'failed' holds 3: 'bernoulli' takes 0 and 1"),
        ("counts hold -1", r"Column 'count' holds -1: counts cannot be negative"),
    ):
        table = surprise(connections(50, 1)[0], what)
        for use in (model.partial_fit, model.predict, model.score_samples):
            with pytest.raises(ValueError, match=words):
                use(table)
    assert model.n_batches_ == 1


def test_what_no_family_takes_is_refused_and_changes_nothing(learned):
    model = copy.deepcopy(learned)
    table, _ = connections(50, 1)
    table["count"] = table["count"].astype(object)
    table.loc[4, "count"] = "many"
    table = surprise(table, "a yes/no column holds 3")
    for use in (model.partial_fit, model.predict):
        with pytest.raises(ValueError, match=r"Column 'count' holds no numbers.*'many'"):
            use(table)
    assert repr(model.family_) == repr(learned.family_)
    assert model.n_batches_ == learned.n_batches_


# -- the command line ---------------------------------------------------------------------------


def test_a_run_over_connections_meets_every_surprise(tmp_path, capsys):
    table, y = connections(5000, 0)
    table["failed"] = table["failed"].astype(object)
    table.loc[1500::50, "failed"] = 3
    table.loc[2600, "count"] = -1
    table["bytes"] = table["bytes"].astype(object)
    table.loc[3500, "bytes"] = ""  # the single empty field
    table.to_csv(tmp_path / "rows.csv", index=False)
    files = {name: str(tmp_path / name) for name in ("out.csv", "events.jsonl", "story.jsonl")}
    code = main(
        [
            "run", str(tmp_path / "rows.csv"), "--batch-size", "500", "--random-state", "0",
            "--output", files["out.csv"], "--fields", "label,score",
            "--events", files["events.jsonl"], "--chronicle", files["story.jsonl"],
            "--checkpoint", str(tmp_path / "kept"),
        ]
    )  # fmt: skip
    said = capsys.readouterr().err
    assert code == 0, said
    assert "column failed is taken as negative-binomial now, as bernoulli before" in said
    out = pd.read_csv(files["out.csv"])
    assert len(out) == 5000
    assert adjusted_rand_score(y, out["label"]) > 0.98
    events = map(json.loads, (tmp_path / "events.jsonl").read_text().splitlines())
    widened = {(e["column"], e["was"], e["now"]) for e in events if e["kind"] == "widen"}
    counts = "negative-binomial"
    assert widened == {("failed", "bernoulli", counts), ("count", counts, "diagonal")}
    story = Chronicle.read(files["story.jsonl"])
    assert story.totals.events["widen"] == 2
    assert all(moment.means is not None for moment in story)
    write_report(story, tmp_path / "page.html")
    assert "failed, bernoulli to negative-binomial" in (tmp_path / "page.html").read_text()
