"""What the package says while it works: through ``logging``, so that a program can choose.

The logger is called ``scstream``. Notes (what ``"auto"`` has chosen) are of level INFO and
details (how long a batch took) of level DEBUG, which Python does not show by itself. What a user
should know (a slow core, a worker that was lost) is of level WARNING.
"""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from scstream.support.advice import Advice, advice_of
from scstream.support.progress import UNHEARD, say

logger = logging.getLogger("scstream")
_OURS = "scstream.", "numpy."  # modules that a call goes through: decorators of NumPy among them


def note(text: str, *advice: Advice, shown: bool = False) -> None:
    """Log something useful; with ``shown``, print it if the log is not shown."""
    if logger.isEnabledFor(logging.INFO):
        with UNHEARD:
            logger.info("scstream: %s", text, extra={"advice": advice})
    elif shown:
        say(f"scstream: {text}")


def detail(text: str) -> None:
    """Log what is shown on request alone."""
    with UNHEARD:
        logger.debug("scstream: %s", text)


def user_level() -> int:
    """Return the ``stacklevel`` at which a warning points to the line that called this package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_OURS):
        level, frame = level + 1, frame.f_back
    return level


def advise(text: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn the user's line that called this package; where it cannot be shown, do nothing."""
    with UNHEARD:
        warnings.warn(text, category, stacklevel=user_level())


def warn(text: str) -> None:
    """Log what the user should know."""
    with UNHEARD:
        logger.warning("scstream: %s", text)


class _Terminal(logging.Handler):
    """Prints messages on what is standard error at the moment."""

    def __init__(self, spell: Callable[[str, Sequence[Advice]], str] | None) -> None:
        super().__init__()
        self._spell = spell

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        say(text if self._spell is None else self._spell(text, advice_of(record)))


@contextmanager
def printed(
    *,
    quiet: bool,
    verbose: bool = False,
    spell: Callable[[str, Sequence[Advice]], str] | None = None,
) -> Iterator[None]:
    """Print messages on standard error, as a command does: quiet, warnings; verbose, details.

    ``spell`` adds the advice of a message to its text.
    """
    handler, level, onward = _Terminal(spell), logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.WARNING if quiet else logging.DEBUG if verbose else logging.INFO)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = onward
