"""One run: a contestant on a data set, within a time limit.

Each batch is predicted, scored, then learned; on some data sets learned, then labelled and scored.
A run that passes its limit stops before the next batch and keeps what it has; one that hangs in a
batch for twice the limit is killed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
from scipy.sparse import issparse

from benchmarks.catalogue import DATASETS
from benchmarks.children import Say, supervise
from benchmarks.contestants import named
from benchmarks.contestants.base import Contestant, Model, Task
from benchmarks.machine import circumstances, now
from benchmarks.store import Row
from benchmarks.streams import Dataset, Mode, NoData, Opened
from scstream.datasets import Batch
from scstream.evaluate import prequential

COLUMNS = (
    "batch",
    "ari",
    "nmi",
    "purity",
    "f",
    "n_clusters",
    "n_true",
    "seconds_predict",
    "seconds_update",
    "oracle_ari",
    "oracle_nmi",
)
START = 600.0  # seconds for imports, a data set and a contestant to be made ready, all untimed
_PATIENCE = 2.0  # limits within which a batch must end


@dataclass(frozen=True)
class Job:
    """What a child needs to know of a run.

    Attributes
    ----------
    dataset, contestant : str
    settings_kind : {"default", "tuned"}
    seed : int
        Of the contestant, and of the stream if that is drawn.
    mode : {"short", "full"}
    limit : float
        Seconds, of the contestant's own time.
    settings : dict
        Given to the contestant; empty for its defaults.
    folder : Path or None
        Where files are looked for.
    modules : tuple of str
        Modules with further contestants.
    threads : int
        How many each contestant may use.
    jobs : int
        How many runs share the machine.
    """

    dataset: str
    contestant: str
    settings_kind: str
    seed: int
    mode: Mode
    limit: float
    settings: dict[str, Any] = field(default_factory=dict)
    folder: Path | None = None
    modules: tuple[str, ...] = ()
    threads: int = 1
    jobs: int = 1

    @property
    def clock_name(self) -> str:
        """Whose seconds count: where it has one thread, what others run does not."""
        return "processor" if self.threads == 1 else "wall"

    @property
    def clock(self) -> Callable[[], float]:
        """What its seconds are told by."""
        return time.process_time if self.clock_name == "processor" else time.perf_counter

    def within(self, seconds: float) -> Row:
        """Return what a child says that is to end in so many seconds of the clock."""
        return {"within": seconds, "processor": self.clock_name == "processor"}

    @property
    def key(self) -> Row:
        """What its row is found by."""
        return {
            "what": "run",
            "dataset": self.dataset,
            "contestant": self.contestant,
            "settings_kind": self.settings_kind,
            "seed": self.seed,
            "mode": self.mode,
        }


def run(job: Job, *, cores: list[int] | None = None, stop: Event | None = None) -> Row | None:
    """Run a job in a child and return its row, whatever became of it.

    Parameters
    ----------
    job : Job
    cores : list of int, optional
        The cores that the child may use.
    stop : Event, optional
        Set by another thread to end the run; its row is then None.

    Returns
    -------
    dict or None
    """
    contestant = named(job.modules)[job.contestant]
    row = start_row(job, contestant)
    missing = missing_modules(contestant)
    if missing:
        return row | {"status": f"not installed: {', '.join(missing)}"}
    scores: list[Row] = []

    def note(said: Row) -> None:
        if "facts" in said:
            row.update(said["facts"])
        else:
            scores.append(said["scores"])

    end = supervise(play, job, seconds=START, hear=note, cores=cores, stop=stop)
    if end == "stopped":
        return None
    columns = {name: [batch.get(name) for batch in scores] for name in COLUMNS}
    return row | columns | {"status": row.get("status", end) if end == "ok" else end}


def start_row(job: Job, contestant: Contestant) -> Row:
    """Return what is known of a run before it starts."""
    dataset = DATASETS[job.dataset]
    return {
        **job.key,
        "told_k": contestant.told_k,
        "settings": job.settings,
        "limit": job.limit,
        "clock": job.clock_name,
        "threads": job.threads,
        "jobs": job.jobs,
        "true_k": dataset.n_clusters,
        "batch_size": dataset.batch_size,
        "date": now(),
        **circumstances(),
    }


def missing_modules(contestant: Contestant, *more: str) -> list[str]:
    """Return the modules that a contestant needs, and more, that are not installed."""
    packages = [name.partition(".")[0] for name in (*contestant.needs, *more)]
    return [package for package in packages if find_spec(package) is None]


def play(job: Job, say: Say) -> None:
    """Run a job here, say its facts and the scores of each batch."""
    contestant = named(job.modules)[job.contestant]
    dataset = DATASETS[job.dataset]
    try:
        stream = dataset.open(job.seed, job.mode, job.folder)
    except NoData as error:
        say({"facts": {"status": f"no data: {error}"}})
        return
    taken = with_oracle(as_taken(stream.batches, contestant))
    task, batches = prepare(dataset, contestant, stream, taken)
    say({"facts": {"source": stream.source, "n_batches": stream.n_batches}})
    model = contestant.make(task, job.seed, **job.settings)
    within = Deadline(as_scored(dataset, batches), job.limit, job.clock)

    def progress(_: int, scores: Row) -> None:
        say({"scores": scores})
        say(job.within(_PATIENCE * job.limit))

    say(job.within(_PATIENCE * job.limit))
    result = prequential(
        scored_model(dataset, model),
        within,
        progress=progress,
        parts=dataset.parts,
        clock=job.clock,
    )
    facts = {
        "full_nmi": result.full_nmi,
        "full_ari": result.full_ari,
        "seconds_first": result.seconds_first,
        "peak_memory_mib": _peak_memory(),
        "status": "time limit" if within.passed else "ok",
    }
    say({"facts": facts})


class Deadline:
    """Batches until whoever takes them has used so many seconds; drawing them does not count."""

    def __init__(self, batches: Iterable[Any], seconds: float, clock: Callable[[], float]) -> None:
        self.passed = False
        self._batches = batches
        self._seconds = seconds
        self._clock = clock

    def __iter__(self) -> Iterator[Any]:
        """Give batches as long as there is time."""
        used = 0.0
        for batch in self._batches:
            if used > self._seconds:
                self.passed = True
                return
            given = self._clock()
            yield batch
            used += self._clock() - given


class LearnedFirst:
    """A model that learns a batch when it is asked for its labels, and at no other time."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def predict(self, X: Any) -> Any:
        """Learn rows, then label them."""
        self._model.partial_fit(X)
        return self._model.predict(X)

    def partial_fit(self, X: Any) -> None:
        """Do nothing: the rows were learned before they were labelled."""


def scored_model(dataset: Dataset, model: Model) -> Model:
    """Return the model as the data set's protocol runs it."""
    return LearnedFirst(model) if dataset.learned else model


def as_scored(dataset: Dataset, batches: Iterable[Any]) -> Iterator[Any]:
    """Give the batches, the first one twice where it is scored as well."""
    rest = iter(batches)
    first = next(rest)
    yield first
    if dataset.learned:
        yield first
    yield from rest


def with_oracle(batches: Iterable[Any]) -> Iterator[Any]:
    """Give batches whose oracle, where there is one, has been asked: not in a contestant's time."""
    for batch in batches:
        if isinstance(batch, Batch):
            _ = batch.oracle  # kept by the batch
        yield batch


def as_taken(batches: Iterable[Any], contestant: Contestant) -> Iterator[Any]:
    """Give the batches in the form that a contestant takes: counts as dense rows for some."""
    for batch in batches:
        X = batch.X if isinstance(batch, Batch) else batch[0]
        if "counts" in contestant.kinds or not issparse(X):
            yield batch
        elif isinstance(batch, Batch):
            yield replace(batch, X=X.toarray().astype(np.float64))
        else:
            yield X.toarray().astype(np.float64), batch[1]


def prepare(
    dataset: Dataset, contestant: Contestant, stream: Opened, batches: Iterable[Any]
) -> tuple[Task, Iterator[Any]]:
    """Return the task that the first batch makes, and all the batches, that one included."""
    rest = iter(batches)
    first = next(rest)
    X = first.X if isinstance(first, Batch) else first[0]
    task = Task(
        name=dataset.name,
        kind=dataset.kind if dataset.kind in contestant.kinds else "real",
        n_features=stream.n_features,
        batch_size=dataset.batch_size,
        n_clusters=dataset.n_clusters,
        first=X,
        paper=dataset.paper,
    )

    def all_of_them() -> Iterator[Any]:
        yield first
        yield from rest

    return task, all_of_them()


def takes(contestant: Contestant, dataset: Dataset) -> bool:
    """Whether a contestant can be run on a data set; counts can be had as dense rows."""
    return dataset.kind in contestant.kinds or "real" in contestant.kinds


def _peak_memory() -> float | None:
    """Return the most memory that this process has held, in MiB; None where nobody counts it."""
    try:
        from resource import RUSAGE_SELF, getrusage
    except ImportError:  # Windows
        return None
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return round(getrusage(RUSAGE_SELF).ru_maxrss / unit, 1)
