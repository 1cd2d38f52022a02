"""Random generators as plain values, and back: NumPy's own kinds, their states checked.

NumPy takes states on trust, and some hold a place in a buffer that it then reads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scstream.checkpoint.errors import require

Random = np.random.Generator | np.random.RandomState

# The entries of each bit generator's state: the largest number, or an array's kind and length.
_PCG = {"state": 2**128 - 1, "inc": 2**128 - 1}
_STATES: dict[str, dict[str, Any]] = {
    "PCG64": _PCG,
    "PCG64DXSM": _PCG,
    "MT19937": {"key": (np.uint32, 624), "pos": 624},
    "Philox": {"counter": (np.uint64, 4), "key": (np.uint64, 2)},
    "SFC64": {"state": (np.uint64, 4)},
}
_BESIDE: dict[str, Any] = {
    "has_uint32": 1, "uinteger": 2**32 - 1, "buffer_pos": 4, "buffer": (np.uint64, 4),
    "has_gauss": 1,
}  # fmt: skip


def state_of(value: Random) -> dict[str, Any]:
    """Return the state of a generator."""
    state: dict[str, Any]
    if isinstance(value, np.random.Generator):
        state = {**value.bit_generator.state}
    else:
        state = {**value.get_state(legacy=False)}  # with a normal number drawn in advance
    if state["bit_generator"] not in _STATES:
        raise ValueError(
            f"random_state cannot be saved: its bit generator {state['bit_generator']} is not one "
            f"of NumPy's, {', '.join(_STATES)}."
        )
    return state


def random_from(state: dict[str, Any]) -> Random:
    """Return the generator of a state, which comes from a file."""
    name, inner = state["bit_generator"], state["state"]
    require(name in _STATES, "a bit generator is not one of NumPy's")
    for key, value in inner.items():
        _check(value, _STATES[name][key])
    require(inner.get("inc", 1) % 2 == 1, "the increment of a generator is even")
    require("pos" not in inner or inner["key"].any(), "the state of a generator is all zeros")
    for key, value in state.items():
        if key in _BESIDE:
            _check(value, _BESIDE[key])
    bits = getattr(np.random, name)(0)
    if "gauss" not in state:
        bits.state = state
        return np.random.Generator(bits)
    require(type(state["gauss"]) is float, "the state of a generator is not one of numbers")
    out = np.random.RandomState(bits)
    out.set_state(state)
    return out


def _check(value: Any, limit: Any) -> None:
    """Raise unless a part of a state is a number up to the limit, or an array of that kind."""
    if isinstance(limit, int):
        sound = type(value) is int and 0 <= value <= limit
    else:
        kind, length = limit
        sound = isinstance(value, np.ndarray) and value.dtype == kind and value.shape == (length,)
    require(sound, "the state of a generator is not one of numbers")
