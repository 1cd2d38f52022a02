"""Locks of objects that several threads may change: one waits for the other."""

from __future__ import annotations

import os
from threading import Lock, RLock
from typing import Any
from weakref import WeakKeyDictionary

_turns: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_look = Lock()


def turn_of(thing: Any) -> Any:
    """Return the lock of an object, for a ``with`` statement; the same as long as it lives."""
    with _look:
        return _turns.setdefault(thing, RLock())


def _forget() -> None:
    """Forget all locks in a new process: the threads that may hold them are not in it."""
    global _look, _turns
    _look, _turns = Lock(), WeakKeyDictionary()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
