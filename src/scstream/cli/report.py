"""``scstream report``: draw the chronicle of a run as one HTML page."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from scstream.cli.files import add_overwrite, check_apart
from scstream.cli.values import add_command
from scstream.support.printable import printable

if TYPE_CHECKING:
    from argparse import ArgumentParser, _SubParsersAction


def add_parser(subparsers: _SubParsersAction[ArgumentParser]) -> None:
    """Add the subcommand."""
    parser = add_command(
        subparsers,
        "report",
        report,
        "Draw the chronicle of a run as one HTML page that needs nothing else: how "
        "many clusters there were and how large, where they went, what was unusual, what "
        "happened. The run may still be going on.",
    )
    parser.add_argument(
        "chronicle", type=Path, metavar="CHRONICLE", help="what `scstream run --chronicle` wrote"
    )
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
        "--limit",
        type=int,
        default=1000,
        metavar="N",
        help="batches to draw at most, evenly spread over the run (default: %(default)s)",
    )
    add_overwrite(parser)


def report(args: argparse.Namespace) -> int:
    """Write the page; return the exit status."""
    from scstream.chronicle import Chronicle
    from scstream.report import check_page, write_report

    if args.chronicle.is_dir():
        raise ValueError(
            f"{args.chronicle} is a folder. Name the file that `scstream run --chronicle` wrote."
        )
    output = args.chronicle.with_suffix(".html") if args.output is None else args.output
    check_apart({"the chronicle": args.chronicle}, {"the page": output})
    check_page(output, overwrite=args.overwrite)
    title = args.chronicle.stem if args.title is None else args.title
    write_report(Chronicle.read(args.chronicle, limit=args.limit), output, title=title)
    print(printable(output))
    return 0
