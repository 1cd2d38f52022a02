"""Locks of objects that several threads may change: one waits for the other."""

from __future__ import annotations

import os
from threading import Lock, RLock
from typing import Any
from weakref import finalize

_turns: dict[int, Any] = {}  # by who they are the locks of: each as long as he lives
_look = Lock()


def turn_of(thing: Any) -> Any:
    """Return the lock of an object, for a ``with`` statement; the same as long as it lives."""
    found = _turns.get(id(thing))
    return _made(thing) if found is None else found


def _made(thing: Any) -> Any:
    """Return the lock of an object that had none yet, or has one since another thread looked."""
    with _look:
        found = _turns.get(id(thing))
        if found is None:
            found = _turns[id(thing)] = RLock()
            finalize(thing, _turns.pop, id(thing), None).atexit = False
    return found


def _forget() -> None:
    """Forget all locks in a new process: the threads that may hold them are not in it."""
    global _look, _turns
    _look, _turns = Lock(), {}


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
