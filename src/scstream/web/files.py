"""The page's files, alone or put together as one that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import html
from functools import cache
from importlib.resources import files

from scstream.web.data import PageData


@cache
def asset(name: str) -> bytes | None:
    """Return a file of the page, None if there is none of that name."""
    for entry in files("scstream.web").joinpath("page").iterdir():
        if entry.name == name:
            return entry.read_bytes()
    return None


def standalone(data: PageData, *, title: str, mark: str, tables: str) -> str:
    """Return the page with its data, style and script inside.

    Parameters
    ----------
    data : PageData
    title : str
        The page's heading.
    mark : str
        An element for the page's head.
    tables : str
        HTML for readers without scripts.
    """
    page, script, sheet = (_text(name) for name in ("index.html", "page.js", "page.css"))
    body = page.split("<!-- begin page -->")[1].split("<!-- end page -->")[0]
    name = html.escape(title)
    body = body.replace("<h1>scstream</h1>", f"<h1>{name}</h1>")
    held = data.text(title=title).replace("<", "\\u003c")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
{mark}
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{name}</title>
<link rel="icon" href="data:,">
<style>{sheet}</style>
<noscript><style>.tables {{ margin: 0 auto; max-width: 60rem; overflow-x: auto; padding: 1rem; }}
.tables td, .tables th {{ max-width: 24rem; white-space: normal; }}
.page {{ display: none; }}</style></noscript>
</head>
<body>
<noscript><div class="tables">
<h1>{name}</h1>
{tables}
</div></noscript>
<div class="page">{body}</div>
<script type="application/json" id="chronicle">{held}</script>
<script>{script}</script>
</body>
</html>
"""


def _text(name: str) -> str:
    found = asset(name)
    if found is None:
        raise FileNotFoundError(f"The page's file {name} is missing: reinstall scstream.")
    return found.decode()


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
