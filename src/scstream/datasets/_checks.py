"""Checks of the generators' arguments."""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np

RandomState = int | np.random.Generator | np.random.RandomState | None


def check_count(name: str, value: object, *, least: int = 1) -> int:
    """Return ``value`` as an int of at least ``least``, or raise ValueError."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= least:
        return int(value)
    raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")


def check_real(
    name: str, value: object, *, least: float = 0.0, most: float = math.inf, strict: bool = False
) -> float:
    """Return ``value`` as a finite float in [least, most], or raise ValueError.

    With ``strict`` the lower bound itself is refused.
    """
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        number = float(value)
        enough = number > least if strict else number >= least
        if enough and number <= most and math.isfinite(number):
            return number
    bounds = f"{'above' if strict else 'of at least'} {least:g}"
    if math.isfinite(most):
        bounds += f" and at most {most:g}"
    raise ValueError(f"{name} must be a finite number {bounds}, got {value!r}")


def check_choice(name: str, value: object, choices: Collection[str]) -> None:
    """Raise ValueError unless ``value`` is one of ``choices``."""
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {listed}; got {value!r}")


def seed_of(random_state: RandomState) -> int:
    """Return the integer that stands for ``random_state``; a generator is drawn from."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return check_count("random_state", random_state, least=0)
