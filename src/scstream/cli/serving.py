"""Options of the commands that open a page, and how they wait for its end."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scstream.cli.errors import UsageError

if TYPE_CHECKING:
    from scstream.service.settings import Settings

TOKEN = "SCSTREAM_TOKEN"


def add_address(parser: Any) -> None:
    """Add where a service listens."""
    parser.add_argument(
        "--serve",
        default="127.0.0.1:0",
        metavar="HOST:PORT",
        help="where to listen; default: this machine only, on a free port",
    )


def add_serving(group: Any) -> None:
    """Add the options of a service: who may use it."""
    group.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="a file with the token that requests must carry. Without it, the variable "
        f"{TOKEN} is used; an address that others can reach gets a random token, printed once",
    )
    group.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="an additional host name that requests may use, for example behind a proxy; "
        "can be repeated",
    )


def settings_of(args: argparse.Namespace, address: str, *, learning: bool = False) -> Settings:
    """Return where to listen, and who may use it."""
    from scstream.service.settings import Settings, split_address

    try:
        host, port = split_address(address)
        hosts = tuple(args.allow_host)
        return Settings(host, port, _token(args.token_file), hosts, learning=learning)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _token(path: Path | None) -> str | None:
    if path is not None:
        token = path.read_text(encoding="utf-8").strip()
        if not token:
            raise UsageError(f"--token-file {path} is empty.")
        return token
    return os.environ.get(TOKEN) or None


def say_where(live: Any) -> None:
    """Print the page's address."""
    print(f"scstream: the page is at {live.link}", file=sys.stderr, flush=True)


def stay(interrupt: Any) -> None:
    """Wait until someone asks to stop."""
    from threading import Event

    from scstream.pipeline.interrupt import Interrupted

    try:
        with interrupt.waiting():
            Event().wait()
    except Interrupted:
        return
