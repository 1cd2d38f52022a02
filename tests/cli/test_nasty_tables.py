"""Tables from spreadsheets, loggers and databases run with no options, or one error says why."""

import json
from pathlib import Path

import numpy as np
import pytest
from nasty_tables import (
    LONG,
    PLAIN,
    SHORT,
    TABLES,
    TIMES,
    N,
    X,
    Y,
    Z,
    table,
)

from scstream.cli import main
from scstream.cli.columns import column_table
from scstream.sources.guess import Role
from scstream.sources.guess.dates import date_format, seconds
from scstream.support.printable import width_of


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(name, text, encoding="utf-8", *more):
    Path(name).write_bytes(text.encode(encoding))
    return main(["run", name, "-o", "out.csv", "--random-state", "0", "--n-jobs", "1", *more])


@pytest.mark.parametrize("name", ["german-thousands", "durations-beside"])
def test_a_nasty_table_runs_with_no_options(name, capsys):
    text, encoding, used, clock = TABLES[name]
    assert run("rows.csv", text, encoding, "--checkpoint", "state") == 0
    said = capsys.readouterr().err
    assert [line.split("  ")[0] for line in said.splitlines() if "  time  " in line] == (
        [clock] if clock else []
    )
    assert main(["show", "state", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["columns"] == used
    labels = np.loadtxt("out.csv", delimiter=",", skiprows=1)[:, 1]
    assert len(labels) == N
    assert 2 <= len(np.unique(labels)) <= 6


WRONG = {
    "aligned.txt": (
        "           x           y\n"
        + "".join(f"{a:12.4f}{b:12.4f}\n" for a, b in zip(X, Y, strict=True)),
        ["aligned.txt", "several spaces", "tr -s"],
    ),
    "page.csv": ("<!DOCTYPE html><html>no</html>\n", ["HTML"]),
    "array.csv": ('[{"x": 1}, {"x": 2}]', ["JSON array", "jq -c"]),
    "old-mac.csv": (PLAIN.replace("\n", "\r"), ["carriage return", "tr"]),
    "total.csv": (
        PLAIN + "Total,12,\n",
        [
            f"line {N + 2}",
            "'Total'",
            "--missing Total; if these are words: --text x",
            "--on-error reject",
        ],
    ),
    "no-values.csv": (table("a,b", lambda i: ("", "")), ["no column to learn from", "empty in"]),
    "rows-affected.csv": (
        PLAIN + "\n(240 rows affected)\n",
        [f"line {N + 3}", "1 fields", "--on-error reject"],
    ),
    "noughts.csv": (
        table("when,x", lambda i: (TIMES[i] if i % 100 else "0000-00-00 00:00:00", X[i])),
        ["lines 2, 102, 202: column 'when' holds '0000-00-00 00:00:00', which is not a time"],
    ),
    "joined.csv": (
        PLAIN + PLAIN,
        [
            f"line {N + 2}",
            "'x' holds 'x', which is not a number but the column's name",
            "--on-error reject",
        ],
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_one_error_says_what_is_wrong_and_what_mends_it(name, capsys):
    text, words = WRONG[name]
    assert run(name, text) == 1
    said = capsys.readouterr().err
    assert [word for word in words if word not in said] == []
    assert not Path("out.csv").exists()


def test_a_doubtful_encoding_is_reported(capsys):
    assert run("rows.csv", table("größe", lambda i: (X[i],)), "cp1252") == 0
    assert "read as cp1252" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "encoding"),
    [
        ("도시 서울", "euc_kr"),
        ("Цвет синий", "cp1251"),
        ("名前 赤", "cp932"),
    ],
)
def test_other_encodings_are_named(words, encoding, capsys):
    name, word = words.split()
    rows = table(f"{name},x", lambda i: (word * (1 + Z[i]), X[i])).encode(encoding)
    Path("rows.csv").write_bytes(rows)
    assert main(["run", "rows.csv", "-o", "out.csv"]) == 1
    assert "--encoding NAME" in capsys.readouterr().err
    more = ["--encoding", encoding, "--random-state", "0", "--n-jobs", "1"]
    assert main(["run", "rows.csv", "-o", "out.csv", *more]) == 0
    assert name in capsys.readouterr().err


def test_tables_of_wide_letters_are_aligned():
    roles = [Role("名前", "text", "3 words"), Role("größe", "number", "numbers")]
    lines = zip(column_table(roles).splitlines(), ("taken", "category", "number"), strict=True)
    assert {width_of(line[: line.index(word)]) for line, word in lines} == {8}


def test_one_wrong_byte_does_not_change_the_encoding(capsys):
    rows = table("größe,farbe", lambda i: (X[i], ["grün", "weiß", "schwärzlich"][Z[i]])).encode()
    Path("rows.csv").write_bytes(rows + b"1.0,gr\xfcn\n")
    assert main(["run", "rows.csv", "-o", "out.csv"]) == 1
    said = capsys.readouterr().err
    for word in (f"line {N + 2}", "is not UTF-8", "--encoding NAME", "--on-error reject"):
        assert word in said


def test_months_in_words_are_the_months_they_name():
    for dates in (LONG, SHORT[:200]):
        form = date_format(dates)
        days = np.diff(seconds(dates, form)) / 86400
        assert set(days) <= {1.0, 1.5, 2.0}


def test_rows_beneath_the_names_are_skipped_on_resume():
    head, rows = "x,y\n----,----\n", table("", lambda i: (X[i], Y[i]))
    more = ["--checkpoint", "state", "--batch-size", "60"]
    assert run("rows.csv", head + rows, "utf-8", *more) == 0
    assert run("rows.csv", head + rows + rows, "utf-8", *more) == 0
    assert len(Path("out.csv").read_text().splitlines()) == 2 * N + 1


@pytest.mark.parametrize("first", ["--,--", "---,---", "NA,NaN"])
@pytest.mark.parametrize("names", ["x,y", "x,"])
def test_a_first_row_without_values_is_a_row(names, first):
    assert run("rows.csv", f"{names}\n{first}\n" + table("", lambda i: (X[i], Y[i]))) == 0
    assert len(Path("out.csv").read_text().splitlines()) == N + 2


@pytest.mark.parametrize("first", ["err,off", "bad,bad", "error,1.5"])
def test_words_in_a_first_row_are_not_taken_for_a_head(first, capsys):
    assert run("rows.csv", f"x,y\n{first}\n" + table("", lambda i: (X[i], Y[i]))) == 1
    said = capsys.readouterr().err
    assert "line 2: column 'x' holds" in said


def test_dates_cannot_be_learned_from(capsys):
    rows = table("when,x", lambda i: (TIMES[i], X[i]))
    assert run("rows.csv", rows, "utf-8", "--columns", "x,when") == 1
    said = capsys.readouterr().err
    for word in ("Column 'when' cannot be learned from", "--time-column when", "--text when"):
        assert word in said
    assert run("rows.csv", rows, "utf-8", "--columns", "x", "--time-column", "when") == 0


@pytest.mark.filterwarnings("default:Column 'order_id' only rises")
def test_columns_that_are_listed_are_not_left_out(capsys):
    rows = table("order_id,x", lambda i: (1000 + 7 * i, X[i]))
    assert run("rows.csv", rows) == 0
    assert "left out" in capsys.readouterr().err
    assert run("rows.csv", rows, "utf-8", "--columns", "x,order_id", "--overwrite") == 0
    said = capsys.readouterr().err
    assert "left out" not in said
    assert "Column 'order_id' only rises" in said


@pytest.mark.parametrize(("more", "taken"), [("", "names"), ("0,1\n" * 9, "data")])
def test_what_numbers_in_a_first_row_are_taken_for_is_reported(more, taken, capsys):
    rows = table("", lambda i: (3 + i % 4, 5 + Z[i]))
    assert run("rows.csv", "0,1\n" + more + rows) == 0
    assert f"0, 1 in the first row of rows.csv are taken for {taken}" in capsys.readouterr().err
    n = len(Path("out.csv").read_text().splitlines()) - 1
    assert n == N + (10 if taken == "data" else 0)


def test_lines_above_the_table_are_reported(capsys):
    assert run("rows.csv", "Report of May\n\n" + PLAIN) == 0
    assert "begins on line 3" in capsys.readouterr().err


def test_a_short_row_above_numbers_is_not_taken_for_a_title(capsys):
    rows = PLAIN.split("\n", 1)[1]
    assert run("rows.csv", "5,6\n" + rows) == 1
    assert "fields where 2 are expected" in capsys.readouterr().err


def test_another_unit_in_a_later_row_is_an_error(capsys):
    rows = table("x,weight", lambda i: (X[i], f"{70 + X[i]:.1f} kg")).splitlines()
    later = "\n".join([*rows, *rows[1:] * 8, "1.5,150 lb", ""])
    assert run("rows.csv", later, "utf-8", "--batch-size", "240") == 1
    assert "'150 lb', in lb; the rows before are in kg" in capsys.readouterr().err


def test_units_in_a_resumed_run(capsys):
    rows = table("x,weight", lambda i: (X[i], f"{70 + X[i]:.1f} kg"))
    more = ["--checkpoint", "state", "--batch-size", "60"]
    assert run("rows.csv", rows, "utf-8", *more) == 0
    assert run("rows.csv", rows + "1.5,150 lb\n", "utf-8", *more) == 1
    assert "the rows before are in kg" in capsys.readouterr().err
    assert run("rows.csv", rows + rows.split("\n", 1)[1], "utf-8", *more) == 0
    assert len(Path("out.csv").read_text().splitlines()) == 2 * N + 1
