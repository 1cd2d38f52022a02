"""Tuning as in the paper: Optuna, on the first ten batches, by their mean ARI.

Every contestant gets the same number of trials and the same time. The defaults are the first
trial, so that tuned settings are never worse than they are on these batches. This is the only
place, besides the scoring, that sees labels.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from threading import Event
from typing import Any

import numpy as np

from benchmarks.catalogue import DATASETS
from benchmarks.children import Say, supervise
from benchmarks.contestants import named
from benchmarks.contestants.base import Contestant, Task
from benchmarks.machine import circumstances, now
from benchmarks.protocol import (
    START,
    Deadline,
    Job,
    as_scored,
    as_taken,
    missing_modules,
    prepare,
    scored_model,
)
from benchmarks.store import Row
from benchmarks.streams import Dataset, NoData
from scstream.evaluate import StreamClusterer, prequential

BATCHES = 10
_MOST = 0.5  # of the time, for one trial: slow defaults leave some for settings that are not


@dataclass(frozen=True)
class Budget:
    """What each contestant may spend: so many trials, the defaults included, in so long."""

    trials: int
    seconds: float


@dataclass(frozen=True)
class TuningJob:
    """What a child needs to know: the run to be tuned for, and the budget."""

    run: Job
    budget: Budget


class OutOfTime(Exception):
    """A trial that took too long to be scored."""


def tune(
    job: Job, budget: Budget, *, cores: list[int] | None = None, stop: Event | None = None
) -> Row | None:
    """Tune in a child and return the row of the best settings, None if stopped."""
    contestant = named(job.modules)[job.contestant]
    row = start_row(job, budget)
    missing = missing_modules(contestant, "optuna")
    if missing:
        return row | {"status": f"not installed: {', '.join(missing)}"}
    trials: list[Row] = []
    facts: Row = {}

    def note(said: Row) -> None:
        facts.update(said.get("facts", {}))
        trials.extend(said.get("trials", []))

    end = supervise(work, TuningJob(job, budget), seconds=START, hear=note, cores=cores, stop=stop)
    if end == "stopped":
        return None
    status = facts.get("status", end)
    scored = [trial for trial in trials if trial["ari"] is not None]
    if scored and end in ("ok", "time limit"):
        best = max(scored, key=lambda trial: trial["ari"])
        row |= {"settings": best["settings"], "ari": best["ari"]}
        status = "ok"
    elif status in ("ok", "time limit"):
        cut_off = not trials or any("OutOfTime" in trial["why"] for trial in trials)
        status = "time limit" if cut_off else f"failed: {trials[0]['why']}"
    return row | {"status": status, "trials": trials}


def start_row(job: Job, budget: Budget) -> Row:
    """Return what is known before tuning starts."""
    return {
        **job.key,
        "what": "tuning",
        "settings_kind": "tuned",
        "budget": {"trials": budget.trials, "seconds": budget.seconds, "batches": BATCHES},
        "clock": job.clock_name,
        "threads": job.threads,
        "date": now(),
        **circumstances(),
    }


def work(job: TuningJob, say: Say) -> None:
    """Tune here, say every trial as it ends."""
    contestant = named(job.run.modules)[job.run.contestant]
    dataset = DATASETS[job.run.dataset]
    try:
        stream = dataset.open(job.run.seed, job.run.mode, job.run.folder)
    except NoData as error:
        say({"facts": {"status": f"no data: {error}"}})
        return
    batches = list(as_taken(islice(stream.batches, BATCHES), contestant))
    task, _ = prepare(dataset, contestant, stream, batches)
    contestant.make(task, job.run.seed)  # starts what some need, as Java, before the clock
    say(job.run.within(2.0 * job.budget.seconds))
    clock = job.run.clock
    search(contestant, task, batches, job.budget, dataset, seed=job.run.seed, say=say, clock=clock)


def search(
    contestant: Contestant,
    task: Task,
    batches: Iterable[Any],
    budget: Budget,
    dataset: Dataset,
    *,
    seed: int,
    say: Say,
    clock: Callable[[], float] = time.perf_counter,
) -> None:
    """Try settings on the first batches until the budget is spent; say each trial.

    Parameters
    ----------
    contestant : Contestant
        One with a space.
    task : Task
    batches : iterable
        Only the first ten are taken.
    budget : Budget
    dataset : Dataset
        Says how clusters are scored.
    seed : int
        Of the contestant and of the search.
    say : callable
        Given ``{"trials": [trial]}`` with the settings, the mean ARI or None, and why None.
    clock : callable
        What tells the seconds of the budget.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    first = list(islice(batches, BATCHES))
    deadline = clock() + budget.seconds
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))

    def attempt(settings: Row) -> float | None:
        ari, why = None, ""
        try:
            seconds = min(deadline - clock(), _MOST * budget.seconds)
            within = Deadline(as_scored(dataset, first), seconds, clock)
            model = scored_model(dataset, contestant.make(task, seed, **settings))
            ari = score(model, within, parts=dataset.parts)
        except Exception as error:  # settings that a method cannot bear are a bad trial, no more
            why = f"{type(error).__name__}: {error}"[:200]
        say({"trials": [{"settings": settings, "ari": ari, "why": why}]})
        return ari

    attempt({})
    for _ in range(budget.trials - 1):
        if clock() > deadline:
            return
        trial = study.ask()
        ari = attempt(contestant.space(trial, task))
        if ari is None:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            study.tell(trial, ari)


def score(model: StreamClusterer, within: Deadline, *, parts: bool = False) -> float:
    """Return the mean ARI of a model; raise `OutOfTime` if not all batches could be scored."""
    result = prequential(model, within, oracle=False, parts=parts)
    if within.passed:
        raise OutOfTime("the time was over before all batches were scored")
    return float(np.mean(result.ari))
