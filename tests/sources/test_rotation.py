"""Files that are followed while they are rotated, and inputs that a resume must know again."""

import os
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from scstream.sources import SourceOptions, open_source
from scstream.sources import files as rotation
from scstream.sources.files import FileReader, open_next, open_renamed
from scstream.sources.readers import HEAD, TAIL, Trail, digest_of
from scstream.support.paths import identity

HEADER = "x,y\n"


def lines(start, n):
    return "".join(f"{i},{-i}\n" for i in range(start, start + n))


class Followed:
    """A followed file, read batch by batch; a look at its end takes no time."""

    def __init__(self, path, place=None, size=5, **options):
        self.source = open_source(
            path, SourceOptions(size, keep=True, time_column="none", follow=True, **options)
        )
        self.source.keep_marks()
        if place is not None:
            self.source.seek(place)
        self.batches = iter(self.source)
        self.place = place

    def take(self, batches=1):
        """Return the first column of some batches."""
        found = []
        for _ in range(batches):
            batch = next(self.batches)
            self.place = self.source.mark(batch.place)
            found += batch.X[:, 0].astype(int).tolist()
        return found


@pytest.fixture
def follow(monkeypatch):
    """Return a function that follows a file."""
    end = time.monotonic() + 60.0

    def look_again(seconds):
        assert time.monotonic() < end, "what is waited for was lost"

    monkeypatch.setattr("scstream.sources.files.time.sleep", look_again)
    all_of_them = []

    def begin(path, place=None, **options):
        all_of_them.append(Followed(path, place, **options))
        return all_of_them[-1]

    yield begin
    for followed in all_of_them:
        followed.source.close()


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(HEADER + lines(0, 10))
    return path


def append(path, text):
    with open(path, "a") as file:
        file.write(text)


def rename(path, late=""):
    """Rotate by renaming; the writer adds something to the old file before it opens the new."""
    os.rename(path, f"{path}.1")
    append(f"{path}.1", late)
    path.touch()


@pytest.mark.parametrize("header", [HEADER, ""])
def test_a_rotated_file_is_read_to_its_end_and_then_the_new_one(log, follow, header):
    followed = follow(log)
    assert followed.take(2) == list(range(10))
    rename(log, late=lines(10, 3))
    append(log, header + lines(13, 4))
    assert followed.take() == [10, 11, 12, 13, 14]  # a batch of both
    append(log, lines(17, 3))
    assert followed.take() == [15, 16, 17, 18, 19]


def test_a_last_line_without_its_end_is_not_lost(log, follow):
    followed = follow(log)
    followed.take(2)
    rename(log, late="10,-10\n11,-11")
    append(log, HEADER + lines(12, 3))
    assert followed.take() == [10, 11, 12, 13, 14]


@pytest.mark.parametrize("more", [5, 50])
def test_a_cut_file_goes_on_and_says_so(log, follow, caplog, more):
    followed = follow(log)
    followed.take(2)
    os.truncate(log, 0)
    append(log, HEADER + lines(20, more))
    assert followed.take(more // 5) == list(range(20, 20 + more))
    assert "was cut while it was followed" in caplog.text


def test_two_rotations_between_two_looks(log, follow):
    followed = follow(log)
    followed.take(2)
    os.rename(log, f"{log}.2")
    (log.parent / "log.csv.1").write_text(HEADER + lines(10, 5))
    log.write_text(HEADER + lines(15, 5))
    assert followed.take(2) == list(range(10, 20))


def rotate_all(path, number):
    """Rotate by renaming all files, the oldest first."""
    for one in range(number, 0, -1):
        os.rename(f"{path}.{one}", f"{path}.{one + 1}")
    os.rename(path, f"{path}.1")


def test_rotations_in_quick_succession_lose_nothing(log, follow):
    """Names change at any moment: between a look at them and the opening of a file, too."""
    followed = follow(log)
    followed.take(2)

    def write():
        for number in range(150):
            rotate_all(log, number)
            fresh = log.with_name("fresh")
            fresh.write_text(HEADER + lines(10 + 5 * number, 5))
            os.rename(fresh, log)

    writer = threading.Thread(target=write)
    writer.start()
    found = followed.take(150)
    writer.join()
    assert found == list(range(10, 760))


def test_a_file_that_is_renamed_during_a_look_is_not_passed_over(tmp_path, monkeypatch):
    log, names = tmp_path / "log", rotation.rotated_files
    for suffix in ("", ".1", ".2", ".4"):
        Path(f"{log}{suffix}").write_text(suffix)
    mine = identity(os.stat(f"{log}.4"))

    def renamed_then(path):
        found = names(path)
        if os.path.exists(f"{log}.2"):
            os.rename(f"{log}.2", f"{log}.3")
        return found

    monkeypatch.setattr(rotation, "rotated_files", renamed_then)
    with rotation.open_next(str(log), mine) as file:
        assert file.read() == b".2"


def test_a_file_that_is_renamed_during_the_search_is_found(tmp_path, monkeypatch):
    (tmp_path / "log").touch()
    for number in (1, 2, 3):
        (tmp_path / f"log.{number}").write_text(str(number))
    mine, names, looks = identity(os.stat(tmp_path / "log.3")), rotation.rotated_files, []

    def renamed_then(path):
        found = names(path)
        if not looks:
            rotate_all(tmp_path / "log", 3)
        looks.append(path)
        return found

    monkeypatch.setattr(rotation, "rotated_files", renamed_then)
    with open_renamed(str(tmp_path / "log"), mine) as file:
        assert file.read() == b"3"
    assert open_renamed(str(tmp_path / "log"), [0, 0]) is None


def test_files_that_look_alike_are_told_apart(tmp_path, follow):
    """A sensor at rest writes the same line again and again, in each file that follows."""
    log = tmp_path / "log.csv"
    log.write_text(HEADER + "1,-1\n" * 2000)
    followed = follow(log, size=1500)
    assert len(followed.take()) == 1500
    followed.source.close()
    rename(log)
    append(log, HEADER + "1,-1\n" * 2499 + "2,-2\n")
    resumed = follow(log, followed.place, size=1500)
    assert resumed.take(2) == [1] * 2999 + [2]
    again = follow(log, {**resumed.place}, size=5)  # what is found again has its mark again
    append(log, lines(10, 5))
    assert again.take() == list(range(10, 15))


def test_other_columns_after_a_rotation(log, follow):
    followed = follow(log, header=True)
    followed.take(2)
    rename(log)
    append(log, "x,z\n" + lines(10, 5))
    with pytest.raises(ValueError, match=r"has other columns.*: \['x', 'z'\]"):
        followed.take()


@pytest.mark.parametrize("taken", [1, 2, 3, 4])
def test_a_resume_finds_its_place_in_a_file_that_was_rotated(log, follow, taken):
    """Rows 0 to 11 in the old file, 12 to 24 in the new one; the run ends after some batches."""
    followed = follow(log)
    found = followed.take(min(taken, 2))
    rename(log, late=lines(10, 2))
    append(log, HEADER + lines(12, 13))
    if taken > 2:
        found += followed.take(taken - 2)
    again = follow(log, followed.place)
    found += again.take(5 - taken)
    assert found == list(range(25))
    rename(log)  # and once more, from the resumed one
    append(log, HEADER + lines(25, 5))
    assert again.take() == list(range(25, 30))
    last = follow(log, again.place)
    append(log, lines(30, 5))
    assert last.take() == list(range(30, 35))


def test_a_pipe_that_is_followed_is_not_taken_for_a_cut_file(tmp_path, follow):
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_text(HEADER + lines(0, 10)))
    writer.start()
    assert follow(path).take(2) == list(range(10))
    writer.join()


def test_json_lines_are_rotated_too(tmp_path, follow):
    path = tmp_path / "log.jsonl"
    path.write_text("".join(f'{{"x": {i}}}\n' for i in range(5)))
    followed = follow(path)
    assert followed.take() == [0, 1, 2, 3, 4]
    rename(path)
    append(path, "".join(f"[{i}]\n" for i in range(5, 10)))
    assert followed.take() == [5, 6, 7, 8, 9]


# -- inputs that were replaced ------------------------------------------------------------------


def place_after(path, batches, **options):
    with open_source(path, SourceOptions(5, keep=True, **options)) as source:
        source.keep_marks()
        for _, batch in zip(range(batches), source, strict=False):
            place = source.mark(batch.place)
    return place


def resumed(path, place):
    with open_source(path, SourceOptions(5, keep=True)) as source:
        source.seek(place)
        return sum(batch.n for batch in source)


@pytest.mark.parametrize("change", ["row", "header", "first row"])
def test_a_replaced_file_is_refused(log, change):
    place = place_after(log, 2)
    assert resumed(log, place) == 0
    append(log, lines(10, 7))
    assert resumed(log, place) == 7
    text = log.read_text()
    wrong = {"row": ("9,-9", "9,-8"), "header": ("x,y", "x,z"), "first row": ("0,0", "1,0")}
    log.write_text(text.replace(*wrong[change], 1))
    with pytest.raises(ValueError, match="does not match what was read before"):
        resumed(log, place)


@pytest.mark.parametrize("kind", ["npy", "parquet"])
def test_a_replaced_table_is_refused(tmp_path, kind):
    def put(X):
        if kind == "npy":
            np.save(path, X)
        else:
            parquet.write_table(pa.table({"a": X[:, 0], "b": X[:, 1]}), path)

    path = tmp_path / f"rows.{kind}"
    if kind == "parquet":
        pa = pytest.importorskip("pyarrow", reason="PyArrow is not installed")
        parquet = pytest.importorskip("pyarrow.parquet", reason="PyArrow is not installed")
    X = np.arange(40.0).reshape(20, 2)
    put(X[:10])
    place = place_after(path, 2)
    put(X)
    assert resumed(path, place) == 10
    put(-X)
    with pytest.raises(ValueError, match="does not match"):
        resumed(path, place)
    put(X[:7])
    with pytest.raises(ValueError, match="has 7 rows, but 10 were read before"):
        resumed(path, place)


def test_standard_input_that_comes_again_otherwise(monkeypatch, tmp_path):
    def through(text, place=None):
        (tmp_path / "in").write_text(text)
        with open(tmp_path / "in") as stream, monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", stream)
            source = open_source("-", SourceOptions(5, keep=True))
            source.keep_marks()
            if place is not None:
                source.seek(place)
            return [source.mark(batch.place) for batch in source]

    text = HEADER + lines(0, 20)
    places = through(text)
    assert through(text, places[1]) == places[2:]
    with pytest.raises(ValueError, match="does not match what was read before"):
        through(text.replace("9,-9", "9,-8"), places[1])


def test_a_trail_forgets_and_its_digest_is_that_of_the_file(tmp_path):
    rng = np.random.default_rng(0)
    data = rng.integers(256, size=100_000, dtype=np.uint8).tobytes()
    trail, at = Trail(), 0
    for size in [1, 500, 3000, 7, 20_000, 9_000, 60_000]:
        trail.add(data[at : at + size])
        at += size
        trail.forget(at - 1)
        assert trail.mark(at)["digest"] == digest_of(data[: min(at, HEAD)], data[:at][-TAIL:])
        assert len(trail._files[0].recent) <= TAIL + 1
    (tmp_path / "file").write_bytes(data)
    reader = FileReader(str(tmp_path / "file"), False)
    reader.trail = Trail()
    reader.seek(at, trail.mark(at))
    found = os.stat(tmp_path / "file")
    mark = {**trail.mark(at), "file": [found.st_dev, found.st_ino]}
    assert reader.trail.mark(at) == mark
    assert reader.read() == data[at:]
    reader.close()


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("offset", -1), ("offset", "1"), ("offset", 2**70), ("line", None), ("row", 1.5),
        ("names", "xy"), ("names", [1, 2]), ("used", [7]), ("used", []), ("used", [0, 0]),
        ("kinds", ["number"]), ("kinds", ["number", "colour"]), ("time", 9), ("clock", 5.0),
        ("dates", 1), ("header", "yes"), ("seen", 5), ("seen", {"base": 0}),
        ("seen", {"digest": ""}), ("seen", {"base": 10**9, "digest": ""}), ("period", "now"),
    ],
)  # fmt: skip
def test_a_forged_place_is_refused(log, part, value):
    place = place_after(log, 1)
    with pytest.raises(ValueError, match=rf"is not sound: {part}|is not sound: (base|time)"):
        resumed(log, {**place, part: value})


@pytest.mark.parametrize("folder", [".", "..", "", "absolute"])
def test_the_next_file_is_found_however_the_path_is_written(tmp_path, monkeypatch, folder):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    folder = {"absolute": tmp_path}.get(folder, folder)
    path = os.path.join(folder, "log.csv")
    for suffix in ("", ".1", ".2"):
        Path(path + suffix).write_text(suffix)
    for suffix, later in ((".2", ".1"), (".1", "")):
        with open_next(path, identity(os.stat(path + suffix))) as file:
            assert file.read() == later.encode()
