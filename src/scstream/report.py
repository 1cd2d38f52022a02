"""The page about a finished run: one HTML file that needs neither a network nor a server.

It is the page that a live run shows; readers without scripts see its tables.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from scstream.chronicle import Chronicle, Moment
from scstream.support.atomic import whole_file
from scstream.support.paths import check_file, has_mark
from scstream.support.times import as_date
from scstream.support.words import counted, in_number, in_shares
from scstream.web import PageData, standalone

__all__ = ["render_report", "write_report"]

_MARK = '<meta name="generator" content="scstream report">'
_CLUSTERS, _COLUMNS, _EVENTS = 100, 6, 200  # that are listed at most


def write_report(chronicle: Chronicle, path: str | Path, *, title: str = "A stream") -> None:
    """Write the page about a run to a file.

    Parameters
    ----------
    chronicle : Chronicle
        See `Chronicle.read`.
    path : path
        The HTML file to write, replaced whole.
    title : str
        The page's heading.
    """
    text = render_report(chronicle, title=title)
    with whole_file(path) as part:
        part.write_text(text, encoding="utf-8")


def check_page(path: str | Path, *, overwrite: bool) -> None:
    """Raise `ValueError` if a page would replace something; an earlier page may be replaced."""
    check_file(path, overwrite=overwrite or has_mark(path, _MARK, 1024))


def render_report(chronicle: Chronicle, *, title: str = "A stream") -> str:
    """Return the page about a run as text."""
    if not len(chronicle):
        raise ValueError("the chronicle holds no batch yet: there is nothing to report")
    parts = [_summary(chronicle), _clusters(chronicle)]
    parts += [_events(chronicle)] * (chronicle.totals.n_batches > 1)
    return standalone(PageData.of(chronicle), title=title, mark=_MARK, tables="\n".join(parts))


def _summary(chronicle: Chronicle) -> str:
    totals, last = chronicle.totals, chronicle[-1]
    rows = [
        ("Rows", f"{totals.n_points:,}"),
        ("Batches", f"{totals.n_batches:,}"),
        ("Time", f"{_when(chronicle, chronicle[0].time)} to {_when(chronicle, last.time)}"),
        ("Clusters", f"{last.n_clusters}{_grouped(last)} at the end; {totals.fewest_clusters} to "
         f"{totals.most_clusters} before"),
        ("Events", ", ".join(counted(n, kind) for kind, n in sorted(totals.events.items()))),
    ]  # fmt: skip
    if totals.n_batches == 1:
        rows = [rows[0], ("Clusters", f"{last.n_clusters}{_grouped(last)}")]
    if totals.lowest_score is not None and totals.lowest_at is not None:
        at = f" at {_when(chronicle, totals.lowest_at)}" * (totals.n_batches > 1)
        rows.append(("Lowest score", in_number(totals.lowest_score) + at))
    if len(chronicle) < totals.n_batches:
        rows.append(("Batches on this page", f"{len(chronicle):,}, evenly spread over the run"))
    return _table("Summary", [], rows)


def _grouped(last: Moment) -> str:
    return f" in {counted(len(last.wholes), 'group')}" * last.grouped


def _clusters(chronicle: Chronicle) -> str:
    """Return the clusters at the end, the heaviest first; by groups, if these are others."""
    last = chronicle[-1]
    order = np.argsort(-last.weights, kind="stable").tolist()
    if not last.grouped:
        return _table("Clusters", *_cells(chronicle, order))
    parts = []
    for group, places, says in last.wholes:
        own = [i for i in order if i in places]
        share, many = last.weights[own].sum(), counted(len(own), "cluster")
        title = f"Group {group}: {share:.1%}, {many}. {says}"
        head, rows, *left = _cells(chronicle, own)
        parts.append(
            f"<details><summary>{html.escape(title)}</summary>{_table('', head, rows, *left)}"
            "</details>"
        )
    return f"<h2>Groups and their clusters</h2>{''.join(parts)}"


def _cells(chronicle: Chronicle, order: Sequence[int]) -> tuple[Any, ...]:
    """Return head and rows of a table of clusters, and what it leaves out."""
    last = chronicle[-1]
    columns = chronicle.columns[:_COLUMNS] if last.means is not None else []
    words = list(last.words[0])[:_COLUMNS] if last.words else []
    unit = "an hour" if chronicle.dates else "a unit of time"
    times = ["born", f"speed, sd {unit}"] if chronicle.totals.n_batches > 1 else []
    rows = []
    for i in order[:_CLUSTERS]:
        speed = np.nan if last.speeds is None else last.speeds[i]
        means = [] if last.means is None else last.means[i, : len(columns)].tolist()
        pace = in_number(3600.0 * speed if chronicle.dates else speed, 2)
        timed = [_when(chronicle, float(last.born[i])), "" if np.isnan(speed) else pace]
        rows.append((
            str(last.ids[i]), f"{last.weights[i]:.1%}", f"{last.counts[i]:,.0f}",
            *timed[: len(times)], *last.says[i : i + 1],
            *(in_number(x, 4) for x in means),
            *(in_shares(last.words[i].get(word, {})) for word in words),
        ))  # fmt: skip
    said = ["what is different"] * bool(last.says)
    head = ["cluster", "share", "rows", *times, *said, *columns, *words]
    left = (len(order) - len(rows), "clusters, the lightest")
    return head, rows, left, (len(chronicle.columns) - len(columns), "columns")


def _events(chronicle: Chronicle) -> str:
    """Return the latest events, the last first, those of one kind and time together.

    A birth by a split and a death by a merge are listed only as split and merge.
    """
    alone = (
        e for e in chronicle.events if e["kind"] not in ("birth", "death") or e.get("other") is None
    )
    rows = [
        (_when(chronicle, time), f"{kind}: " + ", ".join(map(_about, group)))
        for (time, kind), group in groupby(alone, key=lambda e: (e["time"], e["kind"]))
    ][::-1]
    left = (len(rows) - _EVENTS, "entries before them")
    more = (chronicle.n_events_left_out, "events, from the middle of the run,")
    return _table("Events", ["time", "event"], rows[:_EVENTS], left, more)


def _about(event: dict[str, Any]) -> str:
    """Return what an event is about."""
    if "column" in event:
        return f"{event['column']}, {event['was']} to {event['now']}"
    cluster, other = event["cluster"], event.get("other")
    if event["kind"] == "split":
        return f"{other} from {cluster}"
    return f"{other} into {cluster}" if event["kind"] == "merge" else str(cluster)


def _table(
    heading: str, head: Sequence[str], rows: Iterable[Sequence[str]], *left: tuple[int, str]
) -> str:
    """Return a table with a heading, and how many things it leaves out."""
    lines = [f"<th>{'</th><th>'.join(map(html.escape, head))}</th>"] * bool(head)
    lines += [f"<td>{'</td><td>'.join(map(html.escape, row))}</td>" for row in rows]
    body = "".join(f"<tr>{line}</tr>" for line in lines) if len(lines) > len(head[:1]) else ""
    table = f"<table>{body}</table>" if body else "<p>None.</p>"
    notes = "".join(f"<p>{n:,} {what} are not listed.</p>" for n, what in left if n > 0)
    return f"<h2>{heading}</h2>" * bool(heading) + table + notes


def _when(chronicle: Chronicle, time: float) -> str:
    return as_date(time) if chronicle.dates else in_number(time, 6)
