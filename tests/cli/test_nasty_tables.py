"""Tables from spreadsheets, loggers and databases run with no options, or one error says why."""

import json
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from scstream.cli import main
from scstream.sources.guess.dates import date_format, seconds

N = 240
RNG = np.random.default_rng(7)
Z = RNG.integers(3, size=N)
X = RNG.normal([0.0, 8.0, 16.0], 1.0, (N, 3))[np.arange(N), Z]
Y = RNG.normal([0.0, -8.0, 4.0], 1.0, (N, 3))[np.arange(N), Z]
COLOUR = np.array(["red", "green", "blue"])[Z]
TIMES = np.datetime64("2025-12-30T00:00:00") + np.cumsum(RNG.integers(1, 9000, N)).astype("m8[s]")
MS = TIMES.astype("M8[ms]").astype(np.int64)


def table(head, row, sep=",", end="\n"):
    lines = [sep.join(map(str, row(i))) for i in range(N)]
    return end.join([head, *lines] if head else lines) + end


def german(number, digits=2):
    return f"{number:,.{digits}f}".translate(str.maketrans(",.", ".,"))


def german_date(i):
    day, clock = str(TIMES[i]).split("T")
    year, month, day = day.split("-")
    return f"{day}.{month}.{year} {clock[:5]}"


def day_by_day(months, form):
    """Return dates, 36 hours apart, with the names of months in some language."""
    out = []
    for i in range(N):
        when = datetime(2025, 1, 2) + timedelta(hours=36 * i)
        out.append(form.format(month=months.split()[when.month - 1], when=when))
    return out


GERMAN = day_by_day("Januar Februar März April Mai Juni Juli August September Oktober November "
                    "Dezember", "{when.day}. {month} {when.year}")  # fmt: skip
FRENCH = day_by_day("janv. févr. mars avr. mai juin juil. août sept. oct. nov. déc.",
                    "{when.day} {month} {when.year} {when:%Hh%M}")  # fmt: skip
SPANISH = day_by_day("enero febrero marzo abril mayo junio julio agosto septiembre octubre "
                     "noviembre diciembre", "{when.day} de {month} de {when.year}")  # fmt: skip
SHORT = day_by_day("Jan Feb Mär Apr Mai Jun Jul Aug Sep Okt Nov Dez", "{when.day:02d}-{month}-25")
NOUGHT = [
    "NULL",
    "NaN",
    "N.A.",
    "(null)",
    "k.A.",
    "missing",
    "#NV",
    "nil",
    "n. a.",
    "-",
    "*",
    "-nan",
]
DAYS = [f"{1 + i % 28:02d}.{1 + i // 28:02d}.2025" for i in range(N)]


PLAIN = table("x,y,colour", lambda i: (X[i], Y[i], COLOUR[i]))
MIXED_ENDS = "".join(
    line + ("\r\n" if i % 3 else "\n") for i, line in enumerate(PLAIN.splitlines())
)

# Its name, its text, its encoding, the columns that are learned from, the clock.
TABLES = {
    "mixed-line-ends": (MIXED_ENDS, "utf-8", ["x", "y", "colour"], None),
    "german-thousands": (
        table("Datum;Umsatz;Menge;Land",
              lambda i: (german_date(i), german(1e6 + 1e5 * X[i]), german(1e3 * Y[i], 0),
                         COLOUR[i]), ";"),
        "cp1252", ["Umsatz", "Menge", "Land"], "Datum",
    ),
    "german-euro-and-percent": (
        table("Umsatz;Anteil", lambda i: (german(1e6 + 1e5 * X[i]) + " €", german(Y[i]) + " %"),
              ";"),
        "utf-8", ["Umsatz", "Anteil"], None,
    ),
    "utf-16-without-mark": (PLAIN, "utf-16-le", ["x", "y", "colour"], None),
    "cyrillic-utf-16-without-mark": (
        table("имя;значение", lambda i: ("красный" if Z[i] else "зелёный", f"{X[i]:.2f}"), ";"),
        "utf-16-be", ["имя", "значение"], None,
    ),
    "line-ends-and-separators-in-quotes": (
        table('id,"free\nnote",x,y',
              lambda i: (i, f'"one of {i}\nline ""two""; and, more\r\nthree"', X[i], Y[i])),
        "utf-8", ["x", "y"], None,
    ),
    "comments-above": ("# exported\n# a; b\n#\n" + PLAIN, "utf-8", ["x", "y", "colour"], None),
    "title-above": ("Report of May\nby Anna\n\n" + PLAIN, "utf-8", ["x", "y", "colour"], None),
    "slashes-above": ("// export, of 2026\n" + PLAIN, "utf-8", ["x", "y", "colour"], None),
    "names-twice-and-missing": (
        table("value,value,value,", lambda i: (X[i], Y[i], COLOUR[i], Z[i])),
        "utf-8", ["value", "value (2)", "value (3)", "column 3"], None,
    ),
    "units": (
        table("weight,speed,temp", lambda i: (f"{70 + X[i]:.1f} kg", f"{100 + 5 * Y[i]:.0f}km/h",
                                              f"{20 + X[i]:.1f}°C")),
        "utf-8", ["weight", "speed", "temp"], None,
    ),
    "currencies": (
        table("price,fee,cost,yen,franc",
              lambda i: (f'"${1e3 + 100 * X[i]:,.2f}"', f"-$ {50 + Y[i]:.2f}",
                         f"({20 + X[i]:.2f})", f"¥{1e4 + 100 * Y[i]:.0f}",
                         f"CHF {1e4 + 1e3 * X[i]:,.2f}".replace(",", "'"))),
        "utf-8", ["price", "fee", "cost", "yen", "franc"], None,
    ),
    "german-dates": (
        table("Zeitpunkt,x,y", lambda i: (german_date(i), X[i], Y[i])),
        "utf-8", ["x", "y"], "Zeitpunkt",
    ),
    "epoch-of-any-name": (
        table("stamp_of_event,x,y", lambda i: (MS[i], X[i], Y[i])),
        "utf-8", ["x", "y"], "stamp_of_event",
    ),
    "row-numbers-without-a-name": (
        table("x,y,colour", lambda i: (i + 1, X[i], Y[i], COLOUR[i])),
        "utf-8", ["x", "y", "colour"], None,
    ),
    "row-names-and-spaces": (
        table('"x" "y" "g"', lambda i: (f'"{i + 1}"', X[i], Y[i], f'"{COLOUR[i]}"'), " "),
        "utf-8", ["x", "y", "g"], None,
    ),
    "empty-columns": (
        table("x,,notes,y,,", lambda i: (X[i], "", "", Y[i], "", "")), "utf-8", ["x", "y"], None,
    ),
    "one-column-with-commas": (
        table("value", lambda i: (f"{X[i]:.3f}".replace(".", ","),)), "utf-8", ["value"], None,
    ),
    "places-on-earth": (
        table("id,lat,lon", lambda i: (f"n{i}", f"{52.5 + X[i] / 100:.6f}", f"{13 + Y[i]:.6f}")),
        "utf-8", ["lat", "lon"], None,
    ),
    "ja-and-nein": (
        table("x;aktiv", lambda i: (X[i], "ja" if Z[i] == 1 else "nein"), ";"),
        "utf-8", ["x", "aktiv"], None,
    ),
    "separator-at-the-end": (
        table("x;y;colour", lambda i: (X[i], Y[i], COLOUR[i], ""), ";"),
        "utf-8", ["x", "y", "colour"], None,
    ),
    "separator-at-the-end-of-the-header": (
        table("x;y;colour;", lambda i: (X[i], Y[i], COLOUR[i]), ";"),
        "utf-8", ["x", "y", "colour"], None,
    ),
    "spaces-and-minus-signs": (
        table("x;y", lambda i: (f"{1e4 + 1e3 * X[i]:,.2f}".replace(",", "\u202f").replace(".", ","),
                                f"{Y[i]:.2f}".replace("-", "\u2212").replace(".", ",")), ";"),
        "utf-8", ["x", "y"], None,
    ),
    "words-with-a-separator-at-the-end": (
        table("shade;size", lambda i: (COLOUR[i], "SML"[Z[i]], ""), ";"),
        "utf-8", ["shade", "size"], None,
    ),
    "carets": (
        table("x^y^c", lambda i: (X[i], Y[i], COLOUR[i]), "^"), "utf-8", ["x", "y", "c"], None,
    ),
    "errors-of-spreadsheets": (
        table("x,y", lambda i: (X[i] if i % 9 else "#DIV/0!", Y[i] if i % 11 else "\u2013")),
        "utf-8", ["x", "y"], None,
    ),
    "header-of-commas": (
        table(",,", lambda i: (X[i], Y[i], COLOUR[i])), "utf-8", ["0", "1", "2"], None,
    ),
    "blank-rows-above": (" \n,,\n,,\n" + PLAIN, "utf-8", ["x", "y", "colour"], None),
    "japanese": (
        table("名前,値,色", lambda i: ("赤緑青"[Z[i]], X[i], Y[i])), "shift_jis",
        ["名前", "値", "色"], None,
    ),
    "chinese": (
        table("颜色,数值", lambda i: ("红绿蓝"[Z[i]], X[i])), "gb18030", ["颜色", "数值"], None,
    ),
    "russian": (
        table("Цвет,Значение", lambda i: (["красный", "зелёный", "синий"][Z[i]], X[i])), "cp1251",
        ["Цвет", "Значение"], None,
    ),
    "greek": (
        table("Χρώμα,Τιμή", lambda i: (["κόκκινο", "πράσινο", "μπλε"][Z[i]], X[i])), "cp1253",
        ["Χρώμα", "Τιμή"], None,
    ),
    "polish": (
        table("miasto,x", lambda i: (["Łódź", "Kraków", "Poznań"][Z[i]], X[i])), "cp1250",
        ["miasto", "x"], None,
    ),
    "dos": (table("Größe,y", lambda i: (X[i], Y[i])), "cp850", ["Größe", "y"], None),
    "end-mark": (PLAIN + "\x1a", "utf-8", ["x", "y", "colour"], None),
    "end-mark-on-a-line": (
        PLAIN.replace("\n", "\r\n") + "\x1a\r\n", "utf-8", ["x", "y", "colour"], None,
    ),
    "german-months": (
        table("Datum;x;y", lambda i: (GERMAN[i], german(X[i]), german(Y[i])), ";"),
        "cp1252", ["x", "y"], "Datum",
    ),
    "french-months": (
        table("jour;x;y", lambda i: (FRENCH[i], X[i], Y[i]), ";"), "utf-8", ["x", "y"], "jour",
    ),
    "spanish-months": (
        table("fecha;x;y", lambda i: (SPANISH[i], X[i], Y[i]), ";"), "utf-8", ["x", "y"], "fecha",
    ),
    "dates-without-midnight": (
        table("when,x,y", lambda i: (DAYS[i] + " 08:15" * (i % 2), X[i], Y[i])),
        "utf-8", ["x", "y"], "when",
    ),
    "dates-of-two-systems": (
        table("when,x,y", lambda i: (DAYS[i] if i % 3 else "-".join(DAYS[i].split(".")[::-1]),
                                     X[i], Y[i])),
        "utf-8", ["x", "y"], "when",
    ),
    "dates-as-numbers": (
        table("day,x,y", lambda i: ("".join(DAYS[i].split(".")[::-1]), X[i], Y[i])),
        "utf-8", ["x", "y"], "day",
    ),
    "separator-named-in-quotes": (
        '"SEP=;"\r\n' + PLAIN.replace(",", ";"), "utf-8", ["x", "y", "colour"], None,
    ),
    "minus-behind": (
        table("x;y", lambda i: (german(X[i]), german(abs(1e4 * Y[i])) + "-" * int(Y[i] < 0)), ";"),
        "utf-8", ["x", "y"], None,
    ),
    "apostrophes": (
        table("x;y", lambda i: (f"{1e6 + 1e5 * X[i]:,.2f}".replace(",", "\u2019"), Y[i]), ";"),
        "utf-8", ["x", "y"], None,
    ),
    "lakhs": (table("x;y", lambda i: (f"12,{34 + Z[i]},567.89", Y[i]), ";"), "utf-8", ["x", "y"],
              None),
    "units-below-the-names": (
        "x,y,colour\nm/s,°C,\n" + PLAIN.split("\n", 1)[1], "utf-8", ["x", "y", "colour"], None,
    ),
    "types-below-the-names": (
        "x,y,colour\ndouble,double,string\n" + PLAIN.split("\n", 1)[1],
        "utf-8", ["x", "y", "colour"], None,
    ),
    "groups-above-the-names": (
        "measured,,seen\n" + PLAIN, "utf-8", ["x", "y", "colour"], None,
    ),
    "a-page-of-notes": (
        "| x | y | colour |\n|---|:--|---|\n"
        + "".join(f"| {X[i]:.3f} | {Y[i]:.3f} | {COLOUR[i]} |\n" for i in range(N)),
        "utf-8", ["x", "y", "colour"], None,
    ),
    "annotated": (
        "#group,false,false,true\n#datatype,double,double,string\n#default,,,\n"
        + table(",x,y,colour", lambda i: ("", X[i], Y[i], COLOUR[i])),
        "utf-8", ["x", "y", "colour"], None,
    ),
    "words-for-nothing": (
        table("x,y", lambda i: (X[i] if i % 7 else NOUGHT[i // 7 % len(NOUGHT)], Y[i])),
        "utf-8", ["x", "y"], None,
    ),
    "single-quotes": (
        table("'x', 'y', \"colour\"", lambda i: (f"'{X[i]}'", f" '{Y[i]}'", f"'{COLOUR[i]}'")),
        "utf-8", ["x", "y", "colour"], None,
    ),
    "durations-beside": (
        table("start,duration,x", lambda i: (TIMES[i], f"0:{i % 60:02d}:{i % 17:02d}", X[i])),
        "utf-8", ["x"], "start",
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(name, text, encoding="utf-8", *more):
    Path(name).write_bytes(text.encode(encoding))
    return main(["run", name, "-o", "out.csv", "--random-state", "0", "--n-jobs", "1", *more])


@pytest.mark.parametrize("name", TABLES)
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
        [f"line {N + 2}", "'Total'", "--missing Total", "--on-error reject"],
    ),
    "no-values.csv": (table("a,b", lambda i: ("", "")), ["no column to learn from", "empty in"]),
    "quoted.csv": (
        "".join(f'"{line}"\n' for line in PLAIN.splitlines()),
        ["quoted as a whole", "sed"],
    ),
    "rows-affected.csv": (
        PLAIN + "\n(240 rows affected)\n",
        [f"line {N + 3}", "1 fields", "--on-error reject"],
    ),
    "joined.csv": (PLAIN + PLAIN, [f"line {N + 2}", "column 'x' holds 'x'", "--on-error reject"]),
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
    assert "read as cp1252. --encoding NAME" in capsys.readouterr().err


def test_encodings_that_cannot_be_distinguished_are_listed(capsys):
    rows = table("도시,x", lambda i: (["서울", "부산", "대구"][Z[i]], X[i])).encode("euc_kr")
    Path("rows.csv").write_bytes(rows)
    assert main(["run", "rows.csv", "-o", "out.csv"]) == 1
    said = capsys.readouterr().err
    for word in ("--encoding euc_kr     reads: 도시", "--encoding gb18030"):
        assert word in said
    more = ["--encoding", "euc_kr", "--random-state", "0", "--n-jobs", "1"]
    assert main(["run", "rows.csv", "-o", "out.csv", *more]) == 0
    assert "도시" in capsys.readouterr().err


def test_one_wrong_byte_does_not_change_the_encoding(capsys):
    rows = table("größe,farbe", lambda i: (X[i], ["grün", "weiß", "schwärzlich"][Z[i]])).encode()
    Path("rows.csv").write_bytes(rows + b"1.0,gr\xfcn\n")
    assert main(["run", "rows.csv", "-o", "out.csv"]) == 1
    said = capsys.readouterr().err
    for word in (f"line {N + 2}", "is not UTF-8", "--encoding NAME", "--on-error reject"):
        assert word in said


def test_months_in_words_are_the_months_they_name():
    for dates in (GERMAN, FRENCH, SPANISH, SHORT[:200]):
        form = date_format(dates)
        days = np.diff(seconds(dates, form)) / 86400
        assert set(days) <= {1.0, 1.5, 2.0}


def test_rows_beneath_the_names_are_skipped_in_a_rotated_file_and_on_resume():
    head, rows = "x,y\nm/s,°C\n", table("", lambda i: (X[i], Y[i]))
    more = ["--checkpoint", "state", "--batch-size", "60"]
    assert run("rows.csv", head + rows, "utf-8", *more) == 0
    assert run("rows.csv", head + rows + rows, "utf-8", *more) == 0
    assert len(Path("out.csv").read_text().splitlines()) == 2 * N + 1


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


def test_columns_that_are_listed_are_not_left_out(capsys):
    rows = table("order_id,x", lambda i: (1000 + 7 * i, X[i]))
    assert run("rows.csv", rows) == 0
    assert "left out" in capsys.readouterr().err
    assert run("rows.csv", rows, "utf-8", "--columns", "x,order_id", "--overwrite") == 0
    assert "left out" not in capsys.readouterr().err


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


def test_numbers_in_different_units_are_left_out(capsys):
    mixed = table("w,y", lambda i: (f"{7 + X[i]:.3f} kg" if i % 2 else f"{X[i]:.3f} g", Y[i]))
    assert run("rows.csv", mixed) == 0
    assert "numbers in different units (g, kg)" in capsys.readouterr().err
