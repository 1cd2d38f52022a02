"""A second process compiles half of what a first batch needs, while this one compiles the rest.

It is started by the first kernel of a batch that is not on disk, where there are two cores and a
Python to start, and writes to the same folder. Each process claims a kernel before it compiles it.
Who needs one that the other has claimed compiles what nobody has meanwhile, and then waits for it.
What batches of each kind need is listed in `needed`.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from threading import Condition, Thread
from time import monotonic
from typing import Any

from numba.core import config

from scstream.kernels import needed
from scstream.support.modules import safe_path

_HELPER = "SCSTREAM_COMPILES_AHEAD"  # is set in the second process
_BEGINS = "matrices.prior"  # what a batch of Gaussian clusters needs first
_LOOKS = "pooling.zeros"  # what looks for gaps in rows before anyone knows how many are needed
_BEGINS_OTHERS = "labelling.uniforms"  # what many a batch needs, for long
_SECONDS = dict.fromkeys(
    ("small_batches", "wide_batches", "pruned_batches", "large_batches"), 12
)  # on two cores; those of other batches: 6
_OF_GAUSSIANS = ("small_batch", "small_divisions", "matrices", "pooling", "wide_rows", "wide_sums")


class _Helper:
    """A second process for some kernels, seen from this one.

    Parameters
    ----------
    kernels : callable
        Returns the kernels: a function of `needed`.
    """

    def __init__(self, kernels: Callable[[], dict[str, Any]]) -> None:
        self._needed = kernels
        self._kernels: dict[str, Any] = {}
        self._claims = Claims("")
        self._process: subprocess.Popen[str] | None = None
        self._mine: set[str] = set()
        self._done: set[str] = set()
        self._ended = False
        self._news = Condition()
        self.started = False
        self.last_done = 0.0

    def start(self) -> None:
        """Start it, unless that was done before."""
        if self.started:
            return
        self.started = True
        environment = {**os.environ, _HELPER: "1"}
        environment["NUMBA_CACHE_DIR"] = getattr(config, "CACHE_DIR", "")
        try:
            self._claims = Claims(tempfile.mkdtemp(prefix="scstream-"))
            wanted = f"{self._needed.__name__!r}, {self._claims.folder!r}"
            path = f"import sys; sys.path[:] = {safe_path()!r}"
            script = f"{path}; import {__name__} as a; a.help_out({wanted})"
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-B", "-W", "ignore", "-c", script],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        except OSError:
            return
        self._kernels = self._needed()
        self._listener = Thread(target=self._listen, args=(self._process.stdout,), daemon=True)
        self._listener.start()
        atexit.register(self.stop)

    def _listen(self, said: Any) -> None:
        """Take note of what is done, until there is no more to come."""
        with said:
            for line in said:
                with self._news:
                    self._done.add(line.strip())
                    self.last_done = monotonic()
                    self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()

    def wait_for(self, name: str) -> bool:
        """Wait until a kernel that it has claimed is on disk; false if it is for this process."""
        if name in self._mine or name not in self._kernels:
            return False
        if self._claim(name):
            return False
        for other, arguments in self._kernels.items():
            if not (name in self._done or self._ended) and self._claim(other):
                compile_for(other, arguments)
        with self._news:
            self._news.wait_for(lambda: name in self._done or self._ended)
        return name in self._done

    def finish(self) -> None:
        """Wait until it is done, if it was started."""
        with self._news:
            self._news.wait_for(lambda: self._process is None or self._ended)

    def _claim(self, name: str) -> bool:
        """Whether this process is the first to claim a kernel."""
        mine = name not in self._mine and not self._ended and self._claims.take(name)
        if mine:
            self._mine.add(name)
        return mine

    def stop(self) -> None:
        """End it, done or not."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._listener.join()
            self._process = None
        shutil.rmtree(self._claims.folder, ignore_errors=True)


class Claims:
    """Who compiles what: a file for each kernel that somebody has claimed."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def take(self, name: str) -> bool:
        """Whether nobody has claimed a kernel before."""
        try:
            os.close(os.open(Path(self.folder, name), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        except OSError:  # the folder is gone: then everyone compiles for himself
            return True
        return True


_KINDS = {
    kind: _Helper(getattr(needed, kind))
    for kind in (
        "small_batches", "heavy_batches", "large_batches", "wide_batches", "pruned_batches",
        "other_batches",
    )
}  # fmt: skip
_BEGIN = {
    _BEGINS: "small_batches",
    "heavy_batch.sweep": "heavy_batches",
    _BEGINS_OTHERS: "other_batches",
}  # by the kernel that each kind is the first to need, or needs for long


def is_short(name: str) -> bool:
    """Whether a kernel takes so little time that nobody need be told of it alone."""
    return name == _LOOKS


def expect(kind: str) -> None:
    """Take note of which kind the next batch of Gaussian clusters is: a function of `needed`."""
    _BEGIN[_BEGINS] = kind


def name_of(function: Any) -> str:
    """Return the name of a kernel, with its module's."""
    return f"{function.__module__.rpartition('.')[2]}.{function.__name__}"


def is_helper() -> bool:
    """Whether this is the second process."""
    return _HELPER in os.environ


def start_for(name: str) -> None:
    """Start the second process that belongs to the first kernel of a batch.

    Who compiles for many columns has in hand already what most others need.
    """
    wide = _KINDS["wide_batches"].started or _KINDS["pruned_batches"].started
    if name in _BEGIN and not (wide and name == _BEGINS_OTHERS) and can_help():
        _KINDS[_BEGIN[name]].start()


def can_help() -> bool:
    """Whether a second process may be started, and has a core to run on."""
    python = Path(sys.executable or "").name.startswith("python")
    return python and not getattr(sys, "frozen", False) and _cores() > 1 and not is_helper()


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def waited_for(name: str) -> bool:
    """Wait for a kernel that a second process has in hand; false if none has."""
    return any(helper.wait_for(name) for helper in _KINDS.values())


def last_done() -> float:
    """Return the moment when a kernel that was waited for was last done."""
    return max(helper.last_done for helper in _KINDS.values())


def seconds_for(name: str) -> int:
    """Return about how long compiling takes that begins with a kernel."""
    kind = _BEGIN[_BEGINS] if name.startswith(_OF_GAUSSIANS) else _BEGIN.get(name, "")
    seconds = _SECONDS.get(kind, 6)
    return seconds if can_help() else round(1.5 * seconds)


def finish() -> None:
    """Wait until every second process is done."""
    for helper in _KINDS.values():
        helper.finish()


def help_out(kind: str, folder: str) -> None:
    """Be the second process: compile kernels that nobody else has claimed, and say what is done."""
    claims = Claims(folder)
    for name, arguments in getattr(needed, kind)().items():
        if claims.take(name):
            compile_for(name, arguments)
            print(name, flush=True)


def compile_for(name: str, arguments: Any) -> None:
    """Compile a kernel for the types of its arguments."""
    kernel_of(name).compile(arguments)


def kernel_of(name: str) -> Any:
    """Return the kernel of a name."""
    module, _, kernel = name.partition(".")
    return getattr(import_module(f"scstream.kernels.{module}"), kernel)
