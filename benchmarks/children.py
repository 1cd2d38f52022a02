"""Work in a process of its own, so that it can fail, hang or be killed without harm to the rest.

Every child gets the same share of the machine: so many cores, and libraries told to use so many
threads.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable
from multiprocessing.connection import Connection
from threading import Event
from typing import Any

Say = Callable[[dict[str, Any]], None]

_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
_PATIENCE = 0.2  # seconds between two looks at a silent child
_WAITING = 5.0  # seconds that a child may take for each second of the processor that it may use


def limit_threads(threads: int) -> None:
    """Tell the numerical libraries of all children to come how many threads they may use."""
    for name in _THREADS:
        os.environ[name] = str(threads)


def cores_of(slot: int, threads: int) -> list[int] | None:
    """Return the cores for the children of a slot; None where there are too few to share out."""
    if not hasattr(os, "sched_getaffinity"):
        return None
    mine = sorted(os.sched_getaffinity(0))[slot * threads : (slot + 1) * threads]
    return mine if len(mine) == threads else None


def supervise(
    work: Callable[[Any, Say], None],
    job: Any,
    *,
    seconds: float,
    hear: Say,
    cores: list[int] | None = None,
    stop: Event | None = None,
) -> str:
    """Run ``work(job, say)`` in a child, hear what it says, kill it when its time is over.

    Parameters
    ----------
    work : callable
        A function of a module; what it says are dictionaries that can be pickled.
    job : object
        Its argument, which can be pickled.
    seconds : float
        How long it may take. When it says ``{"within": seconds}``, it has that long from then on;
        with ``"processor": True`` these are seconds of the processor, where the system counts
        them: what else runs on the machine takes none, and waiting for nothing ends as well.
    hear : callable
        Called with each thing said.
    cores : list of int, optional
        The cores that it may use.
    stop : Event, optional
        Set by another thread to have the child killed.

    Returns
    -------
    str
        ``"ok"``, ``"time limit"``, ``"stopped"`` or ``"failed: why"``.
    """
    context = _context()
    ear, mouth = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(mouth, work, job, cores), daemon=True)
    child.start()
    mouth.close()
    deadline, most = time.monotonic() + seconds, math.inf
    try:
        while True:
            if stop is not None and stop.is_set():
                return "stopped"
            if time.monotonic() > deadline or _processor_time(child.pid) > most:
                return "time limit"
            if not ear.poll(_PATIENCE):
                continue
            try:
                said = ear.recv()
            except EOFError:  # it ended without a last word: killed, or crashed in compiled code
                child.join()
                return f"failed: the process ended with code {child.exitcode}"
            if "end" in said:
                return said["end"]
            if "within" in said:
                counted = _processor_time(child.pid) if said.get("processor") else math.nan
                most = counted + said["within"]
                patience = 1.0 if math.isnan(most) else _WAITING
                deadline = time.monotonic() + patience * said["within"]
            else:
                hear(said)
    finally:
        child.kill()
        child.join()
        ear.close()


def _processor_time(pid: int | None) -> float:
    """Return the seconds that a process has used so far, NaN where the system does not tell."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            ticks = file.read().rpartition(")")[2].split()[11:13]  # in its own code, for it
    except OSError:
        return math.nan
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def _context() -> Any:
    """Return the quickest way of starting clean processes that the system has."""
    offered = multiprocessing.get_all_start_methods()
    if "forkserver" not in offered:
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    # Imported once by the server, not by each child; none of these starts a thread.
    context.set_forkserver_preload(["scstream", "sklearn.cluster", "sklearn.mixture"])
    return context


def _child(
    mouth: Connection, work: Callable[[Any, Say], None], job: Any, cores: list[int] | None
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means
    if cores is not None:
        os.sched_setaffinity(0, cores)
    warnings.simplefilter("ignore")
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - for as long as the process lives
    try:
        work(job, mouth.send)
        end = "ok"
    except Exception as error:
        end = f"failed: {type(error).__name__}: {_first_line(error)}"
    mouth.send({"end": end})


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else "no message"
