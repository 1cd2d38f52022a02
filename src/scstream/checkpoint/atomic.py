"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import time
from collections.abc import Iterable
from pathlib import Path

_SUFFIX = ".scstream-tmp"
_STALE = 3600.0  # seconds after which a temporary file is one that a killed process left
# What file systems answer that cannot sync a folder.
_NO_FOLDERS = {errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EPERM, errno.EISDIR}


def write_atomically(path: str | os.PathLike[str], chunks: Iterable[bytes | memoryview]) -> None:
    """Write a file so that, whatever happens, either the old one or the new one is there.

    A new file can be read by its owner alone; one that is replaced leaves its permissions.

    The chunks go to a temporary file in the same folder, which is forced to the disk and takes
    the file's place in one step. If anything fails up to there it is removed, and the old file
    stays. If only the last step fails, to force the new name to the disk, the new file is there.
    """
    target = Path(os.path.realpath(path))  # a link stays, and what it points at is replaced
    _remove_stale(target.parent)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}{_SUFFIX}")
    try:
        _write(temporary, target, chunks)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    _sync_folder(target.parent)


def _write(temporary: Path, target: Path, chunks: Iterable[bytes | memoryview]) -> None:
    with open(temporary, "xb", opener=_for_the_owner) as file:
        with contextlib.suppress(OSError):  # no old file whose permissions to keep
            os.chmod(temporary, target.stat().st_mode & 0o777)
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


def _remove_stale(folder: Path) -> None:
    """Remove what earlier processes left in the folder that were killed while they wrote."""
    try:
        names = os.listdir(folder)
    except OSError:  # the write itself will say what is wrong
        return
    for name in names:
        if name.startswith(".") and name.endswith(_SUFFIX):
            left = folder / name
            with contextlib.suppress(OSError):  # another process may be faster
                if time.time() - left.stat().st_mtime > _STALE:
                    left.unlink()
