"""What several commands share: readers of options' values, and ``--quiet``."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import Any

from scstream.support.times import is_length, length

_WIDEST = 1_000_000  # columns that a range may name: a slip of the finger must not fill the memory
USUAL = (  # options that --help shows of a command that has many
    "--help", "--help-all", "--output", "--columns", "--exclude", "--batch-size", "--time-column",
    "--half-life", "--family", "--clusters", "--checkpoint", "--chronicle", "--serve", "--config",
    "--model", "--truth", "--json", "--verbose",
)  # fmt: skip


def add_command(
    subparsers: Any,
    name: str,
    main: Callable[[argparse.Namespace], int],
    description: str,
    epilog: str | None = None,
    *,
    many: bool = False,
) -> Any:
    """Return the parser of a new command; with an epilog, its texts are shown as they stand.

    Of one with `many` options ``--help`` shows the usual ones, and ``--help-all`` the others, too.
    """
    form = argparse.RawDescriptionHelpFormatter if epilog else argparse.HelpFormatter
    parser = subparsers.add_parser(
        name, description=description, epilog=epilog, formatter_class=form
    )
    parser.set_defaults(main=main)
    if many:
        parser.usual = USUAL
        parser.add_argument("--help-all", action=_HelpAll, nargs=0, help="show all options")
    return parser


class _HelpAll(argparse.Action):
    """Shows all options."""

    def __call__(self, parser: Any, *_: Any) -> None:
        parser.usual = ()
        parser.print_help()
        parser.exit()


def add_quiet(parser: Any) -> None:
    """Add the options for fewer messages and for more."""
    parser.add_argument(
        "--quiet", action="store_true", help="print warnings and errors only, no progress"
    )
    parser.add_argument(
        "-v", "--verbose", action="store_true",
        help="say more: how long each batch takes, which engine, how the first batch goes",
    )  # fmt: skip


def whole(least: int) -> Callable[[str], int]:
    """Return a reader of whole numbers with a lower limit."""

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least {least}")
        return value

    return read


def real(text: str) -> float:
    """Read a number."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def weight(text: str) -> float | str:
    """Read a number, or auto."""
    return "auto" if text.lower() == "auto" else real(text)


def half_life(text: str) -> float | str | None:
    """Read a number, a length of time such as 12h, auto or none."""
    word = text.lower()
    if word == "none":
        return None
    return word if word == "auto" or is_length(word) else real(text)


def duration(text: str) -> float:
    """Read a length of time: a number, or one with a unit."""
    seconds = length(text)
    return real(text) if seconds is None else seconds


def listed(text: str) -> list[str]:
    """Read names or numbers between commas; a range of numbers is written 2-5."""
    out: list[str] = []
    for part in text.split(","):
        span = re.fullmatch(r"(\d+)-(\d+)", part.strip())
        if span is not None and int(span[1]) <= int(span[2]):
            if int(span[2]) - int(span[1]) >= _WIDEST:
                raise argparse.ArgumentTypeError(
                    f"{part.strip()} is a range of more than {_WIDEST:,} columns"
                )
            out += [str(j) for j in range(int(span[1]), int(span[2]) + 1)]
        elif part.strip():
            out.append(part.strip())
    if not out:
        raise argparse.ArgumentTypeError("no column is named")
    return out


def separator(text: str) -> str:
    """Read a separator; a tab may be written as such, or by name, or with a backslash."""
    return "\t" if text in ("\\t", "tab") else text
