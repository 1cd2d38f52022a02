"""A folder of checkpoints: the last two, so that a damaged one costs no more than a while."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scstream.checkpoint import CheckpointError, UnsupportedCheckpointError, read
from scstream.support.atomic import write_atomically
from scstream.support.messages import warn
from scstream.support.printable import printable

if TYPE_CHECKING:
    from scstream.model import ScStream

_KEPT = 2
_PATTERN = "checkpoint-*.scstream"
_UNFINISHED = ".checkpoint-*tmp"
_LOCK = "in-use"
_DAMAGED = ".damaged"
_CLAIM = "outputs.json"  # of a run that has no checkpoint yet


@dataclass(frozen=True)
class Kept:
    """What a checkpoint holds: the model, and what was saved with it."""

    path: Path
    model: ScStream
    extra: dict[str, Any]


class CheckpointFolder:
    """Keeps the last two checkpoints of a run.

    Parameters
    ----------
    path : str or Path
        The folder; it is made if it is not there.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._number = 0
        self._lock: int | None = None
        if self.path.exists() and not self.path.is_dir():
            raise ValueError(f"{self.path} is a file; checkpoints need a folder.")

    def newest(self, kernel: Callable[[float], float] | None = None) -> Kept | None:
        """Return the newest checkpoint that can be read; None if there is no checkpoint at all.

        If an older one can be read, damaged ones get another name, so that they do not count as
        one of the last two. If none can, nothing is changed, and every start ends here until
        someone removes them: a run that started over would truncate the outputs.

        Parameters
        ----------
        kernel : callable, optional
            The kernel that the model has, which a file cannot hold.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        self._take()
        if self._lock is not None:  # nothing else writes here, so these are a killed run's
            for file in self.path.glob(_UNFINISHED):
                file.unlink(missing_ok=True)
        files = self._files()
        self._number = max((number_of(file) for file in files), default=0)
        damaged: list[tuple[Path, CheckpointError]] = []
        for file in reversed(files):
            try:
                model, extra = read(file, kernel=kernel)
            except UnsupportedCheckpointError:
                raise  # the file is whole
            except CheckpointError as error:
                damaged.append((file, error))
                continue
            for old, reason in damaged:
                aside = old.with_suffix(_DAMAGED)
                old.replace(aside)
                text = f"warning: {old} cannot be used and is now {aside.name}: {reason}"
                warn(printable(text))
            return Kept(file, model, extra)
        what = [f"{file.name}: {reason}" for file, reason in damaged]
        what += sorted(file.name for file in self.path.glob(f"*{_DAMAGED}"))
        if what:
            raise CheckpointError(
                f"No checkpoint in {self.path} can be read ({'; '.join(what)}). Nothing was "
                f"changed. Put a good one back; or, to start over, remove the folder {self.path} "
                "and the outputs."
            )
        return None

    def claim(self, outputs: dict[str, Any]) -> None:
        """Note which outputs are this run's own, until the first checkpoint says so."""
        write_atomically(self.path / _CLAIM, [json.dumps(outputs).encode()])

    def claimed(self) -> dict[str, Any]:
        """Return the outputs of a run that was killed before its first checkpoint."""
        try:
            outputs = json.loads((self.path / _CLAIM).read_bytes())
        except (OSError, ValueError):
            return {}
        if not isinstance(outputs, dict):
            return {}
        return {name: place for name, place in outputs.items() if isinstance(place, dict)}

    def save(self, model: ScStream, extra: dict[str, Any]) -> Path:
        """Write the next checkpoint, and remove those that are not needed any more."""
        self._number += 1
        target = self.path / f"checkpoint-{self._number:012d}.scstream"
        model.save(target, extra=extra)
        for file in [*self._files()[:-_KEPT], self.path / _CLAIM]:
            with contextlib.suppress(OSError):
                file.unlink()
        return target

    def _files(self) -> list[Path]:
        return sorted(self.path.glob(_PATTERN), key=number_of)

    def _take(self) -> None:
        """Make sure that no other run uses the folder; the system lets go when a process ends."""
        handle = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _lock(handle)
        except (BlockingIOError, PermissionError):  # the latter on Windows
            os.close(handle)
            raise ValueError(f"Another run uses the checkpoints in {self.path}.") from None
        except OSError:  # a file system without locks
            os.close(handle)
            return
        self._lock = handle

    def close(self) -> None:
        """Let others use the folder."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def number_of(file: Path) -> int:
    """Return the number in a checkpoint's name; -1 for any other file."""
    text = file.stem.removeprefix("checkpoint-")
    return int(text) if text.isascii() and text.isdecimal() else -1


def find_checkpoint(path: str | Path) -> Kept:
    """Return the checkpoint in a file, or the newest good one in a folder, changing nothing."""
    if not str(path):
        raise ValueError("The name of the checkpoint is empty: a shell variable may not be set.")
    target = Path(path)
    if not target.is_dir():
        model, extra = read(target)
        return Kept(target, model, extra)
    damaged: list[str] = []
    for file in sorted(target.glob(_PATTERN), key=number_of, reverse=True):
        try:
            model, extra = read(file)
        except CheckpointError as error:
            damaged.append(f"{file.name}: {error}")
            continue
        if damaged:
            warn(f"{file.name} is used; what is newer cannot be read ({'; '.join(damaged)}).")
        return Kept(file, model, extra)
    if damaged:
        raise CheckpointError(f"No checkpoint in {target} can be read ({'; '.join(damaged)}).")
    raise CheckpointError(f"There is no checkpoint in {target}.")
