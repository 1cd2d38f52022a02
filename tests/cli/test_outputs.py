"""No output destroys an input or something else, whatever an operator types."""

import errno
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from scstream import ScStream
from scstream.cli import main
from scstream.datasets import gaussian_stream


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a folder with 200 rows and a model of them."""
    folder = tmp_path_factory.mktemp("made")
    X = np.concatenate([batch.X for batch in gaussian_stream(4, 50, n_clusters=2, random_state=0)])
    np.savetxt(folder / "d.csv", X, delimiter=",", header="x,y", comments="")
    ScStream(random_state=0).fit(X).save(folder / "st")
    return folder


@pytest.fixture
def rows(made, tmp_path, monkeypatch):
    """Stand in a folder with 200 rows and a model of them."""
    monkeypatch.chdir(tmp_path)
    for name in ("d.csv", "st"):
        shutil.copy(made / name, name)
    return tmp_path / "d.csv"


def call(*argv):
    return main([str(word) for word in argv])


RUN = ("--batch-size", 50, "--random-state", 0, "--family", "gaussian")


def links():
    """Give the input other names."""
    os.symlink("d.csv", "soft.csv")
    os.link("d.csv", "hard.csv")
    os.mkdir("folder")
    os.symlink("..", "folder/up")


INPUT = ["d.csv", "./d.csv", "soft.csv", "hard.csv", "folder/up/d.csv"]


@pytest.mark.parametrize("overwrite", [(), ("--overwrite",)])
@pytest.mark.parametrize("name", INPUT)
@pytest.mark.parametrize(
    "command",
    [
        ("run", "d.csv", "-o"),
        ("run", "./d.csv", "-o"),
        ("run", "hard.csv", "-o"),
        ("run", "d.csv", "-o", "none", "--events"),
        ("run", "d.csv", "-o", "none", "--chronicle"),
        ("run", "d.csv", "-o", "none", "--on-error", "reject", "--rejects"),
        ("predict", "st", "d.csv", "-o"),
        ("fit", "d.csv", "-o"),
        ("fit", "d.csv", "-o", "none", "--model"),
    ],
    ids=" ".join,
)
def test_an_output_is_never_the_input(rows, command, name, overwrite, capsys):
    links()
    before = rows.read_bytes()
    assert call(*command, name, *overwrite) == 2
    told = capsys.readouterr().err
    assert "is the same file as the input" in told
    assert rows.read_bytes() == before


def test_two_outputs_are_never_one_file(rows, capsys):
    for more in (
        ("-o", "a.csv", "--chronicle", "a.csv"),
        ("-o", "a.csv", "--events", "./a.csv"),
        ("-o", "none", "--events", "e", "--chronicle", "new/../e"),
    ):
        assert call("run", "d.csv", *RUN, *more) == 2
        assert "is the same file as --" in capsys.readouterr().err
    assert call("predict", "st", "d.csv", "-o", "st", "--output-format", "csv", "--overwrite") == 2
    assert "is the same file as the model" in capsys.readouterr().err
    assert sorted(os.listdir()) == ["d.csv", "st"]


def test_standard_input_and_output_are_files_too(rows):
    before = rows.read_bytes()
    argv = [sys.executable, "-m", "scstream", "run"]
    with open("d.csv", "rb") as file:
        done = subprocess.run(
            [*argv, "-", "-o", "d.csv", "--overwrite"], stdin=file, capture_output=True, text=True
        )
    assert done.returncode == 2
    assert "is the same file as the input" in done.stderr
    with open("d.csv", "ab") as file:
        done = subprocess.run([*argv, "d.csv"], stdout=file, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert rows.read_bytes() == before


@pytest.mark.parametrize("folder", ["full", "parts"])
@pytest.mark.parametrize("more", [(), ("--overwrite",), ("--overwrite", "--checkpoint", "state")])
def test_a_folder_is_never_replaced(rows, folder, more, capsys):
    pytest.importorskip("pyarrow", reason="PyArrow is not installed")
    os.mkdir(folder)
    inside = Path(folder) / ("part-000000.parquet" if folder == "parts" else "thesis.tex")
    inside.write_text("years of work")
    status = call("run", "d.csv", *RUN, "-o", folder, "--output-format", "parquet", *more)
    if folder == "parts" and len(more) == 3:  # only parts are in it, and the user means it
        assert status == 0
        return
    assert status == 1
    assert "folder" in capsys.readouterr().err
    assert inside.read_text() == "years of work"


def test_an_existing_output_is_refused_unless_the_user_means_it(rows, capsys):
    for name in ("out.csv", "e", "c", "m", "bad"):
        Path(name).write_text("precious")
    cases = [
        ("run", "d.csv", *RUN, "-o", "out.csv"),
        ("run", "d.csv", *RUN, "-o", "none", "--events", "e"),
        ("run", "d.csv", *RUN, "-o", "none", "--chronicle", "c"),
        ("run", "d.csv", *RUN, "-o", "none", "--on-error", "reject", "--rejects", "bad"),
        ("run", "d.csv", *RUN, "-o", "out.csv", "--checkpoint", "state"),
        ("predict", "st", "d.csv", "-o", "out.csv"),
        ("fit", "d.csv", "-o", "out.csv"),
        ("fit", "d.csv", "-o", "none", "--model", "m"),
    ]
    for argv in cases:
        assert call(*argv) == 1, argv
        assert "already exists" in capsys.readouterr().err
    assert all(Path(n).read_text() == "precious" for n in ("out.csv", "e", "c", "m", "bad"))
    for argv in cases:
        assert call(*argv, "--overwrite") == 0, argv
    assert len(Path("out.csv").read_text().splitlines()) == 201
    assert not any(Path(n).read_text(errors="replace") == "precious" for n in ("e", "c", "m"))


def test_a_mistake_is_told_before_an_output_is_cut(rows, capsys):
    Path("out.csv").write_text("precious")
    for argv in (
        ("run", "d.csv", "--columns", "x,z", "-o", "out.csv"),
        ("run", "d.csv", "--family", "poisson", "-o", "out.csv"),
        ("predict", "st", "d.csv", "--columns", "x", "-o", "out.csv"),
        ("predict", "st", "d.csv", "--columns", "q", "-o", "out.csv"),
        ("fit", "d.csv", "--columns", "q", "-o", "out.csv"),
    ):
        assert call(*argv, "--overwrite") == 1
        assert Path("out.csv").read_text() == "precious"
    assert call("run", "d.csv", "--columns", "x,z", "-o", "new.csv") == 1
    assert not os.path.exists("new.csv")


def test_empty_files_and_inputs_without_rows(rows):
    Path("out.csv").touch()  # as mktemp makes
    assert call("run", "d.csv", *RUN, "-o", "out.csv", "--quiet") == 0
    Path("none.csv").write_text("x,y\n")
    Path("empty.csv").write_text("")
    for name in ("none.csv", "empty.csv"):
        assert call("run", name, *RUN, "-o", "nothing.csv", "--quiet") == 1
        assert call("predict", "st", name, "-o", "nothing.csv") == 1
        assert not Path("nothing.csv").exists()


def test_devices_and_pipes_are_no_files_to_protect(rows):
    more = ("--output-format", "csv", "--events", "/dev/null", "--chronicle", "/dev/null")
    assert call("run", "d.csv", *RUN, "-o", "/dev/null", *more, "--quiet") == 0
    state = ("--checkpoint", "state", "--every", 1, "--quiet")
    for _ in range(2):
        assert call("run", "d.csv", *RUN, "-o", "/dev/null", *more, *state) == 0
    os.mkfifo("pipe")
    got = []
    reader = threading.Thread(target=lambda: got.append(Path("pipe").read_text()))
    reader.start()
    assert call("run", "d.csv", *RUN, "-o", "pipe", "--output-format", "csv", "--quiet") == 0
    reader.join()
    assert len(got[0].splitlines()) == 201


def test_a_run_that_was_killed_before_its_first_checkpoint_knows_its_outputs(rows):
    """The outputs are there and the checkpoint is not: the same command must go on."""
    code = """
import os, sys
from scstream.cli import main
from scstream.pipeline import folder
folder.CheckpointFolder.save = lambda *a: os._exit(9)
main(sys.argv[1:])
"""
    argv = ["run", "d.csv", *map(str, RUN), "-o", "out.csv", "--checkpoint", "state", "--quiet"]
    argv += ["--events", "e.jsonl"]
    assert subprocess.run([sys.executable, "-c", code, *argv], check=False).returncode == 9
    assert len(Path("out.csv").read_text().splitlines()) == 201
    assert call(*argv) == 0
    assert len(Path("out.csv").read_text().splitlines()) == 201
    for file in Path("state").glob("checkpoint-*"):
        file.unlink()
    assert call(*argv) == 1  # somebody removed the checkpoints: the outputs are not cut
    assert len(Path("out.csv").read_text().splitlines()) == 201


@pytest.mark.parametrize("option", ["--events", "--chronicle", "--rejects", "--checkpoint"])
def test_a_journal_is_no_url(rows, option, capsys):
    before = sorted(os.listdir())
    url = "redis://me:Tr0ub4dor@server/labels.csv"
    more = ("--on-error", "reject") if option == "--rejects" else ()
    assert call("run", "d.csv", *RUN, "-o", "none", *more, option, url) == 2
    told = capsys.readouterr().err
    assert "is a URL (redis://server/labels.csv), and it must be a file" in told
    assert sorted(os.listdir()) == before  # nothing has the password in its name


def test_an_output_is_never_the_file_with_the_password(rows, capsys):
    Path("access.toml").write_text('password = "Tr0ub4dor"')
    os.link("access.toml", "labels.csv")
    for command in (("run",), ("fit",), ("predict", "st")):
        argv = (*command, "redis://127.0.0.1:1/rows", "--access", "access.toml")
        assert call(*argv, "-o", "labels.csv", "--overwrite") == 2
        assert "is the same file as --access" in capsys.readouterr().err
    assert Path("access.toml").read_text() == 'password = "Tr0ub4dor"'


# -- whole files --------------------------------------------------------------------------------

WHOLE = [("fit", "--family", "gaussian", "--random-state", 0), ("predict", "st")]


@pytest.mark.parametrize("command", WHOLE, ids=["fit", "predict"])
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_whole_files_appear_whole_or_not_at_all(rows, command, kind, monkeypatch, capsys):
    """The disk is full when the last rows are written, when there is and when there is no file."""
    if kind == "parquet":
        pytest.importorskip("pyarrow", reason="PyArrow is not installed")
    name, *more = command
    out = Path(f"labels.{kind}")
    argv = (name, *more, "d.csv", "-o", out, "--overwrite")
    before = sorted(os.listdir())

    def full(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for old in (None, "precious"):
        if old is not None:
            out.write_text(old)
            out.chmod(0o640)
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            assert call(*argv) == 1
        assert "No space left on device" in capsys.readouterr().err
        assert sorted(os.listdir()) == before if old is None else out.read_text() == old
    assert call(*argv) == 0
    assert out.stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir()) == sorted([*before, out.name])
    if kind != "parquet":
        assert len(out.read_text().splitlines()) == 200 + (kind == "csv")


def test_a_malformed_row_leaves_the_old_labels(rows, capsys):
    with rows.open("a") as file:
        file.write("1,one\n")
    Path("labels.csv").write_text("precious")
    os.symlink("labels.csv", "link.csv")
    before = sorted(os.listdir())
    argv = ("predict", "st", "d.csv", "--batch-size", 50, "-o", "link.csv", "--overwrite")
    assert call(*argv) == 1
    assert "line 202" in capsys.readouterr().err
    assert Path("labels.csv").read_text() == "precious"
    assert sorted(os.listdir()) == before
    assert call(*argv, "--on-error", "reject", "--rejects", "bad.jsonl") == 0
    assert Path("link.csv").is_symlink()
    assert len(Path("labels.csv").read_text().splitlines()) == 201
    assert len(Path("bad.jsonl").read_text().splitlines()) == 1


def test_whole_files_to_pipes(rows):
    os.mkfifo("pipe")
    got = []
    reader = threading.Thread(target=lambda: got.append(Path("pipe").read_text()))
    reader.start()
    assert call("predict", "st", "d.csv", "-o", "pipe", "--output-format", "csv") == 0
    reader.join()
    assert len(got[0].splitlines()) == 201


# -- the other commands -------------------------------------------------------------------------


def test_report(rows, capsys):
    pytest.importorskip("matplotlib", reason="Matplotlib is not installed")
    assert call("run", "d.csv", *RUN, "-o", "none", "--chronicle", "r.jsonl", "--quiet") == 0
    before = Path("r.jsonl").read_bytes()
    os.link("r.jsonl", "r.html")
    for argv in (("-o", "r.jsonl"), (), ("--overwrite",)):
        assert call("report", "r.jsonl", *argv) == 2
        assert "is the same file as the chronicle" in capsys.readouterr().err
    assert Path("r.jsonl").read_bytes() == before
    Path("mine.html").write_text("precious")
    assert call("report", "r.jsonl", "-o", "mine.html") == 1
    assert Path("mine.html").read_text() == "precious"
    assert call("report", "r.jsonl", "-o", "page.html") == 0
    assert call("report", "r.jsonl", "-o", "page.html") == 0  # a page of its own
    assert call("report", "r.jsonl", "-o", "mine.html", "--overwrite") == 0
    assert sorted(p for p in os.listdir() if p.startswith(".")) == []


def test_demo(rows, capsys):
    pytest.importorskip("matplotlib", reason="Matplotlib is not installed")
    argv = ("demo", "--batches", 4, "--batch-size", 100, "--picture")
    Path("mine.png").write_text("precious")
    assert call(*argv, "mine.png") == 1
    assert "already exists" in capsys.readouterr().err
    assert Path("mine.png").read_text() == "precious"
    assert call(*argv, "demo.png") == 0
    assert call(*argv, "demo.png") == 0  # a picture of its own
    assert call(*argv, "mine.png", "--overwrite") == 0


def test_video(rows, capsys):
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    rng = np.random.default_rng(0)
    os.mkdir("frames")
    for i in range(2):
        pixels = rng.integers(256, size=(12, 12, 3)).astype(np.uint8)
        image.fromarray(pixels).save(f"frames/{i}.png")
    pictures = [image.fromarray(rng.integers(256, size=(12, 12, 3)).astype(np.uint8))] * 2
    pictures[0].save("clip.gif", save_all=True, append_images=pictures[1:])
    originals = {p: p.read_bytes() for p in [*Path("frames").iterdir(), Path("clip.gif")]}
    os.symlink("frames", "again")
    os.link("clip.gif", "clip2.gif")
    assert call("video", "frames", "-o", "again", "--overwrite") == 2
    assert call("video", "clip.gif", "-o", "clip2.gif", "--overwrite") == 2
    assert call("video", "clip.gif", "-o", "new", "--chronicle", "clip2.gif", "--overwrite") == 2
    Path("c.jsonl").write_text("precious")
    assert call("video", "clip.gif", "-o", "new", "--chronicle", "c.jsonl") == 1
    assert Path("c.jsonl").read_text() == "precious"
    os.mkdir("full")
    Path("full/side-by-side.gif").write_text("precious")
    assert call("video", "clip.gif", "-o", "full") == 1
    assert Path("full/side-by-side.gif").read_text() == "precious"
    assert call("video", "clip.gif", "-o", "full", "--overwrite") == 0
    assert originals == {p: p.read_bytes() for p in originals}
    told = capsys.readouterr().err
    assert "already exists" in told
    assert "is the same file as the source" in told


# -- damaged checkpoints ------------------------------------------------------------------------


def test_damaged_checkpoints_stop_every_start(rows, capsys):
    argv = ("run", "d.csv", *RUN, "-o", "out.csv", "--checkpoint", "state", "--every", 1)
    assert call(*argv) == 0
    before = Path("out.csv").read_bytes()
    for file in Path("state").glob("*.scstream"):
        file.write_bytes(b"nothing")
    names = sorted(os.listdir("state"))
    for _ in range(3):  # as a supervisor does
        assert call(*argv, "--overwrite") == 1
        told = capsys.readouterr().err
        assert "No checkpoint in state can be read" in told
        assert "remove the folder state" in told
        assert Path("out.csv").read_bytes() == before
        assert sorted(os.listdir("state")) == names
    for file in Path("state").glob("*.scstream"):  # as earlier versions left them
        file.rename(file.with_suffix(".damaged"))
    assert call(*argv) == 1
    for file in Path("state").glob("*"):
        file.unlink()
    assert call(*argv) == 1  # the outputs are still there
    assert call(*argv, "--overwrite") == 0
    assert Path("out.csv").read_bytes() == before


def test_one_damaged_checkpoint_is_set_aside(rows, capsys):
    argv = ("run", "d.csv", *RUN, "-o", "out.csv", "--checkpoint", "state", "--every", 1)
    assert call(*argv) == 0
    before = Path("out.csv").read_bytes()
    newest = sorted(Path("state").glob("*.scstream"))[-1]
    newest.write_bytes(b"nothing")
    for command in (("show", "state"), ("predict", "state", "d.csv", "-o", "none", "--quiet")):
        capsys.readouterr()
        assert call(*command) == 0
        told = capsys.readouterr().err
        assert f"what is newer cannot be read ({newest.name}: " in told
    assert call(*argv) == 0
    assert f"is now {newest.stem}.damaged" in capsys.readouterr().err
    assert Path("out.csv").read_bytes() == before


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are not listed here")
def test_no_file_is_renamed_while_it_is_open(tmp_path, monkeypatch):
    """Windows would refuse."""
    rename = os.replace

    def replace(source, target):
        handles = [f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd")]
        assert str(source) not in {os.path.realpath(handle) for handle in handles}
        renamed.append(Path(target).name)
        rename(source, target)

    renamed = []
    monkeypatch.setattr(os, "replace", replace)
    monkeypatch.chdir(tmp_path)
    np.savetxt("rows.csv", np.random.default_rng(0).normal(size=(60, 2)), delimiter=",")
    pytest.importorskip("pyarrow", reason="PyArrow is not installed")
    for output in ("labels.csv", "labels.parquet"):
        assert main(["fit", "rows.csv", "--model", "m.scs", "-o", output, "--overwrite"]) == 0
    assert main(["run", "rows.csv", "--checkpoint", "state", "-o", "parts.parquet"]) == 0
    assert {"labels.csv", "labels.parquet", "m.scs"} < set(renamed)
    assert any(name.startswith("checkpoint-") for name in renamed)
