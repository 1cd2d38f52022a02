"""Being asked to stop: a run ends after the current batch, and saves what it has."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any, Self


class Interrupted(BaseException):
    """Raised where a run waits for rows, when it is asked to stop."""


class Interrupt:
    """Takes Ctrl-C and SIGTERM as a request to stop; a second Ctrl-C stops at once.

    Used as a context. Outside of the main thread signals stay as they are, and `stop` asks.
    """

    def __init__(self) -> None:
        self.asked: str | None = None
        self._waiting = False
        self._before: dict[signal.Signals, Any] = {}

    def stop(self, why: str) -> None:
        """Ask the run to stop after the current batch."""
        self.asked = why

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Let a request end this at once: nothing is lost by it."""
        self._waiting = True
        try:
            if self.asked is not None:
                raise Interrupted
            yield
        finally:
            self._waiting = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        again = self.asked is not None
        self.stop(signal.Signals(number).name)
        if self._waiting:
            raise Interrupted
        if again and number == signal.SIGINT:
            raise KeyboardInterrupt

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *error: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        self._before = {}
