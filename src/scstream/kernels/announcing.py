"""What happens around compiling: the user is told, a second process helps, nothing is collected."""

from __future__ import annotations

import gc
from time import monotonic, process_time
from typing import Any

from numba.core import event

from scstream.kernels import ahead, machine_code
from scstream.support.messages import warn

_PAUSE, _WORK = 20.0, 3.0  # seconds without compiling, or of other work, before it is said again


class _Compiling(event.Listener):
    """Listens to numba, which compiles one function at a time, and those it calls meanwhile.

    The garbage collector is held back: it would look again and again through the hundreds of
    thousands of objects that numba makes, which takes a tenth of the time.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._was_enabled = self._short = False
        self._ended = -_PAUSE, 0.0

    def on_start(self, event: Any) -> None:
        """Take note of the first of functions that call each other, if it is ours."""
        if self._depth == 0:
            dispatcher = event.data["dispatcher"]
            if not isinstance(dispatcher._cache, machine_code.KeptCode):
                return
            self._was_enabled = gc.isenabled()
            gc.disable()
            name, kept = ahead.name_of(dispatcher.py_func), dispatcher._cache.cache_path is not None
            self._short = ahead.is_short(name)
            if not self._short:
                self._announce(name, kept=kept)
        self._depth += 1

    def on_end(self, event: Any) -> None:
        """Let all go on after the last."""
        if self._depth == 0:
            return
        self._depth -= 1
        if self._depth == 0:
            if not self._short:
                self._ended = monotonic(), process_time()
            if self._was_enabled:
                gc.enable()

    def _announce(self, name: str, *, kept: bool) -> None:
        ended, worked = self._ended
        ended = max(ended, ahead.last_done())
        told = monotonic() - ended < _PAUSE and process_time() - worked < _WORK
        if kept and not ahead.is_helper():
            ahead.start_for(name)
        if told or ahead.is_helper():
            return
        if not kept:
            machine_code.say_not_kept("no folder for them can be written")
        again = "kept for the next time" if kept else "for this process"
        about = f"about {ahead.seconds_for(name)} s, {again} ..."
        warn(f"compiling its kernels for this kind of work, {about}")


def listen() -> None:
    """Begin to listen."""
    event.register("numba:compile", _Compiling())
