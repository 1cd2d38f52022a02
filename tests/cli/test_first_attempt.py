"""Tables as people have them run at the first attempt, or the error says all that is wrong."""

import bz2
import gzip
import json
import lzma
import zipfile
from pathlib import Path

import numpy as np
import pytest
from nasty_tables import N, made_up, table

from scstream.cli import main

RNG = np.random.default_rng(0)
Z, X, Y, COLOUR, TIMES = made_up(RNG, "2026-03-01T00:00:00")


def comma(x):
    return f"{x:.3f}".replace(".", ",")


def german(t):
    day, clock = str(t).split("T")
    year, month, day = day.split("-")
    return f"{day}.{month}.{year} {clock}"


PLAIN = table("x,y,colour", lambda i: (f"{X[i]:.3f}", f"{Y[i]:.3f}", COLOUR[i]))
MIXED = table(
    "timestamp,event_id,email,x,y,clicks,colour,is_new,version,comment",
    lambda i: (
        f"{TIMES[i]}Z", f"a{i:07d}", f"user{i}@example.com", f"{X[i]:.3f}", f"{Y[i]:.3f}", Z[i] * 3,
        COLOUR[i], Z[i] == 1, "1.0", f'"row {i}, said on day {i} of them all"',
    ),
)  # fmt: skip
WIDE = "\n".join(
    [",".join(f"v{j}" for j in range(200)), *(",".join(f"{v:.2f}" for v in row) for row in
     RNG.normal(size=(60, 200)) + 3 * (np.arange(60) % 2)[:, None])]
)  # fmt: skip

# Its name, its bytes, the columns that are learned from, the clock.
TABLES = {
    "mixed.csv": (MIXED.encode(), ["x", "y", "clicks", "colour", "is_new"], "timestamp"),
    "german.csv": (
        table("Zeit;Größe;Wert;Farbe",
              lambda i: (german(TIMES[i]), comma(X[i]), comma(1000 * Y[i]), COLOUR[i]), ";").encode(
            "cp1252"
        ),
        ["Größe", "Wert", "Farbe"],
        "Zeit",
    ),
    "wide-letters.csv": (
        table("name\tx\ty", lambda i: (COLOUR[i], f"{X[i]:.3f}", f"{Y[i]:.3f}"), "\t").encode(
            "utf-16"
        ),
        ["name", "x", "y"],
        None,
    ),
    "packed.csv.gz": (gzip.compress(PLAIN.encode()), ["x", "y", "colour"], None),
    "packed.csv.bz2": (bz2.compress(PLAIN.encode()), ["x", "y", "colour"], None),
    "packed.csv.xz": (lzma.compress(PLAIN.encode()), ["x", "y", "colour"], None),
    "no-header.csv": (PLAIN.split("\n", 1)[1].encode(), ["0", "1", "2"], None),
    "ids-and-text.txt": (
        table("id|x|y|note", lambda i: (i + 1, X[i], Y[i], f"a note about row {i}"), "|").encode(),
        ["x", "y"],
        None,
    ),
    "gaps.csv": (
        table("x,y,colour", lambda i: (X[i] if i % 7 else "", Y[i], COLOUR[i] if i % 5 else "")
        ).encode(),
        ["x", "y", "colour"],
        None,
    ),
    "two-hundred.csv": (WIDE.encode(), [f"v{j}" for j in range(200)], None),
    "dates.csv": (
        table("date,x,y", lambda i: (f"{str(TIMES[i])[5:7]}/{str(TIMES[i])[8:10]}/2026", X[i], Y[i])
        ).encode(),
        ["x", "y"],
        "date",
    ),
    "one.csv": (table("", lambda i: (X[i],)).encode(), ["0"], None),
    "index.csv": (table(",x,y", lambda i: (i, X[i], Y[i])).encode(), ["x", "y"], None),
    "epoch.dat": (
        table("ts,x,store_id", lambda i: (int(TIMES[i].astype("M8[ms]").astype(int)), X[i], Z[i])
        ).encode(),
        ["x", "store_id"],
        "ts",
    ),
    "twice.csv": (table("x,x,y", lambda i: (X[i], Y[i], Z[i])).encode(), ["x", "x (2)", "y"], None),
    "money.csv": (
        table("x,price,rate", lambda i: (X[i], f'"${1000 + 100 * Y[i]:,.2f}"', f"{Y[i]:.1f}%")
        ).encode(),
        ["x", "price", "rate"],
        None,
    ),
    "sheet.csv": (b"sep=;\r\n" + table("x;y", lambda i: (X[i], Y[i]), ";").replace("\n", "\r\n")
                  .encode(), ["x", "y"], None),
    "logger.csv": (b"# a logger\n# in 2026\n" + PLAIN.encode(), ["x", "y", "colour"], None),
    "spaces.txt": (table("x y", lambda i: (X[i], Y[i]), " ").encode(), ["x", "y"], None),
    "marked.csv": (b"\xef\xbb\xbf" + PLAIN.encode(), ["x", "y", "colour"], None),
    "quoted.csv": (
        table('"x","note"', lambda i: (f'"{X[i]}"', f'"{COLOUR[i]}, and\nmore"')).encode(),
        ["x", "note"],
        None,
    ),
    "rows.json": (
        "".join(json.dumps({"when": str(TIMES[i]), "x": X[i], "ok": bool(Z[i]), "who": f"u{i}"})
                + "\n" for i in range(N)).encode(),
        ["x", "ok"],
        "when",
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def taken(text):
    """Return the columns of the table that a command printed, by what they were taken for."""
    head, *lines = [line for line in text.splitlines() if not line.startswith("scstream")]
    at = head.index("taken for")
    rows = lines
    return [(line[:at].strip(), line[at:].split("  ")[0]) for line in rows]


@pytest.mark.parametrize("name", TABLES)
def test_a_table_runs_at_the_first_attempt(name, capsys):
    content, used, clock = TABLES[name]
    Path(name).write_bytes(content)
    assert main(["run", name, "-o", "out.csv", "--random-state", "0", "--n-jobs", "1",
                 "--checkpoint", "state"]) == 0  # fmt: skip
    told = capsys.readouterr().err
    if len(used) < 40:
        roles = taken(told)
        assert [n for n, what in roles if what in ("number", "yes/no", "category")] == used
        assert [n for n, what in roles if what == "time"] == ([clock] if clock else [])
    assert main(["show", "state", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["columns"] == used
    labels = np.loadtxt("out.csv", delimiter=",", skiprows=1)[:, 1]
    assert len(labels) == (60 if name == "two-hundred.csv" else N)
    assert len(np.unique(labels)) >= 2  # and not one for every row
    assert len(np.unique(labels)) <= 6


def test_zip_and_zstandard(capsys):
    with zipfile.ZipFile("rows.zip", "w") as archive:
        archive.writestr("rows.csv", PLAIN)
    pa = pytest.importorskip("pyarrow", reason="PyArrow is not installed")
    with pa.output_stream("rows.csv.zst", compression="zstd") as file:
        file.write(PLAIN.encode())
    for name in ("rows.zip", "rows.csv.zst"):
        assert main(["run", name, "-o", "none", "--format", "csv"]) == 0
        assert [n for n, _ in taken(capsys.readouterr().err)] == ["x", "y", "colour"]


PROSE = [f"user {i} has {'logged, as it seems, in' if i % 3 else 'been here'}" for i in range(N)]
WRONG = {
    "app.log": ("\n".join(PROSE).encode(), ["text, not a table", "docs/topics.md"]),
    "again.log": (
        table("", lambda i: (PROSE[i % 5].replace(",", ""),)).encode(),
        ["free text in '0'", "docs/topics.md"],
    ),
    "levels.csv": (
        table("time,level,message", lambda i: (TIMES[i], "IW"[i % 2], f'"{PROSE[i]}"')).encode(),
        ["words in 'level'", "free text in 'message'", "docs/topics.md"],
    ),
    "docs.jsonl": (
        "".join(json.dumps({"text": line}) + "\n" for line in PROSE).encode(),
        ["no column to learn from", "docs/topics.md"],
    ),
    "nothing.csv": (b"", ["is empty"]),
    "head.csv": (b"x,y\n", ["has a header but no rows"]),
    "text.csv": (
        table("name,comment", lambda i: (f"n{i}", f"all about row {i}")).encode(),
        ["no column to learn from", "'name'", "'comment'", "--include name", "--include comment"],
    ),
    "unknown.csv": (
        table("x,y", lambda i: (X[i], Y[i] if i % 9 else "unknown")).encode(),
        ["27 rows cannot be read", "lines 2, 11, 20", "--missing unknown", "--on-error reject"],
    ),
    "cut.csv.gz": (gzip.compress(PLAIN.encode())[:200], ["cannot be unpacked"]),
    "ragged.csv": (
        (PLAIN + "1,2\n1,2,3,4\nx,2,red\n").encode(),
        ["2 fields where 3", "4 fields where 3", "'x' holds 'x'", "--missing x"],
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_all_that_is_wrong_is_said_at_once(name, capsys):
    content, words = WRONG[name]
    Path(name).write_bytes(content)
    assert main(["run", name, "-o", "out.csv"]) == 1
    told = capsys.readouterr().err
    for word in words:
        assert word in told
    assert "family=" not in told
    assert "Product(" not in told
    assert not Path("out.csv").exists()


def test_all_names_that_are_not_there_are_said_at_once(capsys):
    Path("rows.csv").write_text(PLAIN)
    wrong = ["--exclude", "z", "--time-column", "when", "--text", "w", "--number", "n"]
    assert main(["run", "rows.csv", "-o", "none", *wrong]) == 1
    told = capsys.readouterr().err
    for option, name in zip(wrong[::2], wrong[1::2], strict=True):
        assert f"{option[2:].replace('-', '_')}: There is no column {name!r}" in told


def test_what_was_left_out_can_be_asked_for(capsys):
    Path("mixed.csv").write_text(MIXED)
    more = ["--include", "version", "--exclude", "y", "--text", "clicks", "--time-column", "none"]
    assert main(["run", "mixed.csv", "-o", "none", *more]) == 0
    roles = dict(taken(capsys.readouterr().err))
    assert roles["version"] == "number"
    assert roles["y"] == roles["timestamp"] == "left out"
    assert roles["clicks"] == "category"


def test_texts_are_refused_and_one_cluster_comes_with_advice(capsys):
    Path("texts.csv").write_text(table("text", lambda i: [f"job {i} of run {7 * i} has ended"]))
    assert main(["run", "texts.csv", "-o", "none"]) == 1
    assert "docs/topics.md" in capsys.readouterr().err
    Path("colours.csv").write_text(table("colour", lambda i: [COLOUR[i]]))
    assert main(["run", "colours.csv", "-o", "none"]) == 0
    assert "one column alone" in capsys.readouterr().err
    rows = RNG.normal(size=(200, 6))
    Path("noise.csv").write_text(table("a,b,c,d,e,f", lambda i: rows[i % 200]))
    for command in (["run"], ["fit"]):
        assert main([*command, "noise.csv", "-o", "none"]) == 0
        assert "one cluster in 6 columns" in capsys.readouterr().err


def test_quiet_prints_nothing(capsys):
    Path("mixed.csv").write_text(MIXED)
    assert main(["run", "mixed.csv", "-o", "none", "--quiet"]) == 0
    told = capsys.readouterr().err.splitlines()
    assert [line for line in told if "compiling" not in line] == []


def test_a_run_over_a_packed_file_goes_on_after_a_stop():
    argv = ["--batch-size", "40", "--random-state", "0", "--quiet", "--every", "1"]
    for name, encode in (("rows.csv.gz", gzip.compress), ("rows16.csv", None)):
        text = PLAIN + PLAIN.split("\n", 1)[1]
        short = PLAIN
        pack = encode or (lambda data: data.decode().encode("utf-16"))
        Path(name).write_bytes(pack(short.encode()))
        state = f"state-{name}"
        assert main(["run", name, "-o", f"{name}.out.csv", "--checkpoint", state, *argv]) == 0
        Path(name).write_bytes(pack(text.encode()))
        assert main(["run", name, "-o", f"{name}.out.csv", "--checkpoint", state, *argv]) == 0
        Path(f"whole-{name}").write_bytes(pack(text.encode()))
        assert main(["run", f"whole-{name}", "-o", f"{name}.whole.csv", *argv[:-2]]) == 0
        assert Path(f"{name}.out.csv").read_bytes() == Path(f"{name}.whole.csv").read_bytes()
        Path(name).write_bytes(pack(text.replace("red", "odd").encode()))
        assert main(["run", name, "-o", f"{name}.out.csv", "--checkpoint", state, *argv]) == 1
