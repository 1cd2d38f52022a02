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


@pytest.mark.parametrize("n_threads", [1, 2, 3, 16, 7])
def test_all_numbers_are_taken_once_whoever_takes_them(n_threads):
    mine, who = taken_by(n_threads)
    step = len(mine.rows) // n_threads
    counts = np.bincount(who, minlength=n_threads)
    assert who.min() >= 0
    assert who.max() < n_threads
    assert mine.rows[::step, 0].tolist() == counts.tolist()
    assert mine.rows.sum() == len(who)
    assert mine.table.sum(axis=(0, 1)).tolist() == [sum(range(r, len(who), 3)) for r in range(3)]


@part
def meet_share(thread, given):
    """Wait until all threads have come, and note this one; then go slowly."""
    crew, came, seen, ended = given
    seen[thread] = 1
    claim(came, 0)
    while claim(came, 1) >= 0 and came[0] < crew.threads:
        pass
    if thread > 0:
        for _ in range(100_000):
            claim(came, 1)
    ended[thread] = 1


@bare
def meet(crew, came, seen, ended):
    """Let threads wait for each other."""
    on_threads(crew, meet_share, (crew, came, seen, ended))


@pytest.mark.parametrize("n_threads", [2, 5, 16])
def test_all_threads_of_a_crew_run_at_once_and_are_waited_for(n_threads):
    for _ in range(5):
        came, (seen, ended) = np.zeros(2, np.int64), np.zeros((2, n_threads), np.int64)
        with crew_of(n_threads) as crew:
            assert crew.threads == n_threads
            meet(crew, came, seen, ended)
        assert seen.all()
        assert ended.all()


@pytest.mark.parametrize("n_threads", [2, 3, 16])
def test_passes_may_follow_each_other_before_all_threads_are_awake(n_threads):
    taken_by(16)
    for most in range(2_000):
        mine, who = taken_by(n_threads, most % 7)
        assert mine.rows.sum() == most % 7
        assert (who >= 0).all()


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


def test_a_crew_is_used_again():
    with crew_of(2) as first:
        pass
    with crew_of(3) as second:
        pass
    assert second.places is first.places
    with crew_of(2) as one, crew_of(2) as other:
        assert one.places is not other.places


def test_a_system_that_starts_no_more_threads_gets_a_smaller_crew(monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(crews, "_idle", [])
    monkeypatch.setattr(threading.Thread, "start", refuse)
    mine, who = taken_by(4)
    assert (who == 0).all()
    assert mine.rows.sum() == len(who)


@pytest.mark.parametrize("shape", [(1,), (5,), (2, 3), (600,), (0,), (3, 0)])
def test_memory_of_threads_is_apart(shape):
    each = for_each(4, shape)
    step = len(each) // 4
    assert each.shape[1:] == shape
    assert each[0].nbytes > 4096 or each[:step].nbytes - each[0].nbytes >= min(128, each.nbytes)


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


def test_without_compiled_code_the_caller_does_it_alone(tmp_path):
    check = "assert mine.rows.sum() == 100 and (who == 0).all()"
    run(f"mine, who = t.taken_by(4, 100); {check}", tmp_path, NUMBA_DISABLE_JIT="1")
