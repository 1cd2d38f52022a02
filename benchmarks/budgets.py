"""The budgets behind a table in words: what the methods had, and which had less."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from benchmarks.results import Entry
from benchmarks.store import Row


def budgets(entries: Sequence[Entry], tunings: Sequence[Row]) -> str:
    """Return sentences about the runs and tunings of a data set.

    Who had less is named only where it made a difference: a run that was stopped, a tuning that
    used all it had.
    """
    runs = [(entry, row) for entry in entries for row in entry.rows]
    limit = max(row["limit"] for _, row in runs)
    common = f"Budgets: {limit:g} s a run"
    less = [
        f"{entry.label} {row['limit']:g} s"
        for entry, row in runs
        if row["limit"] < limit and row["status"] == "time limit"
    ]
    if tunings:
        most = max(tunings, key=lambda t: (t["budget"]["seconds"], t["budget"]["trials"]))
        common += f", {_budget(most)} a tuning"
        less += [f"{t['contestant']} {_budget(t)}" for t in tunings if _had_less(t, most)]
    searches = Counter(tuning["contestant"] for tuning in tunings)
    each = [name for name, n in searches.items() if n > 1]
    wall = [e.contestant for e, row in runs if row.get("clock") == "wall" and row.get("batch")]
    sentences = [common]
    if less:
        sentences.append(f"Less had {_listed(less)}")
    if each:
        sentences.append(f"Each seed has a search of its own: {_listed(each)}")
    if wall:
        sentences.append(f"Seconds of the wall clock, not of the processor: {_listed(wall)}")
    return ". ".join(sentences) + "."


def _had_less(tuning: Row, most: Row) -> bool:
    """Whether a tuning might have gone on with the budget that another had."""
    mine, theirs = tuning["budget"], most["budget"]
    all_tried = len(tuning.get("trials", [])) >= mine["trials"]
    more = "trials" if all_tried else "seconds"
    return bool(mine[more] < theirs[more])


def _budget(tuning: Row) -> str:
    budget = tuning["budget"]
    return f"{budget['trials']} trials in {budget['seconds']:g} s"


def _listed(names: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(names))
