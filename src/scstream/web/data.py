"""What the page reads: a chronicle as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scstream.chronicle import Chronicle, Moment

_MOST = 60_000  # clusters of all moments together: more take long to load, and show no more


@dataclass(frozen=True)
class PageData:
    """What a page shows of a chronicle: taken quickly, and written while the chronicle goes on.

    Attributes
    ----------
    head : dict
        Names of columns, totals, events.
    moments : sequence of Moment
        Evenly spread over the run, the last among them.
    """

    head: dict[str, Any]
    moments: Sequence[Moment]

    @staticmethod
    def of(chronicle: Chronicle) -> PageData:
        """Return what a page shows of a chronicle as it is now."""
        view, totals = chronicle.projection, chronicle.totals
        head = {
            "columns": chronicle.columns,
            "fields": chronicle.fields,
            "dates": chronicle.dates,
            "projection": None if view is None else view.to_dict(),
            "totals": {**vars(totals), "events": dict(totals.events)},
            "events": chronicle.events,
            "events_left_out": chronicle.n_events_left_out,
        }
        return PageData(head, _thinned(list(chronicle)))

    def text(self, **more: str) -> str:
        """Return it as JSON, with some more entries."""
        head = json.dumps({**more, **self.head}, separators=(",", ":"))
        lines = ",".join(moment.text for moment in self.moments)
        return f'{head[:-1]},"moments":[{lines}]}}'


def _thinned(moments: list[Moment]) -> list[Moment]:
    """Return moments evenly spread over a run, the last among them, that a page can hold."""
    while sum(moment.n_clusters for moment in moments) > _MOST and len(moments) > 2:
        moments = [*moments[:-1:2], moments[-1]]
    return moments
