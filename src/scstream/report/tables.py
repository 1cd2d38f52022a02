"""The tables of a page: the summary, the clusters, the events."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from scstream.chronicle import Chronicle
from scstream.report.colors import NAMES
from scstream.report.run import Run
from scstream.support.times import as_date
from scstream.support.words import counted, in_shares

_LISTED_CLUSTERS = 100
_LISTED_EVENTS = 200
_LISTED_COLUMNS = 6


def summary(chronicle: Chronicle) -> str:
    """Return the table of what the run came to."""
    totals, first, last = chronicle.totals, chronicle[0], chronicle[-1]
    rows = [
        ("Rows", f"{totals.n_points:,}"),
        ("Batches", f"{totals.n_batches:,}"),
        ("Time", f"{_when(chronicle, first.time)} to {_when(chronicle, last.time)}"),
        (
            "Clusters",
            f"{last.n_clusters} at the end; {totals.fewest_clusters} to {totals.most_clusters} "
            "on the way",
        ),
        ("Events", ", ".join(counted(n, kind) for kind, n in sorted(totals.events.items()))),
    ]
    if totals.highest_score is not None and totals.highest_at is not None:
        at = _when(chronicle, totals.highest_at)
        score = f"{_number(totals.highest_score)} at {'' if chronicle.dates else 'time '}{at}"
        rows.append(("Highest anomaly score", score))
    if len(chronicle) < totals.n_batches:
        rows.append(
            ("Drawn", f"{len(chronicle):,} batches, evenly spread over all {totals.n_batches:,}")
        )
    cells = "".join(
        f"<tr><th scope='row'>{name}</th><td>{html.escape(text) or 'none'}</td></tr>"
        for name, text in rows
    )
    return f"<section><table class='summary'>{cells}</table></section>"


def clusters(run: Run) -> str:
    """Return the table of the clusters at the end, the heaviest first."""
    last = run.chronicle[-1]
    order = np.argsort(-last.weights, kind="stable")
    columns = run.chronicle.columns[:_LISTED_COLUMNS] if last.means is not None else []
    words = list(last.words[0])[:_LISTED_COLUMNS] if last.words else []
    head = ["cluster", "share", "rows it remembers", "born", "speed", *columns, *words]
    rows = [_cluster_row(run, int(i), len(columns), words) for i in order[:_LISTED_CLUSTERS]]
    left = [
        (len(order) - len(rows), "clusters, the lightest"),
        (len(run.chronicle.columns) - len(columns), "columns"),
    ]
    note = (
        "Rows it remembers are weighed down by forgetting. Speed is in the cluster's own standard "
        "deviations for each unit of time."
    )
    return _table("Clusters at the end", head, rows, left, note)


def _cluster_row(run: Run, i: int, n_columns: int, words: Sequence[str]) -> list[str]:
    """Return the cells of a cluster."""
    moment = run.chronicle[-1]
    cluster_id = int(moment.ids[i])
    name = NAMES.get(run.colors[cluster_id].lower(), "others")
    swatch = f"<span class='swatch' style='background: var(--{name})'></span>{cluster_id}"
    speed = np.nan if moment.speeds is None else moment.speeds[i]
    means = [] if moment.means is None else moment.means[i, :n_columns].tolist()
    return [
        swatch,
        f"{moment.weights[i]:.1%}",
        f"{moment.counts[i]:,.0f}",
        _when(run.chronicle, float(moment.born[i])),
        "" if np.isnan(speed) else f"{speed:.2g}",
        *(_number(value) for value in means),
        *(html.escape(in_shares(moment.words[i].get(word, {}))) for word in words),
    ]


def events(chronicle: Chronicle) -> str:
    """Return the list of the latest events, the last first."""
    rows = [
        [_when(chronicle, float(time)), html.escape(text)] for time, text in _told(chronicle.events)
    ][::-1]
    left = [
        (len(rows) - _LISTED_EVENTS, "entries before them"),
        (chronicle.n_events_left_out, "events, from the middle of the run,"),
    ]
    return _table("Events", ["time", "what happened"], rows[:_LISTED_EVENTS], left)


def _told(events: Iterable[dict[str, Any]]) -> Iterator[tuple[float, str]]:
    """Tell events in words, those of one kind and time together.

    A birth by a split and a death by a merge are listed only as split and merge.

    Examples
    --------
    >>> list(_told([
    ...     {"time": 3.0, "kind": "split", "cluster": 0, "other": 5},
    ...     {"time": 3.0, "kind": "birth", "cluster": 5, "other": 0},
    ...     {"time": 4.0, "kind": "death", "cluster": 1},
    ...     {"time": 4.0, "kind": "death", "cluster": 2},
    ... ]))
    [(3.0, 'split: 5 from 0'), (4.0, 'death: 1, 2')]
    """
    alone = [e for e in events if e["kind"] not in ("birth", "death") or e.get("other") is None]
    for (time, kind), group in groupby(alone, key=lambda e: (e["time"], e["kind"])):
        yield time, f"{kind}: " + ", ".join(_who(event) for event in group)


def _who(event: dict[str, Any]) -> str:
    """Return whom an event is about."""
    if event["kind"] == "widen":
        return f"{event['column']}, {event['was']} to {event['now']}"
    cluster, other = event["cluster"], event.get("other")
    if event["kind"] == "split":
        return f"{other} from {cluster}"
    return f"{other} into {cluster}" if event["kind"] == "merge" else str(cluster)


def _table(
    heading: str,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    left: Iterable[tuple[int, str]],
    note: str = "",
) -> str:
    """Return a table of cells that are HTML already, and how many things it leaves out."""
    if not rows:
        return f"<section><h2>{heading}</h2><p>None.</p></section>"
    top = "".join(f"<th scope='col'>{html.escape(name)}</th>" for name in head)
    body = "".join("<tr>" + "".join(f"<td>{c}</td>" for c in row) + "</tr>" for row in rows)
    notes = f"<p class='note'>{note}</p>" * bool(note)
    notes += "".join(
        f"<p class='note'>{n:,} {what} are not listed.</p>" for n, what in left if n > 0
    )
    return (
        f"<section><h2>{heading}</h2><div class='wide'><table><thead><tr>{top}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>{notes}</section>"
    )


def _when(chronicle: Chronicle, time: float) -> str:
    """Return a time as a date where times are dates."""
    return as_date(time) if chronicle.dates else _number(time)


def _number(value: float) -> str:
    """Return a number with as many digits as a reader wants.

    Examples
    --------
    >>> _number(3.0), _number(0.123456), _number(1234567.0)
    ('3', '0.1235', '1234567')
    """
    return f"{value:.0f}" if float(value).is_integer() and abs(value) < 1e15 else f"{value:.4g}"
