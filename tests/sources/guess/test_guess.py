"""What a look at the first rows says about a table."""

import sys
import tempfile
import time

import numpy as np
import pytest

from scstream.sources import MalformedRow, SourceOptions, open_source
from scstream.sources.guess.amounts import amount, is_number, to_number
from scstream.sources.guess.clock import is_clock_name
from scstream.sources.guess.columns import columns_of_look
from scstream.sources.guess.dates import date_format, is_form, seconds, usual_format
from scstream.sources.guess.dialect import guess_dialect, spread
from scstream.sources.guess.encoding import encoding_of
from scstream.sources.guess.looks import Look
from scstream.support.advice import Advice

GUESS = SourceOptions()


def roles(columns, options=GUESS, **look):
    n = max(map(len, columns.values()))
    found = Look(list(columns), list(columns.values()), n, look.pop("total", n), **look)
    return {role.name: role for role in columns_of_look(found, options)}


@pytest.mark.parametrize(
    ("text", "separator", "decimal", "header"),
    [
        ("a,b\n1,2\n3,4\n", ",", ".", True),
        ("a;b\n1,5;2\n3;4,25\n", ";", ",", True),
        ("a;b\n1.5;2\n3;4.25\n", ";", ".", True),
        ("1.234,5;2\n3;4\n", ";", ",", False),
        ("a\tb\nx, y\t1\nz\t2\n", "\t", ".", True),
        ("a|b\n1|2\n", "|", ".", True),
        ("red,S\nblue,M\nred,L\n", ",", ".", False),
        ("colour,size\nred,S\nblue,M\n", ",", ".", True),
        (",x\n0,1.5\n1,2.5\n", ",", ".", True),
        ("when,x\n2026-01-01,a\n2026-01-02,b\n", ",", ".", True),
        ("2026-01-01,a\n2026-01-02,b\n", ",", ".", False),
        ("flag\nTrue\nFalse\n", ",", ".", True),
        ('"a;b";c\n"x;y";1\n', ";", ".", True),
        ("x\n1\n2\n", ",", ".", True),
    ],
)
def test_dialects(text, separator, decimal, header):
    found = guess_dialect(text, None, None, None, {""})
    assert (found.separator, found.decimal, found.header) == (separator, decimal, header)


REAL, COUNTS = (
    ["0.5,2.25,1.5", "1.25,0.5,3.0", "2.0,1.75,0.25", "0.75,3.5,2.5"] * 9,
    ["0,1,4", "2,1,2", "1,0,2", "0,3,0"] * 9,
)


def _numbered(rows):
    return [f"{i},{row}" for i, row in enumerate(rows)]


@pytest.mark.parametrize(
    ("first", "rows", "header"),
    [
        ("0,1,2", REAL, True),
        ("1,2,3", REAL, True),
        (",0,1,2", _numbered(REAL), True),
        ("0,1,2", [f"{5 + i},{9 * i % 31},{7 * i % 19 + 3}" for i in range(40)], True),
        ("1990,1991,1992", COUNTS, True),
        ("land,1990,1995,2007", [f"n{row}" for row in _numbered(COUNTS)], True),
        ("2020-01,2020-02,2020-03", REAL, True),
        ("0,1,2", COUNTS, False),
        ("0,1,2", [f"{i},{i + 1},{i + 2}" for i in range(3, 99, 3)], False),
        ("0.0,1.0,2.0", REAL, False),
        ("5,3,1", COUNTS, False),
        ("n0,1990,1991", [f"n{i},{1990 + i % 7},{1991 + i % 7}" for i in range(1, 40)], False),
    ],
)
def test_numbers_that_name_columns(first, rows, header):
    text = "\n".join([first, *rows, ""])
    assert guess_dialect(text, None, None, None, {""}).header is header


def test_what_is_given_is_taken_as_it_is():
    found = guess_dialect("a;b\n1,5;2\n", ",", ".", False, {""})
    assert (found.separator, found.decimal, found.header) == (",", ".", False)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be",
                                      "utf-32", "cp1252"])  # fmt: skip
def test_encodings(encoding):
    text = "name,größe\nJürgen,1\n" * 50
    assert text.encode(encoding).decode(encoding_of(text.encode(encoding))).lstrip("\ufeff") == text


def test_a_letter_that_is_cut_does_not_hide_utf8():
    assert encoding_of(("x" + "é" * 100).encode()[:-1]) == "utf-8"


@pytest.mark.parametrize(
    ("text", "decimal", "value"),
    [("1.5", ".", 1.5), ("1,5", ",", 1.5), ("1.234,5", ",", 1234.5), ("1,234,567", ".", 1234567.0),
     ("12 %", ".", 12.0), ("$5.00", ".", 5.0), ("-3", ",", -3.0), ("1.234", ",", 1234.0)],
)  # fmt: skip
def test_numbers(text, decimal, value):
    assert is_number(text, decimal)
    assert to_number(text, decimal) == value


@pytest.mark.parametrize("text", ["1,23", "1.2.3", "12:30", "%", "1_000", "0x10", "nan", "1,2345"])
def test_what_is_no_number(text):
    assert not is_number(text, ".")


@pytest.mark.parametrize(
    ("text", "decimal", "found"),
    [("12.5 kg", ".", (12.5, "kg")), ("3km/h", ".", (3.0, "km/h")), ("20,5°C", ",", (20.5, "°C")),
     ("-$ 50", ".", (-50.0, "$")), ("$-50", ".", (-50.0, "$")), ("(1,234.50)", ".", (-1234.5, "")),
     ("1'234.5", ".", (1234.5, "")), ("1\u00a0234,5", ",", (1234.5, "")),
     ("\u22123", ".", (-3.0, "")), ("USD 5", ".", (5.0, "USD")), ("'1.5'", ".", (1.5, "")),
     ("1.5e3 m²", ".", (1500.0, "m²")), ("12.5-", ".", (-12.5, "")),
     ("5 %", ".", (5.0, "%")), ("1.234", ",", (1234.0, "")), ("A12", ".", None),
     ("12 34", ".", None), ("1.2.3", ".", None), ("12:30", ".", None),
     ("- 5 -", ".", None), ("--5", ".", None),
     ("2026-01-01", ".", None), ("030 123 456", ".", None), ("1 Main St", ".", None),
     ("LH 400", ".", None), ("", ".", None), ("()", ".", None), ("''", ".", None)],
)  # fmt: skip
def test_amounts(text, decimal, found):
    assert amount(text, decimal) == found


@pytest.mark.parametrize(
    ("rows", "header", "above"),
    [
        ("x,y\n1,2\n3,4\n", True, 0),
        ("a title\nx,y\n1,2\n3,4\n5,6\n7,8\n", True, 1),
        ("a title\n\nof two\n\nx,y\n" + "1,2\n" * 9, True, 4),
        ("x,y\n" + "1,5,6\n" * 9, True, 0),
        ("1,2\n" + "1,5,6\n" * 9, False, 0),
        ("30d,x\n1.5,2\n2.5,3\n", True, 0),
        ("30d,x\n20d,y\n25d,z\n", False, 0),
    ],
)
def test_where_a_table_begins(rows, header, above):
    found = guess_dialect(rows, None, None, None, {""})
    assert (found.header, found.above) == (header, above)


def test_a_header_that_is_announced_may_have_a_field_too_few():
    rows = "x,y\n" + "7,1.5,2.5\n" * 9
    assert guess_dialect(rows, None, None, True, {""}).above == 0
    assert guess_dialect("a title\n" + rows, None, None, True, {""}).above == 1
    assert guess_dialect(rows, None, None, False, {""}).above == 0


@pytest.mark.parametrize(
    ("name", "is_one"),
    [("Time (s)", True), ("t [ms]", True), ("created", True), ("rate (per time)", False)],
)
def test_names_of_clocks(name, is_one):
    assert is_clock_name(name) is is_one


def test_months_are_dates():
    assert date_format(["2026-01", "2026-02"]) == "%Y-%m"
    assert date_format(["01/2026", "02/2026"]) == "%m/%Y"


def test_phone_numbers_are_not_measured():
    numbers = [f"{170 + i % 9} {i % 900 + 100} {(i * 37) % 900 + 100}" for i in range(100)]
    found = roles({"phone": numbers, "population": numbers})
    assert found["phone"].kind == "out"
    assert found["population"].kind == "number"


def test_dates_in_the_order_of_days_or_months():
    assert date_format(["01/31/2026", "02/01/2026"]) == "%m/%d/%Y"
    assert date_format(["31/01/2026", "01/02/2026"]) == "%d/%m/%Y"
    assert date_format(["01/02/2026", "01/03/2026", "02/01/2026"]) == "%m/%d/%Y"
    assert date_format(["soon"]) is None
    assert date_format(["20260101", "20260102"]) is None  # a number
    assert seconds(["31.12.2025 23:00"], "%d.%m.%Y %H:%M").tolist() == [1767222000.0]


def test_what_cannot_be_clustered_is_left_out():
    n = 200
    rng = np.random.default_rng(0)
    found = roles(
        {
            "user_id": [str(i) for i in rng.permutation(10**6)[:n]],
            "row": [str(i) for i in range(5, 5 + n)],
            "mail": [f"a{i}@b.org" for i in range(n)],
            "text": [f"all about the row {i}" for i in range(n)],
            "one": ["1.0"] * n,
            "none": [],
            "shop_id": [str(7 * i) for i in rng.integers(9, size=n)],
            "price": [f"{x:.2f}" for x in rng.normal(size=n)],
            "cents": [str(i) for i in rng.permutation(10**6)[:n]],
            "flag": ["TRUE", "FALSE"] * (n // 2),
            "town": [f"town {i}" for i in rng.integers(15, size=n)],
        }
    )
    kinds = {name: role.kind for name, role in found.items()}
    assert kinds == {
        "user_id": "out", "row": "out", "mail": "out", "text": "out", "one": "out", "none": "out",
        "shop_id": "text", "price": "number", "cents": "number", "flag": "truth", "town": "text",
    }  # fmt: skip
    assert found["mail"].changes == (Advice("include", "mail"),)


def test_keys_are_no_features_and_measures_are():
    n = 600
    rng = np.random.default_rng(0)
    orders = np.cumsum(rng.integers(1, 9, n))
    keys = {
        "ID": 7 * rng.permutation(n),
        "CustomerID": rng.integers(10**9, size=n),
        "unit": rng.permutation(n) + 5000,
        "order": orders,
        "PostalCode": [f"{z:05d}" for z in rng.integers(99999, size=n)],
        "area": [f"{z:05d}" for z in rng.integers(99999, size=n)],
        "hash": [f"{z:012x}" for z in rng.integers(2**48, size=n)],
        "Phone": 4_930_000_000 + rng.integers(10**9, size=n),
        "land": np.repeat([f"land {i}" for i in range(50)], 12),
        "panel": np.tile([f"unit {i}" for i in range(25)], 24),
        "Year": np.tile(np.arange(1990, 2002), 50),
        "TIME": np.arange(n) / 4,
    }
    measures = {
        "salary": rng.normal(50000, 12000, n).astype(int),
        "cents": rng.integers(100, 10**6, n),
        "grams": rng.integers(2700, 6300, n),
        "seen": rng.integers(1_600_000_000, 1_700_000_000, n),
        "hhmm": [f"{h:02d}{m:02d}" for h, m in rng.integers([24, 60], size=(n, 2))],
        "humid": rng.integers(90, size=n),
        "year_built": rng.integers(1900, 2020, n),
        "state": rng.choice([f"state {i}" for i in range(30)], n, p=np.arange(1, 31) / 465),
    }
    day = np.datetime64("2026-01-01") + np.arange(n)
    columns = {name: list(map(str, values)) for name, values in (keys | measures).items()}
    found = roles({"day": list(map(str, day)), **columns})
    assert [name for name in keys if found[name].kind != "out"] == []
    assert [name for name in measures if found[name].kind == "out"] == []
    assert found["Year"].changes == (Advice("include", "Year"),)


def test_many_columns_without_repetition_are_ranks():
    rng = np.random.default_rng(0)
    found = roles({f"rank {j}": list(map(str, rng.permutation(90))) for j in range(6)})
    assert {role.kind for role in found.values()} == {"number"}


def test_years_in_order_are_the_clock():
    years = [str(1900 + i // 4) for i in range(200)]
    found = roles({"YEAR": years, "t": list(map(str, range(200))), "x": ["0.5", "1.5"] * 100})
    assert [role.kind for role in found.values()] == ["time", "out", "number"]


def test_a_column_that_varies_later_is_kept(tmp_path):
    lines = [f"{'a' if i < 2500 else 'b'},{i % 97}" for i in range(5000)]
    (tmp_path / "rows.csv").write_text("kind,x\n" + "\n".join(lines) + "\n")
    with open_source(tmp_path / "rows.csv", GUESS) as source:
        assert list(next(iter(source)).X.labels) == ["kind", "x"]
    chosen = spread(5000)
    assert (chosen[0], chosen[-1], len(chosen)) == (0, 4999, 1000)
    assert np.all(np.diff(chosen) > 0)


def days(order):
    return [f"2026-01-{1 + day:02d}" for day in order]


def test_the_clock_is_in_order_and_fine_enough():
    x = [f"{i % 7}.5" for i in range(28)]
    small = SourceOptions(10)
    assert roles({"day": days(range(28)), "x": x}, small)["day"].kind == "time"
    assert (
        roles({"day": days(range(27, -1, -1)), "x": x}, small)["day"].why
        == "dates that are not in order"
    )
    mixed = np.random.default_rng(0).permutation(28)
    assert roles({"born": days(mixed), "x": x}, small)["born"].why == "dates that are not in order"
    coarse = roles({"day": days(i // 14 for i in range(28)), "x": x}, small)["day"]
    assert coarse.kind == "out"
    assert coarse.changes == (Advice("time_column", "day"), Advice("period", "1d"))
    two = roles({"seen": days(range(28)), "day": days(range(28)), "x": x}, small)
    assert (two["seen"].kind, two["day"].kind) == ("time", "out")
    assert roles({"day": days(range(28)), "x": x}, SourceOptions(10, time_column="none"))[
        "day"
    ].kind == "out"  # fmt: skip


def test_numbers_are_a_clock_only_if_their_name_says_so():
    n = 60
    x = [f"{i % 7}.5" for i in range(n)]
    up = [f"{i / 4}" for i in range(n)]
    assert roles({"t": up, "x": x})["t"].kind == "time"
    assert roles({"depth": up, "x": x})["depth"].kind == "number"
    epoch = [str(1767225600000 + 1000 * i) for i in range(n)]
    assert roles({"created_at": epoch, "x": x})["created_at"].dates == "ms"
    assert roles({"t": up[::-1], "x": x})["t"].kind == "number"


def test_late_rows_never_turn_the_clock_back(tmp_path):
    times = [*range(20), *range(5, 15), *range(30, 40)]
    (tmp_path / "rows.csv").write_text("t,x\n" + "".join(f"{t},{t % 7}.5\n" for t in times))
    options = SourceOptions(10, time_column="t")
    with open_source(tmp_path / "rows.csv", options) as source:
        batches = list(source)
    found = [batch.time for batch in batches]
    assert np.all(np.diff(found) > 0)
    assert found[0] == 9
    assert found[-1] == 39
    with open_source(tmp_path / "rows.csv", options) as source:
        source.seek(batches[1].place)
        assert [batch.time for batch in source] == found[2:]


def test_a_family_that_takes_numbers_leaves_words_out_and_nothing_else():
    options = SourceOptions(numeric=True)
    found = roles({"w": ["a", "b"] * 20, "zero": ["0"] * 40, "x": ["1.5", "2"] * 20}, options)
    assert [role.kind for role in found.values()] == ["out", "number", "number"]


GREEN = "größe,farbe\n" + "".join(f"{i / 7:.3f},{'grün' if i % 2 else 'weiß'}\n" for i in range(99))


def read_input(monkeypatch, text, **options):
    """Return the batches of standard input."""
    with tempfile.TemporaryFile() as file:
        file.write(text)
        file.seek(0)
        monkeypatch.setattr(sys, "stdin", file)
        with open_source("-", SourceOptions(**options)) as source:
            return list(source)


def test_standard_input_in_another_encoding_is_refused(monkeypatch):
    batch = read_input(monkeypatch, GREEN.encode())[0]
    assert list(batch.X.labels) == ["größe", "farbe"]
    with pytest.raises(ValueError, match=r"standard input is not in UTF-8.*iconv -f cp1252 -t utf"):
        read_input(monkeypatch, GREEN.encode("cp1252"))
    with pytest.raises(ValueError, match=r"UTF-8 only.*iconv -f latin-1 -t utf-8"):
        read_input(monkeypatch, GREEN.encode("cp1252"), encoding="latin-1")


def test_wrong_bytes_in_standard_input_are_malformed_rows_if_it_is_said_to_be_utf_8(monkeypatch):
    text = GREEN.replace("ö", "oe").replace("grün", "green").replace("weiß", "white").encode()
    wrong = text.replace(b"white", b"wh\xffte", 1)
    with pytest.raises(ValueError, match="not in UTF-8"):
        read_input(monkeypatch, wrong)
    batches = read_input(monkeypatch, wrong, encoding="utf-8", on_error="reject")
    assert [reject.line for batch in batches for reject in batch.rejects] == [2]


@pytest.mark.parametrize(
    ("date", "hours"),
    [
        ("2026-07-01 12:00:00 UTC", 0), ("2026-07-01 12:00:00 CEST", 2),
        ("2026-07-01 12:00:00.000 MESZ", 2), ("2026-07-01 12:00:00 EST", -5),
        ("01.07.2026 12:00:00 MEZ", 1), ("Wed, 01 Jul 2026 12:00:00 GMT", 0),
        ("Wed Jul  1 12:00:00 PDT 2026", -7), ("[01/Jul/2026:12:00:00 +0200]", 2),
        ("[2026-07-01 12:00:00]", 0), ("2026-07-01T12:00:00.000+02:00[Europe/Berlin]", 2),
        ("2026-07-01T12:00:00Z[UTC]", 0), ("01JUL2026:12:00:00", 0),
    ],
)  # fmt: skip
def test_zones_and_brackets(date, hours, monkeypatch):
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    form = date_format([date])
    assert form is not None
    assert is_form(form)
    noon = np.datetime64("2026-07-01T12:00:00", "s").astype(int)
    assert seconds([date], form).tolist() == [noon - 3600 * hours]


def test_words_that_are_no_zones():
    assert date_format(["2026-07-01 12:00:00 XYZ"]) is None
    assert date_format(["[soon]"]) is None
    assert date_format(["2026-07-01 12:00:00]"]) is None


def test_a_column_that_changes_to_summer_time_is_in_order():
    dates = [f"2026-03-28 {h:02d}:30:00 CET" for h in range(24)]
    dates += [
        "2026-03-29 00:30:00 CET",
        "2026-03-29 01:30:00 CET",
        "2026-03-29 03:30:00 CEST",
        "2026-03-29 04:30:00 CEST",
    ]
    assert np.unique(np.diff(seconds(dates, date_format(dates)))).tolist() == [3600.0]


DAYS = [f"2026-{1 + i // 28:02d}-{1 + i % 28:02d}" for i in range(200)]


@pytest.mark.parametrize("wrong", ["0000-00-00", "soon", "unknown date", "0"])
def test_a_few_wrong_dates_do_not_hide_the_clock(wrong):
    dates = [wrong if i % 12 == 0 else day for i, day in enumerate(DAYS)]
    found = roles({"when": dates, "x": [f"{i % 7}.5" for i in range(200)]})["when"]
    assert (found.kind, found.dates) == ("time", "iso")
    dates = [wrong if i % 8 == 0 else day for i, day in enumerate(DAYS)]
    found = roles({"when": dates, "x": [f"{i % 7}.5" for i in range(200)]})["when"]
    assert found.kind != "time"


def test_wrong_dates_do_not_choose_between_day_and_month():
    dates = [f"{day[8:]}/{day[5:7]}/2026" for day in DAYS]
    assert usual_format(dates) == usual_format(["00/00/0000", *dates]) == "%d/%m/%Y"


def test_a_clock_that_cannot_be_read_is_told_once():
    columns = {"when": ["2026-01-01", *["soon"] * 99], "x": [f"{i % 7}.5" for i in range(100)]}
    options = SourceOptions(time_column="when")
    with pytest.raises(
        ValueError, match=r"time_column: 'when' holds 'soon', which cannot be read as"
    ):
        roles(columns, options)


def test_a_word_among_truth_values_is_told(tmp_path):
    path = tmp_path / "rows.csv"  # longer than what is looked at
    path.write_text("x,ok\n" + "1.5,True\n2.25,False\n" * 60_000 + "3,yes\n")
    with (
        open_source(path, SourceOptions()) as source,
        pytest.raises(MalformedRow, match="line 120002: column 'ok' holds 'yes', which is not Tru"),
    ):
        list(source)


@pytest.mark.parametrize("text", ["x;c\n", "x;y\n"])
def test_rows_without_a_value_are_reported_once(tmp_path, caplog, text):
    path = tmp_path / "rows.csv"
    kind = "{0};{0}" if "y" in text else "{0};c{0:.0f}"
    path.write_text(text + "".join(kind.format(i % 9 / 2) + "\n" for i in range(99)) + ";4\n;\n;\n")
    with open_source(path, SourceOptions(batch_size=10)) as source:
        assert sum(batch.n for batch in source) == 102
    told = [record.getMessage() for record in caplog.records]
    assert ["line 102: the row has no value" in line for line in told] == [True]


def test_numbers_that_are_not_finite_do_not_count():
    x = [1.5, 2.5, np.inf, 3.5] * 20
    infinite = {"y": [np.inf] * 80, "w": [np.inf, -np.inf] * 40}
    found = roles({"x": x, **infinite, "z": [0.5, 1.0] * 40}, typed=True)
    assert found["w"].why == "none is finite"
    assert found["x"].why == "numbers from 1.5 to 3.5"
    assert found["y"].why == "always inf"
    digits = [f"{10**400 + i}" for i in range(80)]
    assert roles({"x": digits, "z": ["0.5", "1"] * 40})["x"].why.startswith("names or ident")
