"""``scstream demo``: follow a built-in stream and draw a picture."""

from __future__ import annotations

import argparse
from typing import Any

from scstream.cli.files import add_overwrite
from scstream.cli.values import whole


def add_parser(subparsers: Any) -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "demo",
        description="Follow a built-in drifting stream, show what was found, draw a picture.",
    )
    parser.add_argument("--batches", type=whole(2), default=60, help="default: %(default)s")
    parser.add_argument("--batch-size", type=whole(1), default=1000, help="default: %(default)s")
    parser.add_argument("--clusters", type=whole(1), default=12, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=2, help="another stream (default: %(default)s)")
    parser.add_argument(
        "--picture",
        default="scstream-demo.png",
        metavar="FILE",
        help="where to write the picture (default: %(default)s)",
    )
    parser.add_argument(
        "--no-picture", action="store_true", help="draw nothing; matplotlib is not needed then"
    )
    add_overwrite(parser)
    parser.set_defaults(main=main)


def main(args: argparse.Namespace) -> int:
    """Run the command."""
    from scstream import demo

    words = ["--batches", args.batches, "--batch-size", args.batch_size]
    words += ["--clusters", args.clusters, "--seed", args.seed]
    words += ["--no-picture"] if args.no_picture else ["--picture", args.picture]
    words += ["--overwrite"] if args.overwrite else []
    return demo.main([str(word) for word in words])
