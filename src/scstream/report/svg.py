"""Pictures as part of a page: SVG that takes its colours from the style sheet."""

from __future__ import annotations

import io
import re

from scstream.report.colors import GRID, GROUND, INK, NAMES
from scstream.report.pictures import Picture
from scstream.report.run import Run


def figure(picture: Picture, run: Run, number: int) -> str:
    """Return a picture with its heading and caption."""
    return (
        f"<section><h2>{picture.heading}</h2><figure>{svg(picture, run, number)}"
        f"<figcaption>{picture.caption}</figcaption></figure></section>"
    )


def svg(picture: Picture, run: Run, number: int) -> str:
    """Return a picture as an SVG element that takes its colours from the page."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    style = mpl.rc_context(
        {
            "svg.fonttype": "none",  # text stays text: small, sharp, can be searched
            "svg.hashsalt": f"scstream{number}",  # the same page from the same run; no name twice
            "font.family": "sans-serif",
            "font.size": 9.0,
            "grid.color": GRID,
            "axes.facecolor": GROUND,
            "figure.facecolor": GROUND,
            "legend.facecolor": GROUND,
            "legend.edgecolor": GRID,
            "text.color": INK,
            "axes.edgecolor": INK,
            "axes.labelcolor": INK,
            "xtick.color": INK,
            "ytick.color": INK,
        }
    )
    with style:
        figure = Figure(figsize=picture.size, layout="constrained")
        picture.draw(figure, run)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return _for_the_page(out.getvalue(), picture.heading, f"p{number}-")


def _for_the_page(svg: str, heading: str, prefix: str) -> str:
    """Return the SVG element alone, its colours and names fit for a page that holds several."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"#[0-9a-f]{6}\b", _page_color, svg)
    svg = re.sub(r'\bid="', f'id="{prefix}', svg)
    svg = re.sub(r'href="#', f'href="#{prefix}', svg)
    svg = re.sub(r"url\(#", f"url(#{prefix}", svg)
    svg = re.sub(r"<style.*?</style>", "", svg, flags=re.DOTALL)  # it would rule the whole page
    head, rest = svg.split(">", 1)
    head = re.sub(r' (width|height)="[^"]*"', "", head)  # as wide as the page lets it be
    return f'{head} role="img" aria-label="{heading}">{rest}'


def _page_color(match: re.Match[str]) -> str:
    name = NAMES.get(match[0])
    return match[0] if name is None else f"var(--{name})"
