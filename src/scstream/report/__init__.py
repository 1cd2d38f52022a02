"""One self-contained HTML page about a run: its summary, clusters, events and pictures.

The page needs no network and no scripts. Its pictures are drawn as part of it (inline SVG) and
follow the reader's choice of a light or a dark screen.
"""

from scstream.report.page import render_report, write_report

__all__ = ["render_report", "write_report"]
