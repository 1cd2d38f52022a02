"""Progress bars: tqdm's on a terminal, nothing anywhere else.

A command turns them on (`bars`), unless it is quiet; in Python ``verbose=True`` does. Work that
ends within half a second shows none.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cache
from shutil import get_terminal_size
from threading import RLock
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
        self.live = (shown or _wanted) and is_terminal(self._out)
        self._bar: Any = None

    def show(self, done: float | None = None, text: str = "") -> None:
        """Say how much is done, and something about it."""
        if not self.live:
            return
        if self._bar is None:
            size = get_terminal_size()  # not tqdm's own look: some terminals say 0
            known = "{percentage:3.0f}%|{bar:20}| {desc}  {remaining} left"
            self._bar = _tqdm()(
                initial=done or 0, total=self._total, file=self._out, leave=False, miniters=0,
                delay=_DELAY or 1e-9, ncols=size.columns - 1, nrows=size.lines,
                bar_format="{desc}" if self._total is None else known,
            )  # fmt: skip
        words = "  ".join(part for part in (self._what, text) if part)
        self._bar.set_description_str(words, refresh=False)
        self._bar.update(0 if done is None else done - self._bar.n)

    def write(self, line: str) -> None:
        """Write a line that stays, above the bar."""
        say(line, self._out)

    def close(self) -> None:
        """Take the bar away: the work is done."""
        if self._bar is not None:
            self._bar.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
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


def bars_wanted() -> bool:
    """Whether bars are turned on, and standard error is a terminal."""
    return _wanted and is_terminal(sys.stderr)


def is_terminal(out: TextIO | None) -> bool:
    """Whether a stream is a terminal."""
    with UNHEARD:
        return out is not None and out.isatty()
    return False


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
