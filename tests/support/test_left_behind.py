"""Temporary files that killed processes left, and moments with fractions of a second."""

import os
import time
from datetime import UTC, datetime

from scstream.support import atomic
from scstream.support.times import moment


def test_only_old_temporary_files_are_removed(tmp_path):
    young, old = (tmp_path / f".{name}{atomic._SUFFIX}" for name in ("young", "old"))
    for file in (young, old):
        file.touch()
    long_ago = time.time() - atomic._STALE - 60.0
    os.utime(old, (long_ago, long_ago))
    atomic._remove_stale(tmp_path)
    assert young.exists()
    assert not old.exists()


def test_fractions_of_a_second_count():
    for zone in (None, UTC):
        assert moment(datetime(1970, 1, 1, 0, 0, 2, 250_000, tzinfo=zone)) == 2.25
