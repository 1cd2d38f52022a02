"""All runs of a comparison: which there are, which are still to be done, and their progress."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Lock
from typing import TextIO

import numpy as np

from benchmarks.catalogue import DATASETS
from benchmarks.children import Say, cores_of, limit_threads, supervise
from benchmarks.contestants.base import Contestant
from benchmarks.protocol import Job, run, start_row, takes
from benchmarks.store import Row, Store
from benchmarks.streams import Dataset, Mode, NoData
from benchmarks.tuning import Budget, tune

_PREPARATION = 1800.0  # seconds, for compiling and for each data set that has to be fetched


@dataclass(frozen=True)
class Plan:
    """How a comparison is run.

    Attributes
    ----------
    mode : {"short", "full"}
    seeds : sequence of int
        What draws nothing at random gets the first alone.
    limit : float
        Seconds of each run.
    budget : Budget
        Of each tuning; no trials, no tuned rows.
    folder : Path or None
        Where files are looked for.
    modules : tuple of str
        Modules with further contestants.
    threads : int
        How many each contestant may use.
    jobs : int
        How many run at the same time.
    again : bool
        Whether what failed is run again.
    """

    mode: Mode
    seeds: Sequence[int]
    limit: float
    budget: Budget
    folder: Path | None = None
    modules: tuple[str, ...] = ()
    threads: int = 1
    jobs: int = 1
    again: bool = False


@dataclass(frozen=True)
class Unit:
    """A contestant on a data set: its runs by default, its tuning, its tuned runs, in a row."""

    dataset: Dataset
    contestant: Contestant
    plan: Plan

    def jobs(self) -> Iterator[Job]:
        """Give the runs in order, the tuned ones still without their settings."""
        tuned = self.contestant.space is not None and self.plan.budget.trials > 0
        varies = self.dataset.random or self.contestant.random
        for kind in ("default", "tuned") if tuned else ("default",):
            for seed in self.plan.seeds if varies else self.plan.seeds[:1]:
                yield Job(
                    self.dataset.name,
                    self.contestant.name,
                    kind,
                    seed,
                    self.plan.mode,
                    self.plan.limit,
                    folder=self.plan.folder,
                    modules=self.plan.modules,
                    threads=self.plan.threads,
                    jobs=self.plan.jobs,
                )

    def pending(self, store: Store) -> list[Job]:
        """Return the runs that the store does not hold, or holds as failed if asked again."""
        return [job for job in self.jobs() if not _is_done(store.get(**job.key), self.plan.again)]


def _is_done(row: Row | None, again: bool) -> bool:
    """Whether a stored row stands: what was not to be had may be there by now."""
    if row is None:
        return False
    status = row["status"].removeprefix("not tuned: ")
    if status.startswith(("not installed", "no data")):
        return False
    return not (again and status.startswith("failed"))


def run_all(
    plan: Plan,
    datasets: Sequence[Dataset],
    contestants: Sequence[Contestant],
    store: Store,
    out: TextIO = sys.stderr,
) -> None:
    """Run all that is not in the store, and add each result to it as soon as it is there."""
    units = [
        Unit(dataset, contestant, plan)
        for dataset in datasets
        for contestant in contestants
        if takes(contestant, dataset)
    ]
    units = [unit for unit in units if unit.pending(store)]
    progress = Progress(sum(len(unit.pending(store)) for unit in units), out)
    if not units:
        progress.write(f"Nothing to do: {store.path} holds every run.")
        return
    limit_threads(plan.threads)
    absent = _absent({unit.dataset.name for unit in units}, plan, progress)
    _work_off(units, absent, store, progress, plan)


def _absent(names: set[str], plan: Plan, progress: Progress) -> dict[str, str]:
    """Look at each data set once, fetch it if need be, and return why some cannot be had."""
    absent: dict[str, str] = {}
    for name in (name for name in DATASETS if name in names):
        facts: Row = {}
        end = supervise(
            look_at, (name, plan.mode, plan.folder), seconds=_PREPARATION, hear=facts.update
        )
        if end != "ok" or "no data" in facts:
            absent[name] = f"no data: {facts.get('no data', end)}"
        progress.write(f"{name}: {absent.get(name) or facts['found']}")
    return absent


def look_at(what: tuple[str, Mode, Path | None], say: Say) -> None:
    """Open a data set and say what was found."""
    name, mode, folder = what
    try:
        stream = DATASETS[name].open(0, mode, folder)
    except NoData as error:
        say({"no data": str(error)})
    else:
        say({"found": f"{stream.source}; {stream.n_batches} batches"})


def _work_off(
    units: list[Unit], absent: dict[str, str], store: Store, progress: Progress, plan: Plan
) -> None:
    """Work off the units, so many at a time, each on cores of its own."""
    stop = Event()
    slots: SimpleQueue[list[int] | None] = SimpleQueue()
    for slot in range(plan.jobs):
        slots.put(cores_of(slot, plan.threads))

    def work(unit: Unit) -> None:
        cores = slots.get()
        try:
            _work_off_unit(unit, absent.get(unit.dataset.name), store, progress, cores, stop)
        finally:
            slots.put(cores)

    with ThreadPoolExecutor(plan.jobs) as pool:
        futures = [pool.submit(work, unit) for unit in units]
        try:
            for future in as_completed(futures):
                future.result()
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise


def _work_off_unit(
    unit: Unit,
    absent: str | None,
    store: Store,
    progress: Progress,
    cores: list[int] | None,
    stop: Event,
) -> None:
    for job in unit.pending(store):
        if stop.is_set():
            return
        if absent is not None:
            store.add(start_row(job, unit.contestant) | {"status": absent})
            progress.end(job, {"status": absent})
            continue
        if job.settings_kind == "tuned":
            tuning = _tuning(unit, job, store, cores, stop)
            if tuning is None:
                return
            if tuning["status"] != "ok":
                row = start_row(job, unit.contestant)
                row |= {"status": f"not tuned: {tuning['status']}", "n_batches": None}
                store.add(row)
                progress.end(job, row)
                continue
            job = replace(job, settings=tuning["settings"])
        row = run(job, cores=cores, stop=stop)
        if row is None:
            return
        store.add(row)
        progress.end(job, row)


def _tuning(
    unit: Unit,
    job: Job,
    store: Store,
    cores: list[int] | None,
    stop: Event,
) -> Row | None:
    """Return the tuning that a run needs, from the store if it is there; None if stopped."""
    job = replace(job, seed=unit.plan.seeds[0])  # the seeds share one search
    key = {**job.key, "what": "tuning"}
    stored = store.get(**key)
    if _is_done(stored, unit.plan.again):
        return stored
    row = tune(job, unit.plan.budget, cores=cores, stop=stop)
    if row is not None:
        store.add(row)
    return store.get(**key) if row is not None else None


class Progress:
    """A line for each run that ended, with how long the rest may take.

    Parameters
    ----------
    total : int
        How many runs there are.
    out : text file
    """

    def __init__(self, total: int, out: TextIO) -> None:
        self._total = total
        self._out = out
        self._done = 0
        self._began = time.monotonic()
        self._lock = Lock()

    def write(self, line: str) -> None:
        """Write a line."""
        print(line, file=self._out, flush=True)

    def end(self, job: Job, row: Row) -> None:
        """Write how a run ended."""
        aris = [ari for ari in row.get("ari", []) if ari is not None]
        score = f"ARI {np.mean(aris):.3f} over {len(aris)} batches, " if aris else ""
        name = f"{job.dataset}, {job.contestant}, {job.settings_kind}, seed {job.seed}"
        with self._lock:
            self._done += 1
            seconds = (time.monotonic() - self._began) / self._done * (self._total - self._done)
            rest = f"; about {seconds / 60:.0f} min left" if self._done < self._total else ""
            self.write(f"[{self._done}/{self._total}] {name}: {score}{row['status']}{rest}")
