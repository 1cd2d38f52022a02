"""Threads of a crew share work in compiled code, and each has memory of its own."""

import os
import subprocess
import sys
import threading
from typing import Any, NamedTuple

import numpy as np
import pytest

from scstream.kernels import crew as crews
from scstream.kernels.atomic import claim
from scstream.kernels.compiling import bare, part
from scstream.kernels.crew import crew_of, for_each, on_threads, own_of


class Own(NamedTuple):
    """What a thread of the tests has."""

    rows: Any
    table: Any


@part
def take_share(thread, given):
    """Claim numbers and note them; the thread says who it is."""
    crew, taken, most, mine, who = given
    own = own_of(mine, thread, crew.threads)
    number = claim(taken, 0)
    while number < most:
        own.rows[0] += 1
        own.table[1, number % 3] += number
        who[number] = thread
        number = claim(taken, 0)


@bare
def take(crew, taken, most, mine, who):
    """Let threads claim numbers."""
    on_threads(crew, take_share, (crew, taken, most, mine, who))


def taken_by(n_threads, most=100_000):
    """Return what threads noted, and who took each number."""
    who = np.full(most, -1)
    with crew_of(n_threads) as crew:
        mine = Own(for_each(crew.threads, (1,), np.int64), for_each(crew.threads, (2, 3)))
        take(crew, np.zeros(1, np.int64), most, mine, who)
    return mine, who


def test_callers_at_the_same_time_have_crews_of_their_own():
    failed = []

    def call():
        for _ in range(50):
            mine, _ = taken_by(3, most=1_000)
            if mine.rows.sum() != 1_000:
                failed.append(mine)

    callers = [threading.Thread(target=call) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert failed == []


def test_a_system_that_starts_no_more_threads_gets_a_smaller_crew(monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(crews, "_idle", [])
    monkeypatch.setattr(threading.Thread, "start", refuse)
    mine, who = taken_by(4)
    assert (who == 0).all()
    assert mine.rows.sum() == len(who)


def run(script, folder, **more):
    """Run a script that has this file as t, in a process that keeps its kernels in a folder."""
    begin = f"import os, sys; sys.path[:0] = [{os.path.dirname(__file__)!r}]; import test_crew as t"
    command = [sys.executable, "-W", "ignore", "-c", f"{begin}; {script}"]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder), **more}
    subprocess.run(command, env=environment, timeout=300, check=True)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_process_has_threads_of_its_own(tmp_path):
    run(
        "t.taken_by(4); child = os.fork(); t.taken_by(4); child or os._exit(0); "
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))",
        tmp_path,
    )
