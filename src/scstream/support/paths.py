"""What is at an output's path before it is written: nothing that matters may be lost."""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path

from scstream.support.advice import Advice, advised

Identity = list[int]  # device and inode: the same for all names of a file


def look(path: str | Path) -> os.stat_result | None:
    """Return what is known of a file, links followed; None if there is none."""
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def identity(found: os.stat_result) -> Identity:
    """Return what identifies a file, whatever its name."""
    return [found.st_dev, found.st_ino]


def is_special(found: os.stat_result) -> bool:
    """Whether it is a device, a pipe or a socket: writing there replaces nothing."""
    return not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode))


def check_file(path: str | Path, *, overwrite: bool) -> None:
    """Raise `ValueError` if a file that is to be made would replace something.

    An empty file may be replaced: nothing is lost by it.
    """
    found = look(path)
    if found is not None and is_special(found):
        return
    if found is not None and stat.S_ISDIR(found.st_mode):
        raise ValueError(f"{path} is a folder. Name a file to write to.")
    if found is not None and found.st_size and not overwrite:
        raise exists(path)
    check_place(path)


def check_place(path: str | Path) -> None:
    """Raise `OSError` if no new file can be made here: in a folder that exists, or can be made."""
    folder = Path(os.path.realpath(path)).parent
    while (found := look(folder)) is None:
        folder = folder.parent
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def os_error(error: OSError, path: str | Path) -> OSError:
    """Return an error of the system that names a file; some libraries give its number in words."""
    found = re.search(r"errno (\d+)", str(error))
    number = error.errno or (int(found[1]) if found is not None else errno.EIO)
    return OSError(number, os.strerror(number), str(path))


def exists(path: str | Path) -> ValueError:
    """Return the error of an output that would replace something."""
    return advised(
        ValueError(
            f"{path} already exists and was not written by this run. Name another output, remove "
            "it, or allow it to be overwritten."
        ),
        Advice("overwrite", True, "to allow that"),
    )


def has_mark(path: str | Path, mark: str, within: int) -> bool:
    """Whether a file has a mark within its first bytes: it is ours, and may be written again."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return mark.encode() in file.read(within)
