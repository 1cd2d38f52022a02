"""The page itself."""

from __future__ import annotations

from pathlib import Path

from scstream.chronicle import Chronicle
from scstream.plot.colors import PALETTE, require_matplotlib
from scstream.report.colors import DARK, variables
from scstream.report.pictures import pictures
from scstream.report.run import Run
from scstream.report.svg import figure
from scstream.report.tables import clusters, events, summary
from scstream.support.paths import check_file, has_mark, whole_file
from scstream.web import PageData, standalone

_MARK = '<meta name="generator" content="scstream report">'


def write_report(chronicle: Chronicle, path: str | Path, *, title: str = "A stream") -> None:
    """Write the page about a run to a file.

    Parameters
    ----------
    chronicle : Chronicle
        What the run looked like; see `Chronicle.read`.
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
    """Return the page about a run as text.

    Parameters
    ----------
    chronicle : Chronicle
        What the run looked like, at least one batch of it.
    title : str
        The page's heading.
    """
    require_matplotlib()
    if not len(chronicle):
        raise ValueError("the chronicle holds no batch yet: there is nothing to report")
    run = Run.of(chronicle)
    still = [
        summary(chronicle),
        *(figure(picture, run, number) for number, picture in enumerate(pictures(chronicle))),
        clusters(run),
        events(chronicle),
    ]
    return standalone(
        PageData.of(chronicle),
        title=title,
        mark=_MARK,
        still="\n".join(still),
        style=_STYLE.format(light=variables(PALETTE), dark=variables(DARK)),
    )


_STYLE = """
:root {{ {light}; }}
@media (prefers-color-scheme: dark) {{
  :root {{ {dark}; }}
}}
.still {{ margin: 0 auto; max-width: 60rem; padding: 1.5rem 1rem 4rem; }}
h1 {{ font-size: 1.6rem; margin: 0.5rem 0 1rem; overflow-wrap: anywhere; }}
h2 {{ font-size: 1.1rem; margin: 0 0 0.6rem; }}
section {{ background: var(--ground); border: 1px solid var(--grid); border-radius: 8px;
  padding: 1rem 1.2rem; margin: 0 0 1.2rem; }}
figure {{ margin: 0; }}
figure svg {{ display: block; width: 100%; height: auto; stroke-linejoin: round; }}
figcaption, .note {{ color: var(--soft); font-size: 0.87rem; margin: 0.6rem 0 0; }}
.wide {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
th, td {{ text-align: left; padding: 0.25rem 1.2rem 0.25rem 0; vertical-align: top; }}
thead th {{ border-bottom: 1px solid var(--grid); color: var(--soft); font-weight: 600; }}
.summary th {{ color: var(--soft); font-weight: 600; white-space: nowrap; }}
.swatch {{ display: inline-block; width: 0.75em; height: 0.75em; border-radius: 2px;
  margin-right: 0.5em; }}
@media print {{ section {{ break-inside: avoid; }} }}
"""
