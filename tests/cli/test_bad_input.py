"""Input that cannot be: a line that says what is wrong, and no traceback."""

import contextlib
import os
import signal
import struct
import subprocess
import sys
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest

from scstream.cli import main
from scstream.sources.records import split


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def refused(capsys, *argv):
    """Return the one line that a command ends with."""
    capsys.readouterr()
    assert main([str(word) for word in argv]) == 1
    table, mark, told = capsys.readouterr().err.rpartition(f"scstream {argv[0]}: error: ")
    assert mark, told
    assert len(told.splitlines()) == 1
    assert not table or table.startswith("column "), table  # what the columns were taken for
    return told


# -- files --------------------------------------------------------------------------------------


def test_npy_files_that_are_none(capsys):
    Path("rows.npy").write_bytes(b"")
    assert "rows.npy is not a NumPy array" in refused(capsys, "run", "rows.npy", "-o", "none")
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999, 99999999999999), }"
    Path("rows.npy").write_bytes(b"\x93NUMPY\x01\x00v\x00" + head.ljust(117) + b"\n" + bytes(100))
    assert "rows.npy is not a NumPy array" in refused(capsys, "run", "rows.npy", "-o", "none")


@pytest.mark.parametrize(("head", "name"), [(b"\x89HDF\r\n", "HDF5"), (b"%PDF-1.7", "PDF")])
def test_files_of_other_kinds_are_called_by_their_names(head, name, capsys):
    Path("rows").write_bytes(head + bytes(range(256)))
    told = refused(capsys, "run", "rows", "-o", "none")
    assert name in told
    assert "Save it as CSV or Parquet" in told


def test_arrow_files_that_are_none(capsys):
    Path("rows").write_bytes(b"ARROW1\0\0" + bytes(range(256)))
    assert "rows is not an Arrow or Feather file" in refused(capsys, "run", "rows", "-o", "none")


def test_several_arrays_in_a_file(capsys):
    np.savez("rows.npz", X=np.ones((3, 2)))
    assert "Save one of them as .npy" in refused(capsys, "run", "rows.npz", "-o", "none")


def test_parquet_columns_of_lists(capsys):
    pa = pytest.importorskip("pyarrow", reason="PyArrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet", reason="PyArrow is not installed")
    x = np.random.default_rng(0).normal(size=20)
    nested = {
        "list": pa.array([[1.0, 2.0], [3.0]] * 10),
        "pair": pa.array([[1.0, 2.0]] * 20, pa.list_(pa.float64(), 2)),
        "struct": pa.array([{"a": 1}] * 20),
    }
    for name, column in nested.items():
        parquet.write_table(pa.table({"x": x, name: column}), "rows.parquet")
        assert main(["run", "rows.parquet", "-o", "none"]) == 0
        assert f"{name} left out holds nested values" in " ".join(capsys.readouterr().err.split())
        told = refused(capsys, "run", "rows.parquet", "--columns", f"x,{name}", "-o", "none")
        assert f"Column {name!r} cannot be learned from: holds nested values" in told
        argv = ["run", "rows.parquet", "--exclude", name, "-o", f"{name}.jsonl", "--append"]
        assert main([*argv, "--family", "gaussian", "--quiet"]) == 0


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b"x,y\r1,2\r3,4\r", 1),  # the whole file is one line
        (b"x\ry,z\n1,2\n", 1),
        (b"x,y\n1,2\r3,4\n5,6\n", 2),
        (b"x,w\n1,a\n2,b\rc\n", 3),
    ],
)
def test_carriage_returns_without_line_feeds(text, line, capsys):
    Path("rows.csv").write_bytes(text)
    told = refused(capsys, "run", "rows.csv", "-o", "none")
    assert f"rows.csv, line {line}: a carriage return without a line feed" in told


def test_carriage_returns_within_quotes_are_text():
    Path("rows.csv").write_bytes(b'x,w\r\n1,"a\rb"\r\n2,"a\rb"\r\n3,c\r\n')
    assert main(["run", "rows.csv", "-o", "out.jsonl", "--append", "--quiet"]) == 0
    assert "a\\rb" in Path("out.jsonl").read_text()


def test_fields_longer_than_the_csv_module_takes():
    word = "a" * 200_000
    Path("rows.csv").write_text(f"x,w\n1,{word}\n2,b\n3,b\n")
    assert main(["run", "rows.csv", "-o", "out.jsonl", "--append", "--quiet"]) == 0
    assert word in Path("out.jsonl").read_text()


@pytest.mark.parametrize(
    ("record", "fields"),
    [
        ("", []), ("a", ["a"]), ("a,", ["a", ""]), (",", ["", ""]), ('"a,b",c', ["a,b", "c"]),
        ('"say ""no""",', ['say "no"', ""]), ('a"b,c', ['a"b', "c"]), ('""', [""]),
        ('"a\nb","c\rd"', ["a\nb", "c\rd"]), ('"open,c', ["open,c"]), ('"""",x', ['"', "x"]),
    ],
)  # fmt: skip
def test_records_are_split(record, fields):
    assert split(record, ",") == fields


def png(width, height):
    """Return a picture that claims a size."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", head), (b"IDAT", zlib.compress(bytes(100))), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


@pytest.mark.parametrize("side", [10_000, 60_000])  # Pillow warns of the one, refuses the other
@pytest.mark.parametrize("source", ["frames", "bomb.png"])
def test_image_bombs(side, source, capsys):
    pytest.importorskip("PIL", reason="Pillow is not installed")
    os.mkdir("frames")
    for name in ("frames/0.png", "bomb.png"):
        Path(name).write_bytes(png(side, side))
    told = refused(capsys, "video", source, "-o", "out", "--overwrite")
    assert "too large for a frame" in told or "decompression bomb" in told
    assert not os.path.exists("out")


def test_broken_images(capsys):
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    image.fromarray(np.zeros((8, 8, 3), np.uint8)).save("a.gif")
    for data in (b"", b"GIF89a", Path("a.gif").read_bytes()[:-9], png(8, 8)[:-20]):
        name = "x.png" if data.startswith(b"\x89") else "x.gif"
        Path(name).write_bytes(data)
        assert f"{name} cannot be read as an image" in refused(capsys, "video", name, "-o", "out")


# -- names on a terminal ------------------------------------------------------------------------

TITLE = "\x1b]0;owned\x07"


def test_warnings_are_one_line_of_ours(capsys):
    np.savetxt("rows.csv", np.random.default_rng(0).normal(size=(60, 2)), delimiter=",")
    argv = ["run", "rows.csv", "--batch-size", "20", "--half-life", "0.01", "-o", "none"]
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main([*argv, "--family", "gaussian", "--quiet"]) == 0
    told = capsys.readouterr().err
    assert told.startswith("scstream: warning: Only ")
    assert len(told.splitlines()) == 1


def test_a_device_that_is_not_there_is_told_in_a_line(capsys):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    np.save("rows.npy", np.random.default_rng(0).normal(size=(60, 2)))
    more = ("--engine", "torch", "--family", "gaussian", "-o", "none")
    for device in ("cuda", "nothing"):
        refused(capsys, "run", "rows.npy", *more, "--device", device)


def test_names_reach_the_terminal_escaped(capsys):
    rng = np.random.default_rng(0)
    lines = [f"{a:.3f},{b:.3f}" for a, b in rng.normal(size=(60, 2)).tolist()]
    Path("rows.csv").write_text(f"x{TITLE},y\u202e\n" + "\n".join(lines) + "\n")
    base = ["run", "rows.csv", "--batch-size", "20", "--checkpoint", "state", "-o", "none"]
    assert main(base) == 0
    for argv in (
        ["show", "state"],
        ["show", "state", "--json"],
        ["run", "rows.csv", "--columns", "z", "-o", "none"],
        ["run", "rows.csv", "--columns", f"q{TITLE}", "-o", "none"],
        ["run", f"none{TITLE}.csv", "-o", "none"],
        ["run", "rows.csv", "-o", f"no-format{TITLE}"],
        [*base, "--time-column", f"x{TITLE}"],
        ["run", f"redis://127.0.0.1:1/rows{TITLE}?patience=0", "-o", "none"],
        ["run", "rows.csv", f"more{TITLE}"],
        ["run", "rows.csv", "--half-life", "0.01", "-o", f"half{TITLE}.csv"],
    ):
        with contextlib.suppress(SystemExit), warnings.catch_warnings():
            warnings.simplefilter("always")
            main(argv)
    Path("rows.csv").write_text(f"x{TITLE},y\n1,2\n{TITLE},3\n")
    assert main(["run", "rows.csv", "-o", "none", "--family", "gaussian"]) == 1
    Path("rows.csv").write_text(f"x{TITLE},x{TITLE}\n1,2\n")
    assert main(["run", "rows.csv", "-o", "none", "--columns", "2"]) == 1
    words = [f"{a:.3f},{'red' if a > 0 else TITLE}" for a in rng.normal(size=60).tolist()]
    Path("rows.csv").write_text(f"x,w{TITLE}\n" + "\n".join(words) + "\n")
    assert main(["run", "rows.csv", "-o", "none", "--checkpoint", "mixed"]) == 0
    assert main(["show", "mixed"]) == 0
    told = capsys.readouterr()
    for text in (told.out, told.err):
        assert "owned" in text
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "\x07" not in text


# -- Ctrl-C while starting ----------------------------------------------------------------------

STOP = """
import builtins, os, runpy, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job's may be ignored
where = sys.argv.pop(1)
real = builtins.__import__
def hook(name, *args, **kwargs):
    if name == where:
        builtins.__import__ = real
        os.kill(os.getpid(), signal.SIGINT)
    return real(name, *args, **kwargs)
builtins.__import__ = hook
runpy.run_module("scstream", run_name="__main__")
"""


@pytest.mark.parametrize(
    "where",
    [
        "scstream.cli",
        "scstream.pipeline",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("scstream.cli.errors", "scstream.model", "sklearn.base")
        ),
    ],
)
def test_an_interrupt_while_starting_ends_quietly(where):
    np.savetxt("rows.csv", np.random.default_rng(0).normal(size=(50, 2)), delimiter=",")
    done = subprocess.run(
        [sys.executable, "-c", STOP, where, "run", "rows.csv", "-o", "out.csv"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 130, done.stderr
    assert "Traceback" not in done.stderr
    assert not os.path.exists("out.csv")


def test_an_interrupt_that_a_library_takes_for_a_failure_is_one_still(capsys, monkeypatch):
    """Compiled modules that are loading turn Ctrl-C into an error of their own."""
    from scstream.cli import show

    def load(args):
        try:
            os.kill(os.getpid(), signal.SIGINT)
            while True:
                pass
        except KeyboardInterrupt:
            raise ImportError("initialization failed") from None

    monkeypatch.setattr(show, "main", load)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert main(["show", "state"]) == 130
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert capsys.readouterr().err == "\nscstream: stopped\n"
