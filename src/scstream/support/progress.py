"""Progress bars: one line on a terminal that rewrites itself, and nothing anywhere else.

A command turns them on (`bars`), unless it is quiet; in Python ``verbose=True`` does. Work that
ends within half a second shows none.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from time import monotonic
from types import TracebackType
from typing import Self, TextIO

_DELAY = 0.5  # seconds of work before a bar appears
_PAUSE = 0.1  # seconds between two states of a bar
_WIDTH = 20  # characters of the bar itself
_ERASE = "\r\x1b[K"


class _Screen:
    """What is on the terminal.

    Attributes
    ----------
    wanted : bool
        Whether a command has turned bars on.
    bar : Bar or None
        The one that can be seen now.
    owner : Bar or None
        The one of the work that all other work is part of: others do not cover it.
    """

    wanted = False
    bar: Bar | None = None
    owner: Bar | None = None
    lock = RLock()


class Bar:
    """How far some work is, and how long the rest may take.

    As a context it stays until the work is done, and bars of parts of the work do not cover it.

    Parameters
    ----------
    what : str
        What is going on, in a word or two.
    total : float, optional
        How much there is to do; None if nobody knows, and then there is text, but no bar.
    shown : bool
        Whether to show it even where no command has turned bars on.
    out : text file, optional
        By default standard error.

    Examples
    --------
    >>> with Bar("trials", 30, shown=True) as bar:  # nothing, as this is not a terminal
    ...     bar.show(15, "best 0.93")
    """

    def __init__(
        self,
        what: str,
        total: float | None = None,
        *,
        shown: bool = False,
        out: TextIO | None = None,
    ) -> None:
        self._what = what
        self._total = total
        self._out = sys.stderr if out is None else out
        self.live = (shown or _Screen.wanted) and self._out.isatty()
        self._began = monotonic()
        self._next = self._began + _DELAY
        self._first: tuple[float, float] | None = None  # when, and how far: what came before aside
        self._visible = False
        self.begun = False  # whether it was ever shown

    def show(self, done: float | None = None, text: str = "") -> None:
        """Say how much is done, and something about it."""
        now = monotonic()
        if not self.live:
            return
        if self._first is None and done is not None:
            self._first = now, done
        owner = _Screen.owner
        hidden = owner is not None and owner is not self and owner.begun
        if now < self._next or hidden:
            return
        self._next, self.begun = now + _PAUSE, True
        columns = shutil.get_terminal_size().columns
        with _Screen.lock:
            if _Screen.bar is not None and _Screen.bar is not self:
                _Screen.bar.clear()
            _Screen.bar = self
            self._out.write(_ERASE + self._line(done, text, now)[: columns - 1])
            self._out.flush()
            self._visible = True

    def _line(self, done: float | None, text: str, now: float) -> str:
        from scstream.support.times import as_length  # and NumPy, which a mere --help does not need

        parts = [self._what] if self._what else []
        if done is not None and self._total:
            share = min(max(done / self._total, 0.0), 1.0)
            parts.append(f"[{'#' * int(_WIDTH * share):.<{_WIDTH}}] {share:4.0%}")
        if text:
            parts.append(text)
        left = self._left(done, now)
        return "  ".join([*parts, f"{as_length(left)} left"] if left is not None else parts)

    def _left(self, done: float | None, now: float) -> float | None:
        """Return how many seconds the rest takes if it goes on as it has; None if unknown."""
        if done is None or not self._total or self._first is None:
            return None
        then, before = self._first
        if not before < done < self._total:
            return None
        return float(round((now - then) / (done - before) * (self._total - done)))

    def write(self, line: str) -> None:
        """Write a line that stays, above the bar."""
        with _Screen.lock:
            self.clear()
            self._out.write(line + "\n")
            self._out.flush()

    def clear(self) -> None:
        """Take the bar off the terminal; the next state brings it back."""
        with _Screen.lock:
            if self._visible:
                self._out.write(_ERASE)
                self._out.flush()
                self._visible = False
            if _Screen.bar is self:
                _Screen.bar = None

    def open(self) -> Self:
        """Let bars of parts of the work not cover this one, until `close`."""
        if _Screen.owner is None and self.live:
            _Screen.owner = self
        return self

    def close(self) -> None:
        """Take the bar away: the work is done."""
        self.clear()
        if _Screen.owner is self:
            _Screen.owner = None

    def __enter__(self) -> Self:
        return self.open()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def clear_bar() -> None:
    """Take the bar that is on the terminal, if any, away: a message follows."""
    bar = _Screen.bar
    if bar is not None:
        bar.clear()


def bars_wanted() -> bool:
    """Whether bars are turned on, and standard error is a terminal."""
    return _Screen.wanted and sys.stderr.isatty()


@contextmanager
def bars(*, wanted: bool) -> Iterator[None]:
    """Turn bars on, or off, while a command runs."""
    before, _Screen.wanted = _Screen.wanted, wanted
    try:
        yield
    finally:
        clear_bar()
        _Screen.wanted, _Screen.owner = before, None


@contextmanager
def cleared() -> Iterator[None]:
    """Leave no bar of a part of some work behind."""
    try:
        yield
    finally:
        if _Screen.bar is not _Screen.owner:
            clear_bar()


class SweepBar:
    """Shows the sweeps of a first batch, which converges before `most` sweeps as a rule."""

    def __init__(self, most: int, *, verbose: bool) -> None:
        self._bar = Bar("first batch", shown=verbose)
        self._most = most
        self._verbose = verbose

    def __call__(self, sweep: int, k: int, log_posterior: float) -> None:
        """Say how a sweep went; with ``verbose`` a line each where there is no terminal."""
        said = f"sweep {sweep}, {k} clusters, log posterior {log_posterior:.1f}"
        if self._bar.live:
            self._bar.show(text=f"{said}, at most {self._most} sweeps")
        elif self._verbose:
            print(f"scstream: {said}", file=sys.stderr, flush=True)
