"""Rotated files: where a followed file's earlier contents may be."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import BinaryIO

from scstream.support.paths import Identity, identity

_PAUSE = 0.01  # seconds before another look at files that are being renamed
_LOOKS = 100  # at most: others may make and remove files of such names all the time
_NUMBERED = re.compile(r"\.(\d{1,5})", re.ASCII)  # log.csv.1 is newer than log.csv.2
_DATED = re.compile(r"\d{6}", re.ASCII)  # log.csv-20260101 is older than log.csv-20260102


def rotated_files(path: str) -> list[str]:
    """Return the files beside a file whose names begin like its own, the latest first."""
    own = Path(path)
    found = []
    for entry in os.scandir(own.parent):
        if entry.name != own.name and entry.name.startswith(own.stem):
            try:
                if entry.is_file():
                    found.append((entry.stat().st_mtime_ns, str(own.parent / entry.name)))
            except FileNotFoundError:  # it was renamed meanwhile
                continue
    return [name for _, name in sorted(found, reverse=True)]


def open_copy(path: str, holds: Callable[[BinaryIO], bool]) -> BinaryIO | None:
    """Open the rotated file that holds something; None if there is none.

    If files were renamed during the search, it begins again: one may have been missed.
    """
    for _ in range(_LOOKS):
        before = _here(path)
        for name in rotated_files(path):
            with contextlib.suppress(OSError):  # renamed meanwhile, or not ours to read
                file = open(name, "rb", buffering=0)  # noqa: SIM115  # the caller closes it
                if holds(file):
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
    """Return which file has which name just now, for all names that begin like the path's."""
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
    own = Path(path)
    if not Path(old).name.startswith(own.name):
        return []
    suffix = Path(old).name[len(own.name) :]
    match = _NUMBERED.fullmatch(suffix)
    if match is not None:
        numbers = range(int(match[1]) - 1, -1, -1)
        names = [f"{own.name}.{number}" for number in numbers]
    elif _DATED.search(suffix):
        form = _form(suffix)
        others = (name[len(own.name) :] for name in map(os.path.basename, here)
                  if name.startswith(own.name))  # fmt: skip
        names = [own.name + s for s in sorted(others) if s > suffix and _form(s) == form]
    else:
        return []
    return [whole for name in names if (whole := str(own.parent / name)) in here]


def _form(suffix: str) -> str:
    return re.sub(r"\d", "#", suffix)
