"""Random generators as plain values, and back: NumPy's own kinds, their states checked.

NumPy takes states on trust, and some hold a place in a buffer that it then reads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scstream.checkpoint.errors import CheckpointError
from scstream.checkpoint.values import Node, Packer

_KINDS = {
    name: getattr(np.random, name) for name in ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
}
_HALF = 2**32 - 1


def pack_random_state(value: Any, packer: Packer) -> Any:
    """Return a model's ``random_state``: None, a number, or a generator's state."""
    if isinstance(value, np.random.Generator):
        return {"is": "Generator", **_pack_bits(value.bit_generator.state, packer)}
    if isinstance(value, np.random.RandomState):
        state: Any = value.get_state(legacy=False)
        gauss = {"has_gauss": int(state["has_gauss"]), "gauss": float(state["gauss"])}
        return {"is": "RandomState", **_pack_bits(state, packer), **gauss}
    return None if value is None else int(value)


def unpack_random_state(node: Node, name: str) -> Any:
    """Return what `pack_random_state` described."""
    value = node.get(name)
    if value is None or type(value) is int:
        return value
    inner = node.node(name)
    if inner.get("is") == "Generator":
        return unpack_generator(inner)
    if inner.get("is") != "RandomState":
        raise node.fail(name, "of an unknown kind")
    bits, state = _unpack_bits(inner)
    state["has_gauss"] = inner.integer("has_gauss", 0, 1)
    state["gauss"] = inner.number("gauss")
    out = np.random.RandomState(bits)
    out.set_state(state)
    return out


def pack_generator(rng: np.random.Generator, packer: Packer) -> dict[str, Any]:
    """Return a generator's state."""
    return _pack_bits(rng.bit_generator.state, packer)


def unpack_generator(node: Node, only: str | None = None) -> np.random.Generator:
    """Return the generator, which must be of the one kind if it is said which."""
    bits, state = _unpack_bits(node)
    if only is not None and state["bit_generator"] != only:
        raise CheckpointError(f"The model's generator in the checkpoint is no {only}.")
    bits.state = state
    return np.random.Generator(bits)


def _pack_bits(state: Any, packer: Packer) -> dict[str, Any]:
    name = state["bit_generator"]
    if name not in _KINDS:
        raise ValueError(
            f"random_state cannot be saved: its bit generator {name} is not one of NumPy's, "
            f"{', '.join(_KINDS)}."
        )
    inner = {
        key: packer.array(v) if isinstance(v, np.ndarray) else int(v)
        for key, v in state["state"].items()
    }
    out = {"bits": name, "state": inner}
    for key in ("has_uint32", "uinteger", "buffer_pos"):
        if key in state:
            out[key] = int(state[key])
    if "buffer" in state:
        out["buffer"] = packer.array(state["buffer"])
    return out


def _unpack_bits(node: Node) -> tuple[Any, dict[str, Any]]:
    """Return a new bit generator, and the state that it is to have."""
    name = node.get("bits")
    if not isinstance(name, str) or name not in _KINDS:
        raise node.fail("bits", "not a bit generator of NumPy")
    inner = node.node("state")
    out: dict[str, Any] = {"bit_generator": name}
    if name == "MT19937":
        key = inner.array("key", np.uint32, 624)
        if not key.any():
            raise node.fail("state", "all zeros")
        out["state"] = {"key": key, "pos": inner.integer("pos", 0, 624)}
        return np.random.MT19937(0), out
    if name == "Philox":
        counter, key = inner.array("counter", np.uint64, 4), inner.array("key", np.uint64, 2)
        out["state"] = {"counter": counter, "key": key}
        out["buffer"] = node.array("buffer", np.uint64, 4)
        out["buffer_pos"] = node.integer("buffer_pos", 0, 4)
    elif name == "SFC64":
        out["state"] = {"state": inner.array("state", np.uint64, 4)}
    else:
        whole = 2**128 - 1
        out["state"] = {"state": inner.integer("state", 0, whole)}
        out["state"]["inc"] = inner.integer("inc", 1, whole)
        if out["state"]["inc"] % 2 == 0:
            raise node.fail("state", "not valid: the increment is even")
    out["has_uint32"] = node.integer("has_uint32", 0, 1)
    out["uinteger"] = node.integer("uinteger", 0, _HALF)
    return _KINDS[name](0), out
