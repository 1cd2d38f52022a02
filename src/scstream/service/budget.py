"""How much of a run's time the page may take."""

from __future__ import annotations

from time import perf_counter

SHARE = 0.015  # of the time: with what each batch costs anyway, a run loses less than 5 %
_SAVED = 4.0  # seconds whose share may be saved up


class Budget:
    """Time that may be spent: a share of what passes, and that of some seconds saved up.

    Parameters
    ----------
    share : float
        1 allows everything.

    Examples
    --------
    >>> budget = Budget(0.0)
    >>> budget.left
    True
    >>> with budget:
    ...     pass  # the first time is free: it loads what is needed
    >>> with budget:
    ...     _ = sum(range(10_000_000))
    >>> budget.left
    False
    """

    def __init__(self, share: float = SHARE) -> None:
        self._share = share
        self._most = self._credit = _SAVED * share
        self._seen = perf_counter()
        self._first = True

    @property
    def left(self) -> bool:
        """Whether something may be done now."""
        now = perf_counter()
        self._credit = min(self._credit + self._share * (now - self._seen), self._most)
        self._seen = now
        return self._first or self._credit > 0.0 or self._share >= 1.0

    def __enter__(self) -> None:
        self._begun = perf_counter()

    def __exit__(self, *_: object) -> None:
        if not self._first:
            self._credit -= perf_counter() - self._begun
        self._first = False
