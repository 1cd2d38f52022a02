"""``scstream serve``: predictions of a saved model over HTTP."""

from __future__ import annotations

import argparse
import gc
import sys
from pathlib import Path
from typing import Any

from scstream.cli.errors import UsageError
from scstream.cli.files import add_model_file, add_overwrite
from scstream.cli.serving import add_address, add_serving, say_where, settings_of, stay
from scstream.cli.values import add_command
from scstream.support.printable import printable_name

_EPILOG = """\
examples:
  scstream serve clusters.scstream                     # on this machine alone
  scstream serve state --serve 0.0.0.0:8080 --token-file token
  scstream serve clusters.scstream --learn --save later.scstream

POST /predict takes {"rows": [[1.5, 2.0], ...]} and answers {"label": [...]}; /docs lists the
rest. Ctrl-C and SIGTERM end it; with --learn the model is saved then.
"""


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        "serve",
        main,
        "Answer with labels of a saved model over HTTP, and show it in the browser.",
        _EPILOG,
    )
    add_model_file(parser)
    add_address(parser)
    add_serving(parser)
    parser.add_argument(
        "--learn",
        action="store_true",
        help="let the model learn rows that are sent to /learn. Needs --save",
    )
    parser.add_argument(
        "--save", type=Path, metavar="FILE", help="where to save the model that has learned"
    )
    add_overwrite(parser)


def main(args: argparse.Namespace) -> int:
    """Run the command."""
    if args.learn != (args.save is not None):
        raise UsageError("--learn and --save FILE belong together.")
    settings = settings_of(args, args.serve, learning=args.learn)
    from scstream.pipeline import Interrupt, find_checkpoint
    from scstream.service import Live
    from scstream.service.served import Served
    from scstream.support.paths import check_file

    if args.save is not None:
        check_file(args.save, overwrite=args.overwrite)
    model = find_checkpoint(args.model).model
    before = model.n_batches_
    with Interrupt() as interrupt, Live(Served(model), settings) as live:
        if before:
            live.observe(model)
        gc.freeze()  # a collection that looks through all modules holds up every request
        say_where(live)
        stay(interrupt)
    if args.save is not None and model.n_batches_ > before:
        model.save(args.save)
        print(printable_name(f"scstream: saved {args.save}"), file=sys.stderr)
    return 0
