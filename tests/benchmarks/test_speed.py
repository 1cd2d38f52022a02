"""The program that measures speed: what it times, what it writes, that failures stop nothing."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest

from benchmarks.speed import __main__ as program
from benchmarks.speed import anchors, contestants, growth, summary, tables, timing
from benchmarks.speed.jobs import started
from benchmarks.speed.tables import KMEANS, OURS, Result, Table, written
from benchmarks.speed.timing import Job, Options, alternate, exponent
from scstream import Gaussian, Multinomial, ScStream
from scstream.datasets import gaussian_stream


def test_jobs_take_turns_and_each_comes_first_in_its_turn():
    order = []
    jobs = {name: Job(lambda turn, name=name: order.append((turn, name))) for name in "ab"}
    took = alternate(jobs, 2)
    assert order == [(0, "a"), (0, "b"), (1, "b"), (1, "a"), (2, "a"), (2, "b"), (3, "b"), (3, "a")]
    assert set(took) == {"a", "b"}


def test_medians_leave_out_the_first_two_turns(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(timing.time, "perf_counter", lambda: clock[0])

    def run(turn):
        clock[0] += (100.0, 50.0, 1.0, 9.0, 2.0)[turn]

    assert alternate({"a": Job(run)}, 3) == {"a": 2.0}


def test_a_job_may_be_held_to_threads():
    from threadpoolctl import threadpool_info

    threads = []
    job = Job(lambda turn: threads.append({pool["num_threads"] for pool in threadpool_info()}), 1)
    alternate({"a": job}, 1)
    assert threads == [{1}] * 3


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_the_exponent_of_a_power(power):
    sizes = [10, 20, 80]
    assert exponent(sizes, [3.0 * n**power for n in sizes]) == pytest.approx(power)


def test_tables_replace_those_on_the_page():
    page = "above\n<!-- first -->\nold\n<!-- end of first -->\nbelow\n"
    new = written(page, "first", "new")
    assert new == "above\n<!-- first -->\n\nnew\n\n<!-- end of first -->\nbelow\n"
    assert written(new, "first", "new") == new


@pytest.mark.parametrize("page", ["", "<!-- end of first --> <!-- first -->", "<!-- first -->"])
def test_a_page_without_marks_is_refused(page):
    with pytest.raises(ValueError, match="must hold the lines"):
        written(page, "first", "new")


def test_the_page_of_tables_has_a_place_for_every_section():
    page = tables.TABLES.read_text()
    for name in (*program.SECTIONS, "cores"):
        written(page, name, "new")


def test_the_page_on_speed_sums_up_the_tables_and_is_one_page():
    page = tables.PAGE.read_text()
    assert set(summary.JUDGED) == {*program.SECTIONS, "cores"}
    assert page == written(page, "summary", summary.summary(tables.TABLES.read_text()))
    assert len(re.sub(r"^\|.*$", "", page, flags=re.MULTILINE).split()) < 500
    assert page.count("\n") < 100


def test_a_summary_has_the_worst_that_was_measured():
    head = (
        "| data | sweep | threads | sweep takes | bare product | sweep / product | asked | holds |"
    )
    rule = "|" + " --- |" * 8
    rows = ("| a | sampled | 1 | 9 ms | 6 ms | 1.5 | 2 | yes |",
            "| b | sampled | 2 | 5 ms | 2 ms | 2.5 | 2 | no |",
            "| b | deterministic | 2 | 5 ms | 5 ms | 1 | 2 | yes |")  # fmt: skip
    gains = ("| data | 2 threads: times as fast as 1 | asked | holds |", "|" + " --- |" * 4,
             "| a | 1.9 | 1.7 | yes |", "| b | 1.2 | 1.7 | no |", "| c | 1.0 | | |")  # fmt: skip
    line = "*aarch64, 2 cores, Linux; revision abc; 2026-11-18T01:52:46+00:00; load: 1.0.*"
    text = "\n".join([head, rule, *rows, "", *gains, "", line])
    page = written("<!-- large -->\n<!-- end of large -->", "large", text)
    found = summary.section(page, "large")
    assert found.machine == "aarch64, 2 cores, 2026-11-18"
    sampled, deterministic, gain = summary.JUDGED["large"](found)
    assert sampled[-3:] == ["2.5 products", "2", "no"]
    assert deterministic[-3:] == ["1 products", "2", "yes"]
    assert gain[-3:] == ["1.2 times as fast", "1.7", "no"]


def test_a_table_as_markdown():
    assert str(Table(("a", "b"), [["1", "2"]], "note")) == (
        "| a | b |\n| --- | --- |\n| 1 | 2 |\n\nnote"
    )


@pytest.fixture
def sections(monkeypatch):
    """Put two sections in place of the real ones, of which the first fails."""

    def fails(options):
        raise RuntimeError("had enough")

    def works(options):
        return Result([Table(("size",), [[str(options.points)]])], {"x": np.float64(0.5)})

    sections = {"first": ("one that fails", fails), "stream": ("one that works", works)}
    monkeypatch.setattr(program, "SECTIONS", sections)


@pytest.mark.usefixtures("sections")
def test_a_section_that_fails_says_so_and_the_rest_goes_on(tmp_path, capsys, monkeypatch):
    page, short = tmp_path / "tables.md", tmp_path / "page.md"
    page.write_text("<!-- stream -->\n<!-- end of stream -->\n")
    short.write_text("<!-- summary -->\n<!-- end of summary -->\n")
    monkeypatch.setattr(summary, "TABLES", page)
    monkeypatch.setattr(summary, "PAGE", short)
    size = lambda found: [[found.tables[0][0]["size"], *[""] * 5]]  # noqa: E731
    monkeypatch.setattr(summary, "JUDGED", {"stream": size})
    file = tmp_path / "figures.json"
    assert program.main(["--points", "7", "--json", str(file), "--docs"]) == 1
    out, err = capsys.readouterr()
    assert "failed: RuntimeError: had enough" in out
    assert "Failed: first." in err
    assert "| 7 |" in out
    assert "| 7 |" in page.read_text()
    assert "| 7 |  |" in short.read_text()
    held = json.loads(file.read_text())
    assert held["failed"] == ["first"]
    assert held["sections"]["stream"]["figures"] == {"x": 0.5}
    assert held["where"]["versions"]["numpy"] == np.__version__


@pytest.mark.usefixtures("sections")
def test_some_sections_alone():
    assert program.main(["--only", "stream"]) == 0


@pytest.mark.parametrize("arguments", [["--repeat", "0"], ["--only", "x"], ["--quick", "--docs"]])
def test_arguments_that_make_no_sense(arguments, capsys):
    with pytest.raises(SystemExit):
        program.main(arguments)
    assert "error:" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["first", "stream", "high", "growth"])
def test_sections_run(name, capsys):
    result = program.SECTIONS[name][1](Options(quick=True, repeat=1))
    for table in result.tables:
        assert len(table.rows) > 0
        assert {len(row) for row in table.rows} == {len(table.columns)}


def test_each_is_timed_alone():
    batches = [batch.X for batch in gaussian_stream(5, 100, 3, random_state=0)]
    assert 0.0 < contestants.alone(KMEANS, batches, 3, threads=1) < 60.0


def test_mini_batch_k_means_is_timed_without_scstream():
    text = (
        "import sys\n"
        "import numpy as np\n"
        "from benchmarks.speed.contestants import median_step\n"
        f"median_step({KMEANS!r}, np.random.default_rng(0).random((5, 50, 2)), 3, 1)\n"
        "assert not [name for name in sys.modules if name.startswith('scstream')]\n"
    )
    subprocess.run([sys.executable, "-c", text], check=True, cwd=contestants.ROOT)


@pytest.mark.parametrize(
    "name", [OURS, KMEANS, "DBSTREAM, row by row", "CluStream, batch by batch"]
)
def test_contestants_learn_and_predict(name):
    if name not in (OURS, KMEANS):
        pytest.importorskip("river")
    batches = [batch.X for batch in gaussian_stream(4, 60, 3, random_state=0)]
    assert contestants.median_step(name, np.stack(batches), 3, 1) > 0.0


def test_river_is_compared_in_turns_and_alone(monkeypatch):
    pytest.importorskip("river")
    from benchmarks.speed import river

    monkeypatch.setattr(
        river, "alone", lambda name, batches, k, first: 1.0 if name == OURS else 100.0
    )
    (table,) = river.river(Options(quick=True, repeat=1)).tables
    assert {len(row) for row in table.rows} == {len(table.columns)}
    verdicts = [row[-1] for row in table.rows if row[-1]]
    assert [verdict.split(", ")[1] for verdict in verdicts] == ["yes alone", "no alone"]


def test_the_files_of_the_other_implementation(tmp_path):
    stream = gaussian_stream(3, 1000, 3, drift="none", random_state=0)
    X, y = (np.concatenate([getattr(batch, name) for batch in stream]) for name in "Xy")
    np.savez(tmp_path / "a.npz", X=X.astype(np.float32), y=y)
    settings = {"kappa": 1, "m": 0, "nu": 4, "Psi": 1.0, "alpha": 1, "lambda": 0.5}
    anchor = {
        "file": "a.npz", "batches": 3, "settings": settings, "predict_s": 1e9,
        "update_s": {"early": 2e9, "all 3": 9e9}, "factor_to_reach": 50,
        "quality": {"alpha 1": {"ari": [0.5, 0.75]}},
    }  # fmt: skip
    path = tmp_path / "anchors.json"
    path.write_text(json.dumps({"what": "words", "a": anchor, "b": {"no": "file"}}))
    result = anchors.anchors(Options(anchors=path))
    (row,) = result.tables[0].rows
    assert row[0] == "a"
    assert row[7] == "yes"
    assert row[-1] == "0.500, 0.750"
    found = result.figures["a"]
    assert found["factor"] == pytest.approx(3e9 / (found["predict"] + found["update"]))
    assert found["over all"] == pytest.approx(10e9 / (found["predict"] + found["update"]))
    assert 0.9 < found["ari"] <= 1.0


def test_anchors_need_their_file():
    with pytest.raises(FileNotFoundError, match="--anchors"):
        anchors.anchors(Options())


def test_the_settings_of_an_anchor():
    settings = {"kappa": 2, "m": 1, "nu": 7, "Psi": 0.5, "alpha": 3, "lambda": 0.2}
    model = anchors._anchored(settings, 2)
    assert isinstance(model, ScStream)
    assert (model.alpha, model.half_life, model.sweeps) == (3, 5.0, 1)
    family = model.family
    assert isinstance(family, Gaussian)
    assert (family.mean_strength, family.cov, family.cov_strength) == (2, 0.5, 7)
    assert list(family.mean) == [1.0, 1.0]
    counts = anchors._anchored({"dirichlet": 1.5, "alpha": 1, "lambda": 1}, 9).family
    assert isinstance(counts, Multinomial)
    assert counts.concentration == 1.5


def test_what_an_update_holds_and_adds():
    stream = gaussian_stream(2, 2000, 3, drift="none", random_state=0)
    model = started(stream, n_jobs=1).partial_fit(stream[1].X)
    held, added = growth.traced_update(model, stream[1].X)
    assert held > 8 * 2000  # labels at least
    assert 0 < added < 100 * held
