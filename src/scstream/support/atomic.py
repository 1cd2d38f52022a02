"""Files that are written whole or not at all, under a temporary name in the same folder."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from scstream.support.paths import is_special, look

_SUFFIX = ".scstream-tmp"
_STALE = 3600.0  # seconds after which a temporary file is one that a killed process left
# What file systems answer that cannot sync a folder.
_NO_FOLDERS = {errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EPERM, errno.EISDIR}


class Replacement:
    """A file that is being written, and takes the place of another in one step.

    Its permissions are those of the file that it replaces. A link stays, and what it points at is
    replaced. Files that killed processes left are removed when they are an hour old.

    Attributes
    ----------
    target : Path
    path : Path
        Where to write; it has the same ending.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.target = Path(os.path.realpath(path))
        _remove_stale(self.target.parent)
        name = f".{self.target.name}.{secrets.token_hex(8)}{_SUFFIX}{self.target.suffix}"
        self.path = self.target.with_name(name)

    def commit(self) -> None:
        """Let the file take its place, and force its new name to the disk."""
        with contextlib.suppress(OSError):
            os.chmod(self.path, self.target.stat().st_mode & 0o777)
        os.replace(self.path, self.target)
        _sync_folder(self.target.parent)

    def discard(self) -> None:
        """Remove what was written; the old file stays."""
        with contextlib.suppress(OSError):
            self.path.unlink()


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path with the same ending; what is written there takes the file's place.

    If anything fails, the temporary file is removed and the old file stays. A device or a pipe is
    written as it is.
    """
    found = look(os.fspath(path))
    if found is not None and is_special(found):
        yield Path(path)
        return
    new = Replacement(path)
    new.target.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield new.path
        if new.path.exists():
            new.commit()
    except OSError as error:
        if error.filename == str(new.path):
            error.filename = os.fspath(path)  # as the caller knows it
        raise
    finally:
        new.discard()


def write_atomically(path: str | os.PathLike[str], chunks: Iterable[bytes | memoryview]) -> None:
    """Write a file so that, whatever happens, either the old or the new one exists.

    A new file can be read by its owner alone. It is forced to the disk before it takes the place
    of the old one. If only the last step fails, to force the new name to the disk, the new file is
    there.
    """
    new = Replacement(path)
    try:
        with open(new.path, "xb", opener=_for_the_owner) as file:
            for chunk in chunks:
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        new.commit()
    except BaseException as error:
        new.discard()
        if isinstance(error, OSError) and error.filename in (None, str(new.path)):
            error.filename = os.fspath(path)  # as the caller knows it
            del error.filename2  # None would be shown, too
        raise


def _for_the_owner(name: str, flags: int) -> int:
    return os.open(name, flags, 0o600)


def _remove_stale(folder: Path) -> None:
    try:
        names = os.listdir(folder)
    except OSError:  # the write itself will say what is wrong
        return
    for name in names:
        if name.startswith(".") and _SUFFIX in name:
            with contextlib.suppress(OSError):  # another process may be faster
                if time.time() - (folder / name).stat().st_mtime > _STALE:
                    (folder / name).unlink()


def _sync_folder(folder: Path) -> None:
    """Force a new name to the disk, where the system can."""
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
