"""Rotated files: where a followed file is that was renamed: ``log.csv.1``, ``log.csv.2``, ..."""

from __future__ import annotations

import contextlib
import os
import re
import time
from pathlib import Path
from typing import BinaryIO

from scstream.support.paths import Identity, identity

_PAUSE = 0.01  # seconds before another look at files that are being renamed
_LOOKS = 100  # at most: others may make and remove files of such names all the time
_NUMBERED = re.compile(r"\.(\d{1,5})", re.ASCII)  # log.csv.1 is newer than log.csv.2

Files = list[tuple[str, Identity]]


def rotated_files(path: str) -> list[str]:
    """Return the files beside a file that have its name and a number, the earliest first."""
    own = Path(path)
    found = []
    for name in os.listdir(own.parent):
        match = _NUMBERED.fullmatch(name[len(own.name) :]) if name.startswith(own.name) else None
        if match is not None:
            found.append((int(match[1]), path + match[0]))
    return [name for _, name in sorted(found, reverse=True)]


def open_renamed(path: str, mine: Identity) -> BinaryIO | None:
    """Open the file of this identity under its present name; None if there is none.

    If files were renamed during the search, it begins again: one may have been missed.
    """
    for _ in range(_LOOKS):
        before = _here(path)
        for name, one in before[:-1]:
            file = _open(name, mine) if one == mine else None
            if file is not None:
                return file
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
        for name, one in _after(here, mine)[:1]:
            file = _open(name, one)
            if file is None:
                break
            # A file that is being renamed may be missed in one look, but not in two between which
            # the old one kept its name. Where nothing has such a name they must be at rest.
            now = _here(path)
            kept = [pair for pair in here if pair[1] == mine]
            if now == here or (kept and kept[0] in now and _after(now, mine)[:1] == [(name, one)]):
                return file
            file.close()
        time.sleep(_PAUSE)
    return None


def bytes_after(path: str, mine: Identity) -> int:
    """Return the bytes of the files that were begun after one that may have been rotated."""
    total = 0
    for name, _ in _after(_here(path), mine):
        with contextlib.suppress(OSError):  # renamed meanwhile
            total += os.path.getsize(name)
    return total


def _here(path: str) -> Files:
    """Return which file has which name just now, the earliest first."""
    found = []
    for name in [*rotated_files(path), path]:
        with contextlib.suppress(OSError):
            found.append((name, identity(os.stat(name))))
    return found


def _after(here: Files, mine: Identity) -> Files:
    """Return the files that were begun after one, or the latest if that has no name any more."""
    at = [i for i, (_, one) in enumerate(here) if one == mine]
    return here[at[0] + 1 :] if at else here[-1:]


def _open(name: str, mine: Identity) -> BinaryIO | None:
    """Open the file of a name if it still is the one that is meant."""
    with contextlib.suppress(OSError):  # renamed meanwhile, or not ours to read
        file = open(name, "rb", buffering=0)  # noqa: SIM115  # the caller closes it
        if identity(os.fstat(file.fileno())) == mine:
            return file
        file.close()
    return None
