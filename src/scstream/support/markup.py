"""Small pieces of HTML that look right on light and on dark pages, wide and narrow."""

from __future__ import annotations

import html
from collections.abc import Sequence

_STYLE = (
    "<style>.scstream{overflow-x:auto;max-width:100%;font:14px/1.45 system-ui,sans-serif}"
    ".scstream table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    ".scstream th,.scstream td{text-align:left;padding:.2em 1em .2em 0;vertical-align:top;"
    "background:none;border:0;white-space:nowrap}"
    ".scstream td:last-child{white-space:normal;min-width:16em}"
    ".scstream thead th{border-bottom:1px solid currentColor;font-weight:600}"
    ".scstream p{margin:.3em 0;opacity:.75}</style>"
)


def html_table(
    title: str, head: Sequence[str], rows: Sequence[Sequence[str]], note: str = ""
) -> str:
    """Return a table of plain text as HTML; the colours are those of the page around it.

    Examples
    --------
    >>> "<td>&lt;b&gt;</td>" in html_table("t", ["x"], [["<b>"]])
    True
    """
    top = "".join(f"<th scope='col'>{html.escape(name)}</th>" for name in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    below = f"<p>{html.escape(note)}</p>" if note else ""
    return (
        f"{_STYLE}<div class='scstream'><p>{html.escape(title)}</p><table><thead><tr>{top}</tr>"
        f"</thead><tbody>{body}</tbody></table>{below}</div>"
    )
