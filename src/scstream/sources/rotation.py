"""Rotated files: where a followed file's earlier contents may be."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable
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
        old = next((name for name, one in here.items() if one == mine), "")
        name = next(iter(successors(path, old)), path)
        with contextlib.suppress(FileNotFoundError):
            file = open(name, "rb", buffering=0)  # noqa: SIM115  # the caller closes it
            now = _here(path)
            same = now.get(name) == identity(os.fstat(file.fileno()))
            # A file that is being renamed may have been missed, so none counts only at rest.
            if same and (now.get(old) == mine if old else now == here):
                return file
            file.close()
        time.sleep(_PAUSE)
    return None


def bytes_after(path: str, mine: Identity) -> int:
    """Return the bytes of the files that were begun after one that may have been rotated."""
    here = _here(path)
    if here.get(path) == mine:
        return 0
    old = next((name for name, one in here.items() if one == mine), "")
    total = 0
    for name in [*successors(path, old), path]:
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


def successors(path: str, old: str) -> list[str]:
    """Return the rotated files that came between an old one and the present one, in order.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name in ("log", "log.1", "log.2", "log.3"):
    ...     (folder / name).touch()
    >>> [pathlib.Path(p).name for p in successors(str(folder / "log"), str(folder / "log.3"))]
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
        others = (name[len(own.name) :] for name in os.listdir(own.parent)
                  if name.startswith(own.name))  # fmt: skip
        names = [own.name + s for s in sorted(others) if s > suffix and _form(s) == form]
    else:
        return []
    return [str(own.parent / name) for name in names if (own.parent / name).is_file()]


def _form(suffix: str) -> str:
    return re.sub(r"\d", "#", suffix)
