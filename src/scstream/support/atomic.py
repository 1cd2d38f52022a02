"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable
from pathlib import Path

from scstream.support.paths import keep_permissions, temporary_beside

# What file systems answer that cannot sync a folder.
_NO_FOLDERS = {errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EPERM, errno.EISDIR}


def write_atomically(path: str | os.PathLike[str], chunks: Iterable[bytes | memoryview]) -> None:
    """Write a file so that, whatever happens, either the old or the new one exists.

    A new file can be read by its owner alone; one that is replaced leaves its permissions.

    The chunks go to a temporary file in the same folder, which is forced to the disk and takes
    the file's place in one step. If anything fails up to there it is removed, and the old file
    stays. If only the last step fails, to force the new name to the disk, the new file is there.
    """
    target = Path(os.path.realpath(path))  # a link stays, and what it points at is replaced
    temporary = temporary_beside(target)
    try:
        _write(temporary, target, chunks)
        os.replace(temporary, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError) and error.filename in (None, str(temporary)):
            error.filename = os.fspath(path)  # as the caller knows it
            del error.filename2  # None would be shown, too
        raise
    _sync_folder(target.parent)


def _write(temporary: Path, target: Path, chunks: Iterable[bytes | memoryview]) -> None:
    with open(temporary, "xb", opener=_for_the_owner) as file:
        keep_permissions(temporary, target)
        for chunk in chunks:
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())


def _for_the_owner(name: str, flags: int) -> int:
    return os.open(name, flags, 0o600)


def _sync_folder(folder: Path) -> None:
    """Force the new name to the disk, where the system can."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        if error.errno in _NO_FOLDERS:  # Windows opens no folders
            return
        raise
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _NO_FOLDERS:
            raise
    finally:
        os.close(handle)
