"""``scstream report``: draw the chronicle of a run as one HTML page."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scstream.cli.files import add_chronicle, add_overwrite, check_apart
from scstream.cli.values import add_command
from scstream.support.printable import printable

if TYPE_CHECKING:
    from scstream.chronicle import Chronicle


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = add_command(
        subparsers,
        "report",
        report,
        "Draw the chronicle of a run as one HTML page that needs nothing else: how many clusters "
        "and groups there were and how large, where they went, what was unusual, what happened. "
        "The run may still be going on.",
    )
    add_chronicle(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="PAGE.html",
        help="the page to write (default: the chronicle's name with .html)",
    )
    parser.add_argument(
        "--title", help="the page's heading (default: the chronicle's name without its ending)"
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print the clusters and groups at the end instead, as JSON",
    )
    add_overwrite(parser)


def report(args: argparse.Namespace) -> int:
    """Write the page, or print its table; return the exit status."""
    from scstream.chronicle import Chronicle
    from scstream.report import check_page, write_report

    if args.chronicle.is_dir():
        raise ValueError(
            f"{args.chronicle} is a folder. Name the file that `scstream run --chronicle` wrote."
        )
    if args.json:
        print(json.dumps(table(Chronicle.read(args.chronicle)), indent=2))
        return 0
    output = args.chronicle.with_suffix(".html") if args.output is None else args.output
    check_apart({"the chronicle": args.chronicle}, {"the page": output})
    check_page(output, overwrite=args.overwrite)
    title = args.chronicle.stem if args.title is None else args.title
    write_report(Chronicle.read(args.chronicle), output, title=title)
    print(printable(output))
    return 0


def table(chronicle: Chronicle) -> dict[str, Any]:
    """Return clusters and groups after the last batch, the heaviest first, in plain JSON."""
    if not len(chronicle):
        return {"clusters": [], "groups": []}
    last, clusters = chronicle[-1], []
    for i in (-last.weights).argsort(kind="stable").tolist():
        means = [] if last.means is None else last.means[i].tolist()
        known = ((n, x) for n, x in zip(chronicle.columns, means, strict=False) if x == x)
        about: dict[str, Any] = {"cluster": int(last.ids[i])}
        if last.groups is not None:
            about["group"] = int(last.groups[i])
        clusters.append(about | {
            "share": float(last.weights[i]),
            "rows": float(last.counts[i]),
            "born": float(last.born[i]),
            "different": last.says[i] if last.says else "",
            "columns": dict(known) | (last.words[i] if last.words else {}),
        })  # fmt: skip
    groups = [
        {
            "group": group,
            "clusters": last.ids[places].tolist(),
            "share": float(last.weights[places].sum()),
            "rows": float(last.counts[places].sum()),
            "different": says,
        }
        for group, places, says in last.wholes
    ]
    return {"clusters": clusters, "groups": groups}
