"""Progress bars: tqdm's on a terminal, nothing anywhere else.

A command turns them on (`bars`), unless it is quiet; in Python ``verbose=True`` does. Work that
ends within half a second shows none.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cache
from io import TextIOWrapper
from shutil import get_terminal_size
from threading import RLock
from time import monotonic
from types import TracebackType
from typing import Any, Self, TextIO

_DELAY = 0.5  # seconds of work before a bar appears
_wanted = False  # whether a command has turned bars on
UNHEARD = suppress(OSError, ValueError, AttributeError)  # of a stream that is closed, or None


class Bar:
    """How far some work is, and how long the rest may take.

    Parameters
    ----------
    what : str
        What is going on, in a word or two.
    total : float, optional
        How much there is to do; None if unknown, and then there is text, but no bar.
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
        self._what, self._total = what, total
        self._out = sys.stderr if out is None else out
        self.live = (shown or _wanted) and _is_terminal(self._out)
        self._began = monotonic()
        self._bar: Any = None

    def show(self, done: float | None = None, text: str = "") -> None:
        """Say how much is done, and something about it."""
        if not self.live:
            return
        if self._bar is None:
            self._bar = self._start(done or 0)
        words = "  ".join(part for part in (self._what, text) if part)
        self._bar.set_description_str(words, refresh=False)
        self._bar.update(0 if done is None else done - self._bar.n)

    def _start(self, done: float) -> Any:
        size = get_terminal_size()
        known = "{percentage:3.0f}%|{bar:20}| {desc}  {remaining} left"
        return _tqdm()(
            initial=done,
            total=self._total,
            file=self._out,
            leave=False,
            delay=max(_DELAY - (monotonic() - self._began), 1e-9),
            miniters=0,
            ncols=size.columns - 1,  # not tqdm's own look: some terminals say 0
            nrows=size.lines,
            bar_format="{desc}" if self._total is None else known,
        )

    def write(self, line: str) -> None:
        """Write a line that stays, above the bar."""
        say(line, self._out)

    def close(self) -> None:
        """Take the bar away: the work is done."""
        if self._bar is not None:
            self._bar.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


@cache
def _tqdm() -> Any:
    from tqdm import tqdm

    class OurBar(tqdm):
        monitor_interval = 0  # no thread

    OurBar.set_lock(RLock())  # between threads alone
    return OurBar


def aside() -> AbstractContextManager[Any]:
    """Take the bars on the terminal away while a message is written."""
    if not _tqdm.cache_info().currsize:
        return nullcontext()
    mode: AbstractContextManager[Any] = _tqdm().external_write_mode(file=sys.stderr)
    return mode


@contextmanager
def finished(bar: object) -> Iterator[None]:
    """Take a bar away when some work is over."""
    try:
        yield
    finally:
        if isinstance(bar, Bar):
            bar.close()


def bars_wanted() -> bool:
    """Whether bars are turned on, and standard error is a terminal."""
    return _wanted and _is_terminal(sys.stderr)


def _is_terminal(out: TextIO | None) -> bool:
    with UNHEARD:
        return out is not None and out.isatty()
    return False


class Unheard(TextIOWrapper):
    """A stream of messages that goes on where nobody reads it any more: what is written is lost."""

    def write(self, text: str) -> int:
        """Write some text if that is possible."""
        with UNHEARD:
            return super().write(text)
        return len(text)

    def flush(self) -> None:
        """Hand on what is written if that is possible."""
        with UNHEARD:
            super().flush()


def say(line: str, out: TextIO | None = None) -> None:
    """Print a line on standard error, or elsewhere, above the bars; nothing if it is closed."""
    with UNHEARD, aside():
        out = sys.stderr if out is None else out
        if out is not None:  # else it would go to standard output
            print(line, file=out, flush=True)


@contextmanager
def bars(*, wanted: bool) -> Iterator[None]:
    """Turn bars on, or off, while a command runs."""
    global _wanted
    before, _wanted = _wanted, wanted
    try:
        yield
    finally:
        _wanted = before


class SweepBar(Bar):
    """Shows the sweeps of a first batch, which converges before `most` sweeps as a rule."""

    def __init__(self, most: int, *, verbose: bool) -> None:
        super().__init__("first batch", shown=verbose)
        self._most = most
        self._verbose = verbose

    def __call__(self, sweep: int, k: int, log_posterior: float) -> None:
        """Say how a sweep went; with ``verbose`` a line each where there is no terminal."""
        said = f"sweep {sweep}, {k} clusters, log posterior {log_posterior:.1f}"
        if self.live:
            self.show(text=f"{said}, at most {self._most} sweeps")
        elif self._verbose:
            say(f"scstream: {said}")
