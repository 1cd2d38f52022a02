"""What the page reads: a chronicle as plain values."""

from __future__ import annotations

import json
from typing import Any

from scstream.chronicle import Chronicle


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
        "moments": [json.loads(moment.to_line()) for moment in chronicle],
    }
