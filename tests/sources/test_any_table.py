"""Any table is a source: files together, a folder, Arrow, data frames, results of a query."""

import os
import re
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import scstream
from scstream.cli import main
from scstream.sources import MalformedRow, SourceOptions, open_source

pa = pytest.importorskip("pyarrow", reason="PyArrow is not installed")
pd = pytest.importorskip("pandas", reason="pandas is not installed")
GUESS = SourceOptions(40)
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "x": RNG.normal(size=300).round(6),
        "colour": np.where(RNG.random(300) < 0.5, "red", "blue"),
        "when": pd.date_range("2026-01-01", periods=300, freq="min", tz="UTC"),
    }
)
TABLE = pa.Table.from_pandas(FRAME, preserve_index=False)


class Capsule:
    """What has the Arrow C stream interface, and comes once."""

    def __arrow_c_stream__(self, requested_schema=None):
        return TABLE.__arrow_c_stream__(requested_schema)


class Query:
    """What a database returns: DuckDB's results have this method, and look like frames."""

    columns, shape = list(FRAME.columns), FRAME.shape

    def __getitem__(self, at):
        raise NotImplementedError

    def fetch_record_batch(self, n):
        return TABLE.to_reader(max_chunksize=n)


def write_stream(table, path):
    with pa.ipc.new_stream(path, table.schema) as out:
        out.write_table(table)


def written(folder, ending, write):
    """Write the table into files, of which the tenth is the last; return the folder."""
    folder.mkdir()
    for number, rows in ((1, slice(0, 70)), (2, slice(70, 75)), (10, slice(75, 300))):
        write(FRAME[rows].reset_index(drop=True), folder / f"day{number}.{ending}")
    if ending in ("csv", "csv.gz", "jsonl"):
        (folder / f"day3.{ending}").touch()
    (folder / "notes.md").write_text("no table")
    return folder


def csv(frame, path, header=True):
    frame.to_csv(path, index=False, header=header and "10" not in path.name)


FILES = {
    "csv": ("csv", csv),  # the last without the columns' names
    "packed": ("csv.gz", partial(csv, header=True)),
    "json lines": ("jsonl", lambda f, path: f.to_json(path, orient="records", lines=True,
                                                      date_format="iso")),
    "parquet": ("parquet", lambda f, path: f.to_parquet(path, row_group_size=30)),
    "feather": ("arrow", lambda f, path: f.to_feather(path)),
    "arrow stream": ("arrow", lambda f, path: write_stream(
        pa.Table.from_pandas(f, preserve_index=False), path)),
}  # fmt: skip
TABLES = {
    "pandas": lambda: FRAME,
    "polars": lambda: pytest.importorskip("polars", reason="Polars is not installed").from_pandas(
        FRAME
    ),
    "arrow": lambda: TABLE,
    "frames": lambda: [FRAME[i : i + 7] for i in range(0, 300, 7)],
    "iterator of frames": lambda: (FRAME[i : i + 7] for i in range(0, 300, 7)),
    "record batches": lambda: iter(TABLE.to_batches(90)),
    "stream interface": Capsule,
    "query": Query,
}


def checked(open_one):
    """Return the batches of a source, once each place has been gone on from."""
    with open_one() as source:
        source.keep_marks()
        whole, places = [], []
        for batch in source:
            whole.append(batch)
            places.append(source.mark(batch.place))
    for k in (0, 1, 5):
        with open_one() as source:
            source.keep_marks()
            source.seek(places[k])
            assert [b.place for b in source] == [b.place for b in whole[k + 1 :]]
    return whole


def same(batches):
    assert [b.n for b in batches] == [40] * 7 + [20]
    assert list(batches[0].X.labels) == ["x", "colour"]
    x = np.concatenate([b.X.values[0] for b in batches])
    np.testing.assert_allclose(x, FRAME["x"])
    assert [w for b in batches for w in b.X.values[1]] == FRAME["colour"].tolist()
    last = FRAME["when"][np.r_[39:280:40, 299]]
    np.testing.assert_allclose([b.time for b in batches], [t.timestamp() for t in last])


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("how", ["folder", "pattern", "names", "url"])
def test_files_together_are_one_stream(tmp_path, kind, how):
    folder = written(tmp_path / "days", *FILES[kind])
    ending = FILES[kind][0]
    source = {
        "folder": folder,
        "pattern": str(folder / "day*"),
        "names": sorted(folder.glob("day*"), key=lambda p: int(p.name.split(".")[0][3:])),
        "url": f"file://{folder}/day*.{ending}",
    }[how]
    same(checked(lambda: open_source(source, GUESS)))


@pytest.mark.parametrize("kind", TABLES)
def test_tables_in_memory_are_streams(kind):
    same(checked(lambda: open_source(TABLES[kind](), GUESS)))


def test_what_is_wrong_names_its_file(tmp_path):
    folder = written(tmp_path / "days", *FILES["csv"])
    with open(folder / "day2.csv", "a") as file:
        file.write("much,red,2026-01-02\n")
    match = r"day2\.csv, line 7: column 'x' holds 'much'"
    with open_source(folder, GUESS) as source, pytest.raises(MalformedRow, match=match):
        list(source)
    with open_source(folder, SourceOptions(40, on_error="reject")) as source:
        rejects = [reject for batch in source for reject in batch.rejects]
    assert [(one.file, one.line, one.row) for one in rejects] == [("day2.csv", 7, 76)]
    (folder / "day2.csv").write_text("colour,x,when\nred,1,2026-01-01\n")
    with pytest.raises(ValueError, match="other columns"), open_source(folder, GUESS) as source:
        list(source)


def test_an_iterator_that_did_not_begin_again_is_refused_unless_it_is_live():
    def rows(first):
        return iter([FRAME[i : i + 50] for i in range(first, 300, 50)])

    with open_source(rows(0), GUESS) as source:
        place = source.mark(next(iter(source)).place)
    with open_source(rows(50), GUESS) as source, pytest.raises(ValueError, match="begin") as error:
        source.seek(place)
    assert [one.option for one in error.value.advice] == ["live"]
    with open_source(rows(50), SourceOptions(40, live=True)) as source:
        source.seek(place)
        assert next(iter(source)).X.values[0][0] == FRAME["x"][50]


@pytest.mark.parametrize("odd", ["x", 3, [1.0, 2.0], [np.zeros(3)], []])
def test_what_is_no_table_is_refused(odd):
    with pytest.raises((TypeError, ValueError, OSError)):
        list(open_source(odd, GUESS))


def test_a_run_takes_a_table_and_the_name_of_an_output(tmp_path):
    model = scstream.ScStream("gaussian", random_state=0)
    result = scstream.run(FRAME, model, {"labels": tmp_path / "labels.csv"})
    assert result.totals.rows == 300
    assert list(result.model.feature_names_in_) == ["x"]  # words are not for this family
    assert len((tmp_path / "labels.csv").read_text().splitlines()) == 301


def test_a_day_that_comes_later_is_gone_on_with(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    days = written(tmp_path / "days", *FILES["csv"])
    late = days / "day10.csv"
    late.rename("late.csv")
    run = ["run", "days/day*.csv", "--batch-size", "25", "--random-state", "0"]
    argv = [*run, "-o", "labels.csv", "--checkpoint", "state"]
    assert main(argv) == 0
    Path("late.csv").rename(late)
    assert main(argv) == 0
    assert main([*run, "-o", "whole.csv"]) == 0
    labels = [Path(name).read_text() for name in ("labels.csv", "whole.csv")]
    assert labels[0] == labels[1]
    os.remove(days / "day1.csv")
    assert main(argv) == 1
    assert "a stream that has 3 files now" in capsys.readouterr().err
    assert main([*run, "-o", "days/day99.csv"]) == 2
    assert "would be one of the files" in capsys.readouterr().err
    monkeypatch.chdir(days)
    assert main(["run", ".", "-o", "none", "--batch-size", "25"]) == 0


def test_a_package_can_bring_a_source_and_a_sink(tmp_path, monkeypatch):
    """The adapter of docs/adapters.md, installed as a package is, runs and resumes."""
    page = Path(__file__).parents[2] / "docs" / "adapters.md"
    if not page.exists():
        pytest.skip("the pages are not here")
    blocks = dict(re.findall(r"^```(python|toml)\n(.*?)^```", page.read_text(), re.M | re.S))
    (tmp_path / "scstream_sqlite.py").write_text(blocks["python"])
    info = tmp_path / "scstream_sqlite-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: scstream-sqlite\nVersion: 0.1\n")
    points = re.sub(r'\[project\.entry-points\."(.*?)"\]', r"[\1]", blocks["toml"])
    (info / "entry_points.txt").write_text(points.replace('"', ""))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    import sqlite3

    with sqlite3.connect("data.db") as db:
        db.execute("CREATE TABLE rows (x, y)")
        rows = RNG.normal(size=(300, 2)).tolist()
        db.executemany("INSERT INTO rows VALUES (?, ?)", rows[:150])
    argv = ["run", "sqlite:///data.db?table=rows", "-o", "sqlite:///data.db?table=labels"]
    argv += ["--checkpoint", "state", "--batch-size", "50", "--random-state", "0"]
    argv += ["--family", "gaussian"]
    assert main(argv) == 0
    with sqlite3.connect("data.db") as db:
        db.executemany("INSERT INTO rows VALUES (?, ?)", rows[150:])
        db.execute("INSERT INTO labels VALUES (151, 99)")  # as if a run had been killed here
    db.close()
    assert main(argv) == 0
    with sqlite3.connect("data.db") as db:
        found = db.execute("SELECT row, label FROM labels").fetchall()
    assert [row for row, _ in found] == list(range(1, 301))
    assert 99 not in {label for _, label in found}
    sys.modules.pop("scstream_sqlite", None)
    assert main(["run", "rows.csv", "-o", "nats://server/labels"]) == 2
