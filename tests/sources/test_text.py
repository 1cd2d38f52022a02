"""CSV, TSV and JSON lines: what is read, what is refused, and where reading goes on."""

import csv
import io
import json
import os
import sys
import threading
import time

import numpy as np
import pandas as pd
import pytest

from scstream.sources import MalformedRow, SourceOptions, format_of, open_source
from scstream.sources.readers import BLOCK
from scstream.sources.rows import as_word


def write(tmp_path, text, name="rows.csv"):
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def options_of(size=1000, **more):
    """Return options with which each column is taken as it is."""
    return SourceOptions(size, **{"keep": True, "time_column": "none"} | more)


def read(path, size=1000, **options):
    with open_source(path, options_of(size, **options)) as source:
        return list(source)


def rows(path, **options):
    """Return all rows as one matrix."""
    batches = read(path, **options)
    return np.concatenate([batch.X for batch in batches])


def lists(batch):
    return np.asarray(batch.X).tolist()


# -- numbers ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["0", "-0", "+.5", "5.", "1e5", "1E-05", "-1.25e+10", "  7 ", "0.1", "1e22", "1e23",
     "9007199254740993", "9007199254740993.0000000000000000001", "123456789012345678901234567890",
     "2.2250738585072014e-308", "4.9e-324", "1e-400", "0.30000000000000004"],
)  # fmt: skip
def test_forms_of_numbers(tmp_path, text):
    found = rows(write(tmp_path, f"x,y\n1,{text}\n"))
    assert found[0, 1] == float(text)
    assert np.signbit(found[0, 1]) == np.signbit(float(text))


@pytest.mark.parametrize(
    "text",
    ["1_000", "0x10", "1;5", "one", "1 2", "--1", "+", "1e1e1", "infinity", "1e999"],
)
def test_what_is_no_number_is_refused(tmp_path, text):
    path = write(tmp_path, "x;y\n" + "1;2.5\n" * 30 + f'3;"{text}"\n')
    with pytest.raises(
        MalformedRow, match=r"rows\.csv, line 32: column 'y' holds .*(not a|not fin)"
    ):
        read(path, separator=";")


def test_decimal_comma(tmp_path):
    path = write(tmp_path, "x;y\n1,5;-2\n,25;1,0e3\n3;1234567890123,4567890\n")
    found = rows(path, separator=";", decimal=",")
    np.testing.assert_array_equal(found[:2], [[1.5, -2], [0.25, 1000]])
    assert found[2, 1] == 1234567890123.456789


# -- records ------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends_marks_and_blank_lines(tmp_path, end, mark, last):
    text = mark + end.join(["", "x,y", "", "1,2", "", "", "3,4"]) + (end if last else "")
    batches = read(write(tmp_path, text))
    np.testing.assert_array_equal(batches[0].X, [[1, 2], [3, 4]])
    assert batches[0].numbers.tolist() == [1, 2]
    assert batches[0].where == "rows.csv, lines 4 to 7"


def test_quotes_and_line_ends_within_them(tmp_path):
    text = 'x,"the ""y""",note\n"1","2","a, b\nc"\n3,4,"say ""no"""\n5,6,7" wide\n'
    path = write(tmp_path, text)
    batch = read(path, text=["note"])[0]
    assert batch.X.labels == ["x", 'the "y"', "note"]
    assert batch.X.values[2].tolist() == ["a, b\nc", 'say "no"', '7" wide']
    assert batch.X.values[0].tolist() == [1, 3, 5]
    bad = write(tmp_path, text + "7,8\n", "bad.csv")
    with pytest.raises(MalformedRow, match="line 6: 2 fields where 3 are expected"):
        read(bad)


def test_random_tables_come_out_as_the_csv_module_reads_them(tmp_path):
    rng = np.random.default_rng(1)
    parts = ["a", '"', ",", "\n", "\r\n", "é", " ", "1", ""]
    table = [
        ["".join(rng.choice(parts, size=rng.integers(0, 5))) + "x" for _ in range(3)]
        for _ in range(300)
    ]
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([["a", "b", "c"], *table])
    path = write(tmp_path, text.getvalue())
    batch = read(path, size=1000, text=["a", "b", "c"])[0]
    assert [list(row) for row in zip(*batch.X.values, strict=True)] == table


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1", "1 fields where 2 are expected"),
        ("1,2,3", "3 fields where 2 are expected"),
        ("1,two", "column 'y' holds 'two', which is not a number"),
        ("inf,2", "column 'x' holds 'inf', which is not a number"),
        ("1e999,2", "column 'x' holds '1e999', which is not finite"),
        ('"1"2,3', "a closing quote is followed by more than a separator"),
        ("# no comment", "1 fields where 2 are expected"),
    ],
)
def test_a_malformed_row_stops_the_run_behind_the_batches_before_it(tmp_path, line, reason):
    path = write(tmp_path, "x,y\n" + "1,2\n" * 25 + line + "\n" + "3,4\n" * 10)
    seen = []
    with pytest.raises(MalformedRow) as error, open_source(path, options_of(10)) as source:
        seen.extend(batch.n for batch in source)
    assert seen == [10, 10]
    assert str(error.value) == f"rows.csv, line 27: {reason}."
    assert error.value.advice[-1].option == "on_error"  # its door says how


def test_rejected_rows_are_told_with_the_batch_they_precede(tmp_path):
    lines = [f"{i},{i}" for i in range(25)]
    lines[3], lines[12], lines[24] = "one,2", "1", "end,2"
    path = write(tmp_path, "x,y\n" + "\n".join(lines) + "\n")
    batches = read(path, size=10, on_error="reject")
    assert [batch.n for batch in batches] == [10, 10, 2]
    told = [[(r.line, r.row, r.text) for r in batch.rejects] for batch in batches]
    assert told == [[(5, 4, "one,2")], [(14, 13, "1")], [(26, 25, "end,2")]]
    assert batches[1].numbers.tolist() == [12, *range(14, 23)]
    assert batches[-1].place["row"] == 25


def test_rows_that_are_all_rejected_are_told(tmp_path):
    batch = read(write(tmp_path, "x,y\n1,\n2,\n"), on_error="reject", complete=True)[0]
    assert batch.n == 0
    assert len(batch.rejects) == 2


def test_a_quote_that_is_not_closed_costs_one_line(tmp_path):
    path = write(tmp_path, 'x,y\n1,2\n"3,4\n5,6\n')
    batches = read(path, on_error="reject")
    assert [r.text for r in batches[0].rejects] == ['"3,4']
    np.testing.assert_array_equal(batches[0].X, [[1, 2], [5, 6]])
    with pytest.raises(MalformedRow, match="line 3: a quote that is opened is not closed"):
        read(path)
    with pytest.raises(MalformedRow, match="line 1: a quote that is opened is not closed"):
        read(write(tmp_path, '"x,y\n1,2\n'))


def test_text_that_is_not_utf8_is_refused(tmp_path):
    path = write(tmp_path, b"x,y\n" + "1,\u00e9\n".encode() * 30 + b"2,\xff\n")
    with pytest.raises(MalformedRow, match=r"line 32: b'\\xff' is not UTF-8"):
        read(path)


# -- columns ------------------------------------------------------------------------------------


def test_the_header_can_be_forced(tmp_path):
    path = write(tmp_path, "1,2\n3,4\n")
    assert rows(path, header=True).tolist() == [[3, 4]]
    assert rows(path, header=False).tolist() == [[1, 2], [3, 4]]
    words = write(tmp_path, "a,b\nc,d\n", "words.csv")
    assert read(words, header=False)[0].n == 2


def test_columns_are_chosen_by_name_and_number(tmp_path):
    path = write(tmp_path, "a,b,c,d\n1,2,x,4\n5,6,y,8\n")
    assert rows(path, columns=["b", "a"]).tolist() == [[2, 1], [6, 5]]
    assert rows(path, columns=["3", "0"]).tolist() == [[4, 1], [8, 5]]
    assert rows(path, exclude=["c"]).tolist() == [[1, 2, 4], [5, 6, 8]]
    with pytest.raises(ValueError, match="There is no column 'e'; there are 4: a, b, c, d"):
        read(path, columns=["e"])
    with pytest.raises(ValueError, match="named twice"):
        read(path, columns=["a", "0"])


def test_missing_values(tmp_path):
    path = write(tmp_path, "x,y\n1,\n,2\nNA,3\n4,NaN\n5,-\n6,n/a\n")
    found = rows(path, missing=["-"])
    np.testing.assert_array_equal(np.isnan(found).any(axis=1), True)
    for options in ({"complete": True},):
        with pytest.raises(MalformedRow, match="column 'y' is missing, and the family"):
            read(path, missing=["-"], **options)
    batches = read(path, missing=["-"], complete=True, on_error="reject")
    assert [r.line for r in batches[0].rejects] == [2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.npy", "a.parquet"])
def test_a_number_may_stand_for_missing_ones_in_any_source(tmp_path, name):
    held = np.array([[1.5, -999.0], [-999.0, 2.5], [3.0, -99.0], [4.0, 5.0]])
    path, frame = tmp_path / name, pd.DataFrame(held, columns=["x", "y"])
    if name == "a.csv":
        frame.to_csv(path, index=False)
    elif name == "a.jsonl":
        frame.to_json(path, orient="records", lines=True)
    elif name == "a.npy":
        np.save(path, held)
    else:
        pytest.importorskip("pyarrow", reason="PyArrow is not installed")
        frame.to_parquet(path)
    found = rows(path, missing=["-999"])
    np.testing.assert_array_equal(found, np.where(held == -999.0, np.nan, held))
    np.testing.assert_array_equal(rows(path), held)
    with pytest.raises(MalformedRow, match=r"column '[1y]' is missing, and the family"):
        read(path, missing=["-999"], complete=True)


def test_a_decimal_comma_and_words_of_other_sources_are_missing_too(tmp_path):
    path = write(tmp_path, "x;y\n1,5;-9,5\n2,5;3,5\n")
    for options in ({"separator": ";", "decimal": ","}, {}):
        found = rows(path, missing=["-9,5"], **options)
        np.testing.assert_array_equal(found, [[1.5, np.nan], [2.5, 3.5]])
    (tmp_path / "b.jsonl").write_text('{"x": 1, "w": "red"}\n{"x": 2, "w": "Lost"}\n')
    batch = read(tmp_path / "b.jsonl", missing=["lost"])[0]
    assert batch.X.values[1].tolist() == ["red", None]


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet"])
def test_numbers_are_words_in_any_source_if_the_user_says_so(tmp_path, name):
    path, frame = tmp_path / name, pd.DataFrame({"x": [1.5, 2.5, 3.5], "zip": [10115, 10117, 99]})
    if name == "a.csv":
        frame.to_csv(path, index=False)
    elif name == "a.jsonl":
        path.write_text(frame.to_json(orient="records", lines=True).replace("99}", "null}"))
    else:
        pytest.importorskip("pyarrow", reason="PyArrow is not installed")
        frame.astype({"zip": "Int64"}).replace({"zip": {99: None}}).to_parquet(path)
    batch = read(path, text=["zip"], missing=["99"])[0]
    assert batch.X.values[1].tolist() == ["10115", "10117", None]


def test_numbers_as_words():
    values = None, np.nan, True, 3, 3.0, 2.5, -np.inf, 2**60 + 1
    words = [None, None, "true", "3", "3", "2.5", "-inf", "1152921504606846977"]
    assert [as_word(value) for value in values] == words


@pytest.mark.parametrize(
    ("name", "option"),
    [("a.jsonl", {"separator": ";"}), ("a.parquet", {"decimal": ","}), ("a.npy", {"header": True}),
     ("a.parquet", {"encoding": "cp1252"})],
)  # fmt: skip
def test_options_of_other_formats_are_refused(tmp_path, name, option):
    (tmp_path / name).write_text("")
    with pytest.raises(ValueError, match=rf"option {next(iter(option))} is for csv, tsv"):
        read(tmp_path / name, **option)


def test_what_is_required_may_change_between_batches(tmp_path):
    path = write(tmp_path, "x,y\n" + "1,2\n,3\n" * 10)
    with open_source(path, options_of(4, on_error="reject")) as source:
        batches = iter(source)
        assert np.isnan(next(batches).X).any()
        source.require([True, True])
        after = list(batches)
    assert [batch.n for batch in after] == [4, 4, 0]  # what is left out last comes alone
    assert sum(len(batch.rejects) for batch in after) == 8
    assert not any(np.isnan(batch.X).any() for batch in after)


# -- batches ------------------------------------------------------------------------------------


def test_blocks_do_not_show(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60000, 3))
    text = "\n".join(",".join(map(repr, row)) for row in X.tolist())
    path = write(tmp_path, text)
    assert path.stat().st_size > 3 * BLOCK
    batches = read(path, size=7001, keep_rows=True)
    assert [batch.n for batch in batches] == [7001] * 8 + [60000 - 8 * 7001]
    np.testing.assert_array_equal(np.concatenate([batch.X for batch in batches]), X)
    texts = [batch.rows.text(i) for batch in batches for i in range(batch.n)]
    assert texts == text.split("\n")


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl"])
def test_reading_goes_on_behind_any_batch(tmp_path, name):
    if name.endswith("csv"):
        lines = ["x,y", *(f"{i},{i * i}" if i % 7 else f'"{i}","oops\n"' for i in range(100))]
    else:
        lines = [json.dumps({"x": i, "y": i * i if i % 7 else "oops"}) for i in range(1, 100)]
    path = write(tmp_path, "\n".join(lines) + "\n", name)
    options = options_of(9, on_error="reject", numeric=True)
    with open_source(path, options) as source:
        whole = list(source)
    for k in range(len(whole)):
        with open_source(path, options) as source:
            source.seek(json.loads(json.dumps(whole[k].place)))
            rest = list(source)
        assert [b.place for b in rest] == [b.place for b in whole[k + 1 :]]
        assert [b.rejects for b in rest] == [b.rejects for b in whole[k + 1 :]]
        for a, b in zip(rest, whole[k + 1 :], strict=True):
            np.testing.assert_array_equal(a.X, b.X)
            np.testing.assert_array_equal(a.numbers, b.numbers)


def test_batches_by_time(tmp_path):
    times = [0, 1, 9.5, 10, 11, 8, 35, 36, 41, 12]
    path = write(tmp_path, "t,x\n" + "".join(f"{t},{i}\n" for i, t in enumerate(times)))
    batches = read(path, time_column="t", period=10)
    assert [batch.X[:, 0].tolist() for batch in batches] == [[0, 1, 2], [3, 4, 5], [6, 7], [8, 9]]
    assert [batch.time for batch in batches] == [10, 20, 40, 50]
    for k, batch in enumerate(batches):
        with open_source(path, options_of(time_column="t", period=10)) as source:
            source.seek(batch.place)
            assert [b.time for b in source] == [10, 20, 40, 50][k + 1 :]


def test_times_of_batches_by_rows_and_dates(tmp_path):
    text = "when,x\n2026-01-01T00:00:00Z,1\n2026-01-01 00:00:30,2\n2026-01-01T01:01:00+01:00,3\n"
    path = write(tmp_path, text)
    start = 1767225600.0
    assert [b.time for b in read(path, time_column="when", size=2)] == [
        start + 30,
        start + 60,
    ]
    assert [b.n for b in read(path, time_column="when", period=60)] == [2, 1]
    with pytest.raises(ValueError, match="'when' holds 'soon', which cannot be read as a time"):
        read(write(tmp_path, text + "soon,4\n"), time_column="when")


# -- JSON lines ---------------------------------------------------------------------------------


def test_json_lines(tmp_path):
    text = '{"x": 1, "w": "a"}\n\n{"w": "b", "x": 2.5, "more": [1]}\n{"x": null}\n'
    text += '{"x": true, "w": "c"}'
    batch = read(write(tmp_path, text, "rows.jsonl"))[0]
    np.testing.assert_array_equal(batch.X.values[0], [1, 2.5, np.nan, 1])
    assert batch.X.values[1].tolist() == ["a", "b", None, "c"]
    assert batch.where == "rows.jsonl, lines 1 to 5"
    assert rows(write(tmp_path, "[1, 2]\n[3, 4]\n", "a.jsonl")).tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"x": 1', "not JSON"),
        ("3", "neither an object nor an array"),
        ('{"x": "one"}', "column 'x' holds \"one\", which is not a number"),
        ('{"x": Infinity}', "column 'x' holds Infinity, which is not finite"),
        ('{"x": [1]}', r"column 'x' holds \[1\], which is not a number"),
        ('{"x": 1' + "0" * 400 + "}", "which is not finite"),
        ("[" * 100000, "not JSON"),
        ('[{"x": 1},', "not JSON in lines, as jq"),
    ],
)
def test_malformed_json_lines(tmp_path, line, reason):
    path = write(tmp_path, '{"x": 1}\n' * 1000 + line + '\n{"x": 3}\n', "rows.jsonl")
    with pytest.raises(MalformedRow, match=f"line 1001: .*{reason}"):
        read(path)
    assert lists(read(path, 2000, on_error="reject")[0]) == [[1]] * 1000 + [[3]]


def test_json_lines_that_begin_badly(tmp_path):
    path = write(tmp_path, '\noops\n{"x": 1}\n', "rows.jsonl")
    assert lists(read(path, on_error="reject")[0]) == [[1]]
    with pytest.raises(MalformedRow, match=r"rows\.jsonl, line 2: not JSON"):
        read(path)
    with pytest.raises(MalformedRow, match=r"rows\.jsonl, line 1: not JSON"):
        read(write(tmp_path, "oops\n3\n", "rows.jsonl"))


# -- streams that go on -------------------------------------------------------------------------


def test_a_file_that_grows_is_followed(tmp_path):
    path = write(tmp_path, "x,y\n1,2\n3,")

    def grow():
        time.sleep(0.3)
        with open(path, "a") as file:
            file.write("4\n5,6")
            file.flush()
            time.sleep(0.3)
            file.write("\n7,8\n9")

    writer = threading.Thread(target=grow)
    writer.start()
    found = []
    with open_source(path, options_of(2, follow=True)) as source:
        for batch in source:
            found.append(lists(batch))
            if len(found) == 2:
                break
    writer.join()
    assert found == [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]


def test_a_batch_is_closed_early_after_a_wait(tmp_path):
    path = write(tmp_path, "x,y\n1,2\n")
    with open_source(path, options_of(100, follow=True, wait=0.2)) as source:
        batches = iter(source)
        first = next(batches)
        with open(path, "a") as file:
            file.write("3,4\n")
        assert [lists(first), lists(next(batches))] == [[[1, 2]], [[3, 4]]]


def test_a_file_that_was_cut_between_runs_is_an_error(tmp_path):
    path = write(tmp_path, "x,y\n" + "1,2\n" * 10)
    with open_source(path, options_of(10)) as source:
        place = next(iter(source)).place
    os.truncate(path, 8)
    with (
        open_source(path, options_of(10)) as source,
        pytest.raises(ValueError, match="has 8 bytes, but 44 were read before"),
    ):
        source.seek(place)


def through_input(monkeypatch, text, place=None, live=False):
    """Read from standard input in place of a file."""
    into, out = os.pipe()
    os.write(out, text.encode())
    os.close(out)
    with open(into) as stream, monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", stream)
        with open_source("-", options_of(2, live=live)) as source:
            if place is not None:
                source.seek(place)
            return [(lists(batch), batch.place) for batch in source]


def test_standard_input_comes_again_or_goes_on(monkeypatch):
    text = "x,y\n1,2\n3,4\n5,6\n7,8\n"
    whole = through_input(monkeypatch, text)
    assert [X for X, _ in whole] == [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]
    assert through_input(monkeypatch, text, whole[0][1]) == whole[1:]
    assert through_input(monkeypatch, "5,6\n7,8\n", whole[0][1], live=True) == whole[1:]
    with pytest.raises(ValueError, match="Standard input ended 2 bytes before"):
        through_input(monkeypatch, text[:10], whole[0][1])


# -- wrong use ----------------------------------------------------------------------------------


def test_wrong_use(tmp_path):
    with pytest.raises(FileNotFoundError):
        open_source(tmp_path / "rows.dat")
    for text, kind in (("1,2\n", "csv"), ('{"x": 1}\n', "jsonl"), ("\n [1]\n", "jsonl")):
        assert format_of(str(write(tmp_path, text, "rows.dat")), None) == kind
    with pytest.raises(FileNotFoundError):
        open_source(tmp_path / "none.csv")
    with pytest.raises(ValueError, match="Nothing that is installed opens ftp://"):
        open_source("ftp://server/file")
    for wrong in (
        {"batch_size": 0}, {"separator": ",,"}, {"on_error": "skip"},
        {"format": "xls"}, {"time_column": "t", "period": -1.0}, {"wait": 0.0},
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"must be|needs"):
            SourceOptions(**wrong)
    with pytest.raises(ValueError, match="both separated"):
        open_source(write(tmp_path, "1;2\n"), SourceOptions(decimal=",", separator=","))


def test_files_without_rows(tmp_path):
    for name, text, said in (
        ("a.csv", "", "empty"), ("b.csv", "\n\n", "empty"), ("c.csv", "x,y\n", "no rows"),
        ("a.jsonl", "", "empty"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=said):
            read(write(tmp_path, text, name))
