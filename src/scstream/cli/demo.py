"""``scstream demo``: follow a built-in stream and draw a picture."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from scstream.cli.files import add_overwrite
from scstream.cli.values import add_command, whole


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    about = "Follow a built-in drifting stream, show what was found, draw a picture."
    parser = add_command(subparsers, "demo", main, about)
    parser.add_argument("--batches", type=whole(2), default=60, help="default: %(default)s")
    parser.add_argument("--batch-size", type=whole(1), default=1000, help="default: %(default)s")
    parser.add_argument("--clusters", type=whole(1), default=12, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=2, help="another stream (default: %(default)s)")
    parser.add_argument(
        "--picture",
        type=Path,
        default=Path("scstream-demo.png"),
        metavar="FILE",
        help="where to write the picture (default: %(default)s)",
    )
    parser.add_argument(
        "--no-picture",
        dest="picture",
        action="store_const",
        const=None,
        help="draw nothing; matplotlib is not needed then",
    )
    add_overwrite(parser)


def main(args: argparse.Namespace) -> int:
    """Run the command."""
    from scstream import demo

    return demo.run(args)
