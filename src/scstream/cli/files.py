"""Files that a command names: none that it writes may be one that it reads, or another output."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scstream.cli.errors import UsageError
from scstream.support.paths import identity, is_special, look
from scstream.support.printable import printable

_STANDARD = {"reads": 0, "writes": 1}


def check_apart(reads: Mapping[str, Any], writes: Mapping[str, Any]) -> None:
    """Raise `UsageError` if an output is an input or another output, whatever their names.

    Parameters
    ----------
    reads, writes : mapping of str to path or None
        Files and folders by what the user knows them by; None, ``none`` and URLs of sources do
        not count, and ``-`` is standard input or output. Devices and pipes may be named twice.
    """
    for name, path in [*reads.items(), *writes.items()]:
        if path is not None and not str(path):
            raise UsageError(
                f"{name} is empty. Name a file or a folder; a shell variable that is not set gives "
                "an empty name."
            )
    from scstream.sources.listing import would_read

    for name, path in writes.items():
        if "://" in str(path) and name != "--output":
            raise UsageError(f"{name} is a URL ({path}), and it must be a file.")
        for spec in reads.values():
            if path is not None and would_read(str(spec), path):
                raise UsageError(
                    f"{name} ({printable(path)}) would be one of the files that {spec} stands for. "
                    "Write it elsewhere."
                )
    seen: dict[tuple[Any, ...], str] = {}
    for way, files in (("reads", reads), ("writes", writes)):
        for name, path in files.items():
            key = _key(path, _STANDARD[way])
            if key is None:
                continue
            if way == "writes" and key in seen:
                raise UsageError(
                    f"{name} ({printable(path)}) is the same file as {seen[key]}, which it would "
                    "destroy. Name another file."
                )
            seen.setdefault(key, f"{name} ({printable(path)})")


def reads_of(args: argparse.Namespace) -> dict[str, Any]:
    """Return what a command with a source reads."""
    several = len(args.source) > 1
    inputs = {f"input {i + 1}" if several else "the input": s for i, s in enumerate(args.source)}
    return {**inputs, "--access": args.access}


def _key(path: Any, standard: int) -> tuple[Any, ...] | None:
    """Return what all names of a file share; None for what cannot be destroyed."""
    text = "" if path is None else str(path)
    if text in ("", "none") or "://" in text:
        return None
    if text == "-":
        try:
            found = os.fstat(standard)
        except OSError:  # it is closed
            return None
    else:
        real = Path(os.path.realpath(text))
        here = look(real)
        if here is None:
            folder = look(real.parent)
            where = [str(real.parent)] if folder is None else identity(folder)
            return (*where, real.name)
        found = here
    return None if is_special(found) else tuple(identity(found))


def add_overwrite(parser: Any) -> None:
    """Add the option that allows outputs to be replaced."""
    parser.add_argument(
        "--overwrite",
        action="store_true",
        help="overwrite existing outputs; by default only empty ones are. Never overwrites an "
        "input or a folder",
    )


def add_chronicle(parser: Any) -> None:
    """Add the chronicle that a command reads."""
    parser.add_argument(
        "chronicle", type=Path, metavar="CHRONICLE", help="what `scstream run --chronicle` wrote"
    )


def add_model_file(parser: Any) -> None:
    """Add the saved model that a command uses."""
    parser.add_argument(
        "model", help="a file from scstream fit, a checkpoint, or a checkpoint folder"
    )
