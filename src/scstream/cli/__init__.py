"""The command line: ``scstream run``, ``fit``, ``predict``, ``show`` and others.

A subcommand is a module with a function ``add_parser(subparsers)`` and one name here.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from scstream import __version__
from scstream._secrets import hidden
from scstream.cli.errors import UsageError

COMMANDS = ("run", "fit", "predict", "show", "report", "tune", "video", "demo", "bench")

_EPILOG = """\
examples:
  scstream run data.csv -o labels.csv
  scstream run data.csv -o labels.csv --checkpoint state    # survives a kill; run again to go on
  scstream show state
  scstream COMMAND --help                                   # all options, with examples
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status.

    Parameters
    ----------
    argv : sequence of str, optional
        By default the arguments of this process.

    Returns
    -------
    int
        0 if all went well, 1 for an error in the data or the run, 2 for a wrong use of the
        command, 128 and the signal's number if a signal ended it.
    """
    argv = sys.argv[1:] if argv is None else argv
    args = make_parser(argv[0] if argv else None).parse_args(argv)
    try:
        status: int = args.main(args)
        sys.stdout.flush()
        return status
    except UsageError as error:
        print(f"scstream {args.command}: {hidden(str(error))}", file=sys.stderr)
        print(f"Try: scstream {args.command} --help", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # Whoever read the output has seen enough. What is left must not fail again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("\nscstream: stopped", file=sys.stderr)
        return 130
    except (OSError, ValueError, ImportError) as error:
        print(f"scstream {args.command}: error: {hidden(_words(error))}", file=sys.stderr)
        return 1


class _Parser(argparse.ArgumentParser):
    """Repeats no password when it complains about a word of the command line."""

    def error(self, message: str) -> NoReturn:
        super().error(hidden(message))


def make_parser(command: str | None = None) -> argparse.ArgumentParser:
    """Return the parser of one command if there is one of that name, else of all."""
    parser = _Parser(
        prog="scstream",
        description="Cluster a stream of data that drifts, without being told how many clusters "
        "there are.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"scstream {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in [command] if command in COMMANDS else COMMANDS:
        import_module(f"scstream.cli.{name}").add_parser(subparsers)
    return parser


def _words(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)
