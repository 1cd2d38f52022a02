"""Rotated files: where a followed file's earlier contents may be."""

from __future__ import annotations

import os
import re
from pathlib import Path

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
                    found.append((entry.stat().st_mtime_ns, entry.path))
            except FileNotFoundError:  # it was renamed meanwhile
                continue
    return [name for _, name in sorted(found, reverse=True)]


def successors(path: str, old: str | None) -> list[str]:
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
    if old is None or not Path(old).name.startswith(own.name):
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
