"""Rotated files: where a followed file is that was renamed: ``log.csv.1``, ``log.csv.2``, ..."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Collection
from pathlib import Path
from typing import BinaryIO

from scstream.support.paths import Identity, identity

_PAUSE = 0.01  # seconds before another look at files that are being renamed
_LOOKS = 100  # at most: others may make and remove files of such names all the time
_NUMBERED = re.compile(r"\.(\d{1,5})", re.ASCII)  # log.csv.1 is newer than log.csv.2


def rotated_files(path: str) -> list[str]:
    """Return the files beside a file that have its name and a number, the latest first."""
    own = Path(path)
    found = []
    for name in os.listdir(own.parent):
        match = _NUMBERED.fullmatch(name[len(own.name) :]) if name.startswith(own.name) else None
        if match is not None:
            found.append((int(match[1]), path + match[0]))
    return [name for _, name in sorted(found)]


def open_renamed(path: str, mine: Identity) -> BinaryIO | None:
    """Open the file of this identity under its present name; None if there is none.

    If files were renamed during the search, it begins again: one may have been missed.
    """
    for _ in range(_LOOKS):
        before = _here(path)
        for name in rotated_files(path):
            with contextlib.suppress(OSError):  # renamed meanwhile, or not ours to read
                file = open(name, "rb", buffering=0)  # noqa: SIM115  # the caller closes it
                if identity(os.fstat(file.fileno())) == mine:
                    return file
                file.close()
        if _here(path) == before:
            break
        time.sleep(_PAUSE)
    return None


def open_next(path: str, mine: Identity) -> BinaryIO | None:
    """Open the file that was begun after a rotated one: the next by name, or the present one.

    Names that change in between, as by another rotation, are looked at again; None if they do
    not come to rest.
    """
    for _ in range(_LOOKS):
        here = _here(path)
        found = _after(path, here, mine)
        with contextlib.suppress(FileNotFoundError):
            file = open(found[1], "rb", buffering=0)  # noqa: SIM115  # the caller closes it
            now = _here(path)
            same = now.get(found[1]) == identity(os.fstat(file.fileno()))
            # A file that is being renamed may be missed in one look, but not in two between which
            # the old one kept its name. Where nothing has such a name they must be at rest.
            if same and (_after(path, now, mine) == found if found[0] else now == here):
                return file
            file.close()
        time.sleep(_PAUSE)
    return None


def _after(path: str, here: dict[str, Identity], mine: Identity) -> tuple[str, str]:
    """Return a file's name now, "" if it has none, and that of the file begun after it."""
    old = next((name for name, one in here.items() if one == mine), "")
    return old, next(iter(successors(path, old, here)), path)


def bytes_after(path: str, mine: Identity) -> int:
    """Return the bytes of the files that were begun after one that may have been rotated."""
    here = _here(path)
    if here.get(path) == mine:
        return 0
    old = next((name for name, one in here.items() if one == mine), "")
    total = 0
    for name in [*successors(path, old, here), path]:
        with contextlib.suppress(OSError):  # renamed meanwhile
            total += os.path.getsize(name)
    return total


def _here(path: str) -> dict[str, Identity]:
    """Return which file has which name just now, for the path and the rotated files."""
    found = {}
    for name in [path, *rotated_files(path)]:
        with contextlib.suppress(OSError):
            found[name] = identity(os.stat(name))
    return found


def successors(path: str, old: str, here: Collection[str]) -> list[str]:
    """Return those files that came between an old one and the present one, in order.

    Examples
    --------
    >>> successors("log", "log.3", ["log", "log.1", "log.2", "log.3"])
    ['log.2', 'log.1']
    """
    match = _NUMBERED.fullmatch(old[len(path) :]) if old.startswith(path) else None
    numbers = range(int(match[1]) - 1, 0, -1) if match is not None else ()
    return [name for number in numbers if (name := f"{path}.{number}") in here]
