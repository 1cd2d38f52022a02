"""What the page reads: a chronicle as plain values."""

from __future__ import annotations

import json
from typing import Any

from scstream.chronicle import Chronicle, Moment

_MOST = 60_000  # clusters of all moments together: more take long to load, and show no more


def page_data(chronicle: Chronicle) -> dict[str, Any]:
    """Return what a page shows of a chronicle."""
    view = chronicle.projection
    return {
        "columns": chronicle.columns,
        "dates": chronicle.dates,
        "projection": None if view is None else view.to_dict(),
        "totals": vars(chronicle.totals),
        "events": chronicle.events,
        "events_left_out": chronicle.n_events_left_out,
        "moments": [json.loads(moment.to_line()) for moment in _thinned(list(chronicle))],
    }


def _thinned(moments: list[Moment]) -> list[Moment]:
    """Return moments evenly spread over a run, the last among them, that a page can hold."""
    while sum(moment.n_clusters for moment in moments) > _MOST and len(moments) > 2:
        moments = [*moments[:-1:2], moments[-1]]
    return moments
