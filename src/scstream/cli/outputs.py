"""Options for what is written of each row."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from scstream.cli.errors import UsageError
from scstream.cli.files import add_overwrite
from scstream.cli.names import FIELDS, GROUP_LEVEL, OUTPUT_FORMATS, WRITTEN
from scstream.cli.source_options import TakeURL, access_of
from scstream.cli.values import whole
from scstream.support.atomic import whole_file
from scstream.support.paths import check_file

if TYPE_CHECKING:
    from scstream.sinks import Output


def add_outputs(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add what is written of each row, and where."""
    group = parser.add_argument_group("writing")
    group.add_argument(
        "-o",
        "--output",
        default="-",
        action=TakeURL,
        metavar="FILE",
        help="label, group, probability and score of each row: CSV, TSV, JSON lines or Parquet, or "
        "a URL: kafka://server/topic, redis://server/stream; - is standard output (the default), "
        "none writes nothing",
    )
    add_overwrite(group)
    group.add_argument(
        "--output-format", choices=OUTPUT_FORMATS, help="default: from the file's name; CSV for -"
    )
    group.add_argument(
        "--append",
        action="store_true",
        help="write the input's columns first and these after them, instead of the row's number",
    )
    group.add_argument(
        "--fields",
        type=fields,
        default=list(WRITTEN),
        metavar="F,...",
        help=f"some of {','.join(FIELDS)}; default: {','.join(WRITTEN)}. group is what the cluster "
        "is part of, score the log density (high is normal), anomaly the share of recent rows that "
        "were less expected (low is unusual)",
    )
    add_groups(group)
    return group


def add_groups(group: Any) -> None:
    """Add how coarse groups are."""
    either = group.add_mutually_exclusive_group()
    either.add_argument(
        "--clusters",
        type=whole(1),
        metavar="N",
        help="coarser or finer: join clusters until there are N groups. The label stays the "
        "cluster. Default: what belongs together",
    )
    either.add_argument(
        "--group-level",
        type=_level,
        metavar="S",
        help="how deep a valley may be within a group, from 0 (fine) to 1 (coarse); default: "
        f"{GROUP_LEVEL}",
    )


def level_asked(args: argparse.Namespace) -> float | None:
    """Return the number of groups, or else the level, that was asked for."""
    level: float | None = args.group_level if args.clusters is None else args.clusters
    return level


def _level(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 1.0:
        raise argparse.ArgumentTypeError(f"a level is a number from 0 to 1; got {text!r}")
    return value


def fields(text: str) -> list[str]:
    """Read what is written of each row."""
    from scstream.sinks.base import check_fields

    try:
        return list(check_fields([part.strip() for part in text.split(",")]))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def make_outputs(
    args: argparse.Namespace, *, parts: bool = False, at: Callable[[str], str] = str
) -> dict[str, Output]:
    """Return the outputs that the command line asks for; ``at`` says where each is written."""
    from scstream.sinks import open_sink
    from scstream.sinks.journals import RejectJournal

    outputs: dict[str, Output] = {}
    if args.output != "none":
        path = at(args.output)
        try:
            outputs["output"] = open_sink(
                path,
                format=args.output_format,
                fields=args.fields,
                append=args.append,
                parts=parts,
                overwrite=args.overwrite,
                access=access_of(args, "output"),
            )
        except ValueError as error:
            raise UsageError(str(error)) from error
    elif args.append:
        raise UsageError("--append needs an --output.")
    if args.rejects is not None:
        outputs["rejects"] = RejectJournal(at(args.rejects), overwrite=args.overwrite)
    return outputs


@contextlib.contextmanager
def whole_outputs(args: argparse.Namespace) -> Iterator[dict[str, Output]]:
    """Give the outputs of a command that makes whole files.

    They are checked before anything is read. They get their names if all went well; otherwise
    nothing is left of them.
    """
    with contextlib.ExitStack() as stack:
        checked: list[str] = []

        def at(path: str) -> str:
            if path == "-" or "://" in path:
                return path
            check_file(path, overwrite=args.overwrite)
            checked.append(path)
            return str(stack.enter_context(whole_file(path)))

        outputs = make_outputs(args, at=at)
        try:
            for output in outputs.values():
                output.check({})
            yield outputs
            for output in outputs.values():
                output.sync()
        finally:
            for output in outputs.values():
                output.close()
        for path in checked:  # another file may have come since
            check_file(path, overwrite=args.overwrite)


def begin_outputs(outputs: dict[str, Output]) -> None:
    """Make the outputs, once the first rows have been accepted."""
    for output in outputs.values():
        output.truncate({})
