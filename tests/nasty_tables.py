"""Tables as spreadsheets, loggers and databases write them, and what should be read from them."""

from datetime import datetime, timedelta

import numpy as np

N = 240


def made_up(rng, start):
    """Return the clusters of N rows, two numbers and a colour of each, and their times."""
    z = rng.integers(3, size=N)
    x = rng.normal([0.0, 8.0, 16.0], 1.0, (N, 3))[np.arange(N), z]
    y = rng.normal([0.0, -8.0, 4.0], 1.0, (N, 3))[np.arange(N), z]
    colour = np.array(["red", "green", "blue"])[z]
    times = np.datetime64(start) + np.cumsum(rng.integers(1, 9000, N)).astype("m8[s]")
    return z, x, y, colour, times


RNG = np.random.default_rng(7)
Z, X, Y, COLOUR, TIMES = made_up(RNG, "2025-12-30T00:00:00")
MS = TIMES.astype("M8[ms]").astype(np.int64)


def table(head, row, sep=",", end="\n"):
    """Return a table as text: its head, and a row for each point."""
    lines = [sep.join(map(str, row(i))) for i in range(N)]
    return end.join([head, *lines] if head else lines) + end


def german(number, digits=2):
    return f"{number:,.{digits}f}".translate(str.maketrans(",.", ".,"))


def german_date(i):
    day, clock = str(TIMES[i]).split("T")
    year, month, day = day.split("-")
    return f"{day}.{month}.{year} {clock[:5]}"


def day_by_day(months, form):
    """Return dates, 36 hours apart, with names of months."""
    out = []
    for i in range(N):
        when = datetime(2025, 1, 2) + timedelta(hours=36 * i)
        out.append(form.format(month=months.split()[when.month - 1], when=when))
    return out


LONG = day_by_day("January February March April May June July August September October November "
                  "December", "{when:%A}, {when.day} {month} {when.year}")  # fmt: skip
SHORT = day_by_day("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec", "{when.day:02d}-{month}-25")
NOUGHT = ["NULL", "NaN", "N.A.", "(null)", "k.A.", "#NV", "nil", "-", "*", "-nan", "#DIV/0!", "nd"]
DAYS = [f"{1 + i % 28:02d}.{1 + i // 28:02d}.2025" for i in range(N)]


PLAIN = table("x,y,colour", lambda i: (X[i], Y[i], COLOUR[i]))
MIXED_ENDS = "".join(
    line + ("\r\n" if i % 3 else "\n") for i, line in enumerate(PLAIN.splitlines())
)

ALL = ["x", "y", "colour"]

# Its name, its text, its encoding, the columns that are learned from, the clock.
TABLES = {
    "mixed-line-ends": (MIXED_ENDS, "utf-8", ALL, None),
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
    "utf-16-without-mark": (PLAIN, "utf-16-le", ALL, None),
    "cyrillic-utf-16-without-mark": (
        table("имя;значение", lambda i: ("красный" if Z[i] else "зелёный", f"{X[i]:.2f}"), ";"),
        "utf-16-be", ["имя", "значение"], None,
    ),
    "line-ends-and-separators-in-quotes": (
        table('id,"free\nnote",x,y',
              lambda i: (i, f'"one of {i}\nline ""two""; and, more\r\nthree"', X[i], Y[i])),
        "utf-8", ["x", "y"], None,
    ),
    "comments-above": ("# exported\n# a; b\n#\n" + PLAIN, "utf-8", ALL, None),
    "title-above": ("Report of May\nby Anna\n\n" + PLAIN, "utf-8", ALL, None),
    "slashes-above": ("// export, of 2026\n" + PLAIN, "utf-8", ALL, None),
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
        "utf-8", ALL, None,
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
        "utf-8", ALL, None,
    ),
    "separator-at-the-end-of-the-header": (
        table("x;y;colour;", lambda i: (X[i], Y[i], COLOUR[i]), ";"),
        "utf-8", ALL, None,
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
    "blank-rows-above": (" \n,,\n,,\n" + PLAIN, "utf-8", ALL, None),
    "end-mark": (PLAIN + "\x1a", "utf-8", ALL, None),
    "end-mark-on-a-line": (
        PLAIN.replace("\n", "\r\n") + "\x1a\r\n", "utf-8", ALL, None,
    ),
    "months-in-words": (
        table("day;x;y", lambda i: (LONG[i], X[i], Y[i]), ";"), "utf-8", ["x", "y"], "day",
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
    "spaces-and-dates": (
        table("day clock x y", lambda i: (*str(TIMES[i]).split("T"), X[i], Y[i]), " "),
        "utf-8", ["x", "y"], "day",
    ),
    "names-in-a-comment": ("# " + PLAIN, "utf-8", ALL, None),
    "dash-for-minus": (
        table("x;y", lambda i: (f"{X[i]:.2f}", f"{Y[i]:.2f}".replace("-", "\u2013")), ";"),
        "utf-8", ["x", "y"], None,
    ),
    "dates-as-numbers": (
        table("day,x,y", lambda i: ("".join(DAYS[i].split(".")[::-1]), X[i], Y[i])),
        "utf-8", ["x", "y"], "day",
    ),
    "separator-named-in-quotes": (
        '"SEP=;"\r\n' + PLAIN.replace(",", ";"), "utf-8", ALL, None,
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
    "two-rows-of-names-and-an-index": (
        "g,a,a,b\nh,x,y,z\nid,,,\n" + table("", lambda i: (i, X[i], Y[i], X[i])),
        "utf-8", ["x", "y", "z"], None,
    ),
    "rows-of-a-database": (
        " id |  x  |  y \n----+-----+-----\n"
        + table("", lambda i: (f"  {i} ", f" {X[i]} ", f" {Y[i]}"), "|") + "(240 rows)\n",
        "utf-8", ["x", "y"], None,
    ),
    "numbers-as-names": (
        table(",0,1", lambda i: (i, X[i], Y[i])), "utf-8", ["0", "1"], None,
    ),
    "names-in-a-comment-with-spaces": (
        table("# x y", lambda i: (X[i], Y[i]), " "), "utf-8", ["x", "y"], None,
    ),
    "groups-above-the-names": (
        "measured,,seen\n" + PLAIN, "utf-8", ALL, None,
    ),
    "a-page-of-notes": (
        "| x | y | colour |\n|---|:--|---|\n"
        + "".join(f"| {X[i]:.3f} | {Y[i]:.3f} | {COLOUR[i]} |\n" for i in range(N)),
        "utf-8", ALL, None,
    ),
    "annotated": (
        "#group,false,false,true\n#datatype,double,double,string\n#default,,,\n"
        + table(",x,y,colour", lambda i: ("", X[i], Y[i], COLOUR[i])),
        "utf-8", ALL, None,
    ),
    "words-for-nothing": (
        table("x,y", lambda i: (X[i] if i % 7 else NOUGHT[i // 7 % len(NOUGHT)], Y[i])),
        "utf-8", ["x", "y"], None,
    ),
    "single-quotes": (
        table("'x', 'y', \"colour\"", lambda i: (f"'{X[i]}'", f" '{Y[i]}'", f"'{COLOUR[i]}'")),
        "utf-8", ALL, None,
    ),
    "durations-beside": (
        table("start,duration,x", lambda i: (TIMES[i], f"0:{i % 60:02d}:{i % 17:02d}", X[i])),
        "utf-8", ["x"], "start",
    ),
}  # fmt: skip

# What tables of any program may have: signs between fields, encodings, line ends, dates.
for sign in "\t;|~\x01\x1f":
    TABLES[f"separated-by-{ord(sign)}"] = (PLAIN.replace(",", sign), "utf-8", ALL, None)
for code in ("utf-8-sig", "utf-16", "utf-32", "utf-16-be"):
    TABLES[code] = (PLAIN, code, ALL, None)
for name, end in {"windows": "\r\n", "blank-lines": "\n\n"}.items():
    TABLES[name] = (PLAIN.replace("\n", end), "utf-8", ALL, None)
for name, form in {
    "iso": "%Y-%m-%d %H:%M:%S",
    "iso-zone": "%Y-%m-%dT%H:%M:%SZ",
    "american": "%m/%d/%Y %I:%M %p",
    "british": "%d/%m/%Y %H:%M",
    "slashes": "%Y/%m/%d %H:%M:%S",
    "logs": "[%d/%b/%Y:%H:%M:%S +0000]",
    "mail": "%a, %d %b %Y %H:%M:%S +0000",
    "zone": "%Y-%m-%d %H:%M:%S CET",
    "sas": "%d%b%Y:%H:%M:%S",
}.items():
    rows = table("when;x;y", lambda i: (TIMES[i].item().strftime(form), X[i], Y[i]), ";")  # noqa: B023
    TABLES[f"dates-{name}"] = (rows, "utf-8", ["x", "y"], "when")
for name, unit in {"seconds": 1000, "milliseconds": 1}.items():
    rows = table("time,x,y", lambda i: (MS[i] // unit, X[i], Y[i]))  # noqa: B023
    TABLES[f"epoch-{name}"] = (rows, "utf-8", ["x", "y"], "time")
TABLES |= {
    "no-names": (PLAIN.split("\n", 1)[1], "utf-8", ["0", "1", "2"], None),
    "all-quoted": (
        table('"x","y","colour"', lambda i: (f'"{X[i]}"', f'"{Y[i]}"', f'"{COLOUR[i]}"')),
        "utf-8", ALL, None,
    ),
    "decimal-commas": (
        table("x;y", lambda i: (f"{X[i]:.3f}".replace(".", ","), f"{Y[i]:.2f}".replace(".", ",")),
              ";"),
        "utf-8", ["x", "y"], None,
    ),
    "accents": (
        table("größe,farbe", lambda i: (X[i], ["grün", "weiß", "schwärzlich"][Z[i]])),
        "cp1252", ["größe", "farbe"], None,
    ),
    "a-constant": (table("x,y,unit", lambda i: (X[i], Y[i], "m")), "utf-8", ["x", "y"], None),
    "exponents": (table("x,y", lambda i: (f"{X[i]:e}", f"{Y[i]:+.3E}")), "utf-8", ["x", "y"], None),
    "true-and-false": (
        table("x,known", lambda i: (X[i], Z[i] == 1)), "utf-8", ["x", "known"], None,
    ),
}  # fmt: skip
