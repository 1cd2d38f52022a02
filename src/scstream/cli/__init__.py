"""The command line: ``scstream run``, ``fit``, ``predict``, ``show`` and others.

A subcommand is a module with a function ``add_parser(subparsers)``, and one line here. A module is
loaded when its command is called, and nothing heavy before the command does its work.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import warnings
from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from importlib import import_module
from types import FrameType
from typing import Any, NoReturn

from scstream.cli.advice import spelled
from scstream.cli.errors import UsageError
from scstream.support.advice import advice_of
from scstream.support.messages import printed
from scstream.support.printable import printable, printable_name
from scstream.support.progress import aside, bars
from scstream.support.secrets import hidden

COMMANDS = {
    "run": "follow a stream, label its rows, save checkpoints",
    "fit": "cluster one data set as a whole",
    "predict": "label rows with a saved model",
    "show": "show the clusters in a checkpoint",
    "report": "draw a run as one HTML page",
    "watch": "show a run in the browser, finished or going on",
    "serve": "answer with labels of a saved model over HTTP",
    "tune": "find settings on the first batches of a stream",
    "video": "segment a video, with segments that persist",
    "demo": "follow a built-in drifting stream and draw a picture",
    "completion": "print the completion script of bash, zsh or fish",
}

_EPILOG = """\
examples:
  scstream run data.csv -o labels.csv
  scstream run data.csv -o labels.csv --checkpoint state    # run again to resume after a stop
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
    command = argv[0] if argv else ""
    try:
        parser = make_parser(command)
        more: dict[str, Any] = {}
        if command == "run" and any(word.startswith(("--conf", "--write")) for word in argv):
            from scstream.cli.config import with_config

            words, more = with_config(command_of(make_parser(command), command), argv[1:])
            argv = [command, *words]
        args, unknown = parser.parse_known_args(argv)
        vars(args).setdefault("logins", {}).update(more.pop("logins", {}))
        vars(args).update(more)
        if unknown:
            raise UsageError(_unknown(unknown[0], parser, command))
        quiet = getattr(args, "quiet", False)
        told = printed(quiet=quiet, verbose=getattr(args, "verbose", False), spell=spelled)
        with _warnings_in_a_line(), told, bars(wanted=not quiet), _interrupts():
            status: int = args.main(args)
        if sys.stdout is not None:  # it may be closed
            sys.stdout.flush()
        return status
    except UsageError as error:
        print(f"scstream {command}: {printable(hidden(_words(error)))}", file=sys.stderr)
        print(f"Try: scstream {command} --help", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # Whoever read the output has seen enough. What is left must not fail again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("\nscstream: stopped", file=sys.stderr)
        return 130
    except (NotImplementedError, RecursionError):  # not what a user or a device does
        raise
    except (OSError, ValueError, ImportError, MemoryError, RuntimeError) as error:
        print(f"scstream {command}: error: {printable(hidden(_words(error)))}", file=sys.stderr)
        return 1


@contextlib.contextmanager
def _warnings_in_a_line() -> Iterator[None]:
    """Show warnings as our own messages are shown: without a place in the code, and escaped."""

    def show(message: Warning | str, *about: Any, **more: Any) -> None:
        with aside():
            text = printable(
                f"scstream: warning: {hidden(spelled(str(message), advice_of(message)))}"
            )
            print(text, file=sys.stderr, flush=True)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


@contextlib.contextmanager
def _interrupts() -> Iterator[None]:
    """Raise what fails after Ctrl-C as `KeyboardInterrupt`.

    Compiled modules that are just being loaded turn it into an error of their own.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield  # someone else takes care, or it is ignored
        return
    pressed = False

    def note(number: int, frame: FrameType | None) -> NoReturn:
        nonlocal pressed
        pressed = True
        raise KeyboardInterrupt

    try:
        signal.signal(signal.SIGINT, note)
    except ValueError:  # not in the main thread, where signals arrive
        yield
        return
    try:
        yield
    except Exception as error:
        if pressed:
            raise KeyboardInterrupt from error
        raise
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in a line, and repeats no password of the command line.

    Of a command with many options ``--help`` shows those of `usual` only.
    """

    usual: Collection[str] = ()

    def format_help(self) -> str:
        """Return the help."""
        names = (a.metavar or a.dest.upper() for a in self._get_positional_actions())
        self.usage = " ".join([self.prog, *map(str, names), "[options]"])
        for action in self._actions:
            if self.usual and action.option_strings and action.option_strings[-1] not in self.usual:
                action.help = argparse.SUPPRESS
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        words = printable_name(hidden(message))
        if words.endswith("expected one argument"):
            words += " (one that begins with a dash is written as OPTION=-VALUE)"
        self.exit(2, f"{self.prog}: error: {words}\nTry: {self.prog} --help\n")


def command_of(parser: argparse.ArgumentParser, command: str) -> argparse.ArgumentParser:
    """Return the parser of a command."""
    found: argparse.ArgumentParser = next(
        action.choices[command]
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    return found


def _unknown(word: str, parser: argparse.ArgumentParser, command: str) -> str:
    """Return what is wrong with a word that no argument takes."""
    chosen = command_of(parser, command)
    name = word.partition("=")[0]
    if not name.startswith("-"):
        files = any(not action.option_strings for action in chosen._actions)
        one = " Name all files before the options." if files else ""
        return f"{word!r} is one word too many.{one}"
    similar = get_close_matches(name, chosen._option_string_actions, n=1)
    return f"there is no option {name}." + (f" Did you mean {similar[0]}?" if similar else "")


class _Version(argparse.Action):
    """Prints the version, and which core runs; loads NumPy only then."""

    def __init__(self, **given: Any) -> None:
        super().__init__(nargs=0, **given)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from scstream.versions import version_line

        print(version_line())
        parser.exit()


def make_parser(command: str | None = None) -> argparse.ArgumentParser:
    """Return the parser, with the options of one command if there is one of that name."""
    parser = _Parser(
        prog="scstream",
        description="Cluster a stream of data that changes over time. Finds the number of "
        "clusters by itself.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, help="show the version and exit")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        if command not in COMMANDS:
            subparsers.add_parser(name, help=summary)
        elif name == command:
            import_module(f"scstream.cli.{name}").add_parser(subparsers)
    return parser


def _words(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, MemoryError):
        return f"There is not enough memory. {error}".strip()
    return spelled(" ".join([str(error), *getattr(error, "__notes__", ())]), advice_of(error))
