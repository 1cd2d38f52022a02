"""Models and clusters as HTML, for notebooks: light and dark, wide and narrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scstream.summary.table import FIXED, headline, summary_rows
from scstream.support.markup import html_table
from scstream.support.times import as_date
from scstream.support.words import in_number

if TYPE_CHECKING:
    from scstream.model import ScStream

_LISTED = 30  # clusters
_COLUMNS = 8


def model_page(model: ScStream) -> str:
    """Return a fitted model as HTML: a line about it, and a row for each cluster."""
    rows = summary_rows(model, text=True)
    names = [name for name in rows[0] if name not in FIXED]
    grouped = ["group"] * ("group" in rows[0])
    aged = ["age"] * ("age" in rows[0])
    head = ["cluster", *grouped, "share", *aged, *names[:_COLUMNS], "what is different"]
    body = [
        [
            str(row["id"]),
            *(str(row[name]) for name in grouped),
            f"{row['share']:.1%}",
            *(_text(row[name]) for name in [*aged, *names[:_COLUMNS]]),
            row["different"],
        ]
        for row in rows[:_LISTED]
    ]
    when = as_date(model.time_) if model.dates_ else in_number(model.time_)
    said = (
        f"{type(model).__name__}: {headline(model)} after {model.n_batches_:,} batches, "
        f"at time {when}"
    )
    left = [
        f"{len(rows) - _LISTED} smaller clusters" if len(rows) > _LISTED else "",
        f"{len(names) - _COLUMNS} columns" if len(names) > _COLUMNS else "",
    ]
    more = " and ".join(filter(None, left))
    return html_table(said, head, body, f"{more} not shown" if more else "")


def _text(value: Any) -> str:
    if value is None:
        return ""
    return in_number(value) if isinstance(value, float) else str(value)
