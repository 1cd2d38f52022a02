"""``scstream watch``: the page of a run, finished or not, from its chronicle."""

from __future__ import annotations

import argparse
from typing import Any

from scstream.cli.files import add_chronicle
from scstream.cli.serving import add_address, add_serving, say_where, settings_of, stay
from scstream.cli.values import add_command

_EPILOG = """\
examples:
  scstream watch run.jsonl                    # open the printed address in a browser
  scstream watch run.jsonl --serve 0.0.0.0:8080

The run that writes the chronicle is not touched: watch reads its file alone.
"""


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        "watch",
        main,
        "Show a run in the browser, from the chronicle that it wrote or is writing.",
        _EPILOG,
    )
    add_chronicle(parser)
    add_address(parser)
    add_serving(parser)


def main(args: argparse.Namespace) -> int:
    """Run the command."""
    settings = settings_of(args, args.serve)
    from scstream.pipeline import Interrupt
    from scstream.service import Live
    from scstream.service.watching import Watcher

    with Interrupt() as interrupt:
        watcher = Watcher(args.chronicle)
        try:
            with Live(watcher.served, settings) as live:
                say_where(live)
                stay(interrupt)
        finally:
            watcher.close()
    return 0
