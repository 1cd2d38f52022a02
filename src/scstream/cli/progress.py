"""How a run goes: a bar on a terminal, a line now and then elsewhere, a summary at the end."""

from __future__ import annotations

import sys
from collections import deque
from time import monotonic
from typing import TYPE_CHECKING, TextIO

from scstream.support.printable import printable_name
from scstream.support.progress import Bar
from scstream.support.words import counted

if TYPE_CHECKING:
    from scstream.model import ScStream
    from scstream.pipeline import RunResult, Totals
    from scstream.records import BatchRecord

_LIVE = 0.1  # seconds between two states on a terminal
_ELSEWHERE = 10.0  # between two lines elsewhere
_SPAN = 5.0  # seconds over which the speed is measured
_SEVERAL = 4  # columns, among which some may hide the groups of others
_LARGEST = 8  # clusters or groups that are listed
_EVENTS = 3  # last ones that are shown


class Progress:
    """Shows how a run goes."""

    def __init__(self, out: TextIO | None = None) -> None:
        self.out = out or sys.stderr
        self._bar = Bar("", 1.0, out=self.out)
        self.live = self._bar.live
        self._next = 0.0 if self.live else monotonic() + _ELSEWHERE
        self._events: deque[str] = deque(maxlen=_EVENTS)
        self._speed: deque[tuple[float, int]] = deque([(monotonic(), 0)])

    def __call__(self, result: RunResult) -> None:
        """Take note of a batch, and show it if it is time."""
        if result.model.n_batches_ == 0:  # all rows so far were rejected
            return
        self._events.extend(events_in_words(result.model.history_[-1]))
        now = monotonic()
        if now < self._next:
            return
        self._next = now + (_LIVE if self.live else _ELSEWHERE)
        self._speed.append((now, result.rows))
        while len(self._speed) > 2 and now - self._speed[1][0] > _SPAN:
            self._speed.popleft()
        (then, rows), last = self._speed[0], ", ".join(self._events)
        if not self.live:
            self._events.clear()
        rate = (result.rows - rows) / max(now - then, 1e-9)
        k = result.model._learner.labelling.sum()
        line = f"{result.totals.rows:,} rows  {rate:,.0f} rows/s  K = {k}"
        line = f"{line}  {last}" if last else line
        if self.live:
            self._bar.show(result.done, line)
        else:
            self._bar.write(f"scstream: {line}")

    def end(self) -> None:
        """Take the bar away."""
        self._bar.close()


def events_in_words(record: BatchRecord) -> list[str]:
    """Return what happened in a batch, a few words each."""
    parts = {new for _, new in record.splits}
    gone = {old for _, old in record.merges}
    return [
        *(f"{old} split off {new}" for old, new in record.splits),
        *(f"{kept} took in {old}" for kept, old in record.merges),
        *(f"{i} born" for i in record.births if i not in parts),
        *(f"{i} came back" for i in record.returns),
        *(f"{i} died" for i in record.deaths if i not in gone),
        *map(str, record.widened),
    ]


def summary(result: RunResult) -> str:
    """Return a run in a few lines."""
    totals = result.totals
    rate = result.rows / max(result.seconds, 1e-9)
    lines = [f"{counted(totals.rows, 'row')} in {counted(totals.batches, 'batch', 'batches')}"]
    if result.resumed is not None:
        lines[0] += f", {result.rows:,} of them since {printable_name(result.resumed.name)}"
    lines[0] += f"; {result.seconds:.1f} s, {rate:,.0f} rows/s"
    if totals.rejected:
        lines.append(f"{counted(totals.rejected, 'row')} rejected")
    if result.model.n_batches_:
        lines += [f"{found(result.model)}; {_events(totals)}", *_largest(result.model)]
        lines += advice(result.model)
    return "\n".join(f"scstream: {line}" for line in lines)


def found(model: ScStream) -> str:
    """Return how many clusters and groups there are, and what changes that."""
    from scstream.summary.table import headline

    several = len(model._listed) > 1
    return headline(model) + " (coarser or finer: --clusters N)" * several


def _largest(model: ScStream) -> list[str]:
    """Return the largest groups, a line each, or else the largest clusters."""
    from scstream.summary.table import group_rows, groups_of, joined

    latest = f"of the latest {model._latest:,.0f} rows"
    if not joined(groups_of(model)):
        clusters = sorted(model._listed, key=lambda c: -c.weight)
        shares = ", ".join(f"{c.id} ({c.weight:.1%})" for c in clusters[:_LARGEST])
        return [f"largest, {latest}: {shares}{', ...' * (len(clusters) > _LARGEST)}"]
    groups = group_rows(model)
    return [f"largest groups, {latest}:"] + [
        f"  group {g['id']}: {g['share']:.1%}, {counted(len(g['clusters']), 'cluster')}; "
        f"{printable_name(g['different'])}"
        for g in groups[:_LARGEST]
    ]


def advice(model: ScStream) -> list[str]:
    """Return a line on what to try where all rows of a table are one cluster without need."""
    if model.n_clusters_ != 1:
        return []
    if model.n_features_in_ == 1 and model.family_.text:
        return [
            "one cluster: the words of one column alone form no groups. Add columns that differ "
            "between groups (--include A,B,...)"
        ]
    if model.n_features_in_ < _SEVERAL:
        return []
    return [
        f"one cluster in {model.n_features_in_} columns: columns without groups hide those of "
        "others. Try fewer (--columns A,B,...), or columns by themselves (--family diagonal)"
    ]


def _events(totals: Totals) -> str:
    counts = [
        counted(totals.births, "birth"),
        counted(totals.deaths, "death"),
        counted(totals.splits, "split"),
        counted(totals.merges, "merge"),
        counted(totals.returns, "return"),
    ]
    if totals.widened:
        counts.append(counted(totals.widened, "column widened", "columns widened"))
    return ", ".join(counts)
