"""Plain values as JSON next to a list of arrays, and back, with every step checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.checkpoint.envelope import Arrays, can_hold
from scstream.checkpoint.errors import CheckpointError
from scstream.checkpoint.registry import kind_named, name_of
from scstream.families import Family
from scstream.families.saved import parameters_of

_LARGEST = 2**1024  # whole numbers beyond are refused: reading them takes ever longer


class Packer:
    """Turns values into JSON; arrays become their numbers in a list."""

    def __init__(self) -> None:
        self.arrays: Arrays = []
        self._places: dict[int, int] = {}

    def array(self, values: NDArray[Any]) -> int:
        """Return the number of an array; the same array has one number."""
        if id(values) not in self._places:
            self._places[id(values)] = len(self.arrays)
            self.arrays.append(values)
        return self._places[id(values)]

    def value(self, value: Any, what: str) -> Any:
        """Return a parameter of a model or of a family: lists are lists, objects say their kind."""
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, np.bool_):
            return bool(value)
        if isinstance(value, Integral) and abs(int(value)) < _LARGEST:
            return int(value)
        if isinstance(value, Real):
            number = float(value)
            return number if math.isfinite(number) else {"is": "float", "of": str(number)}
        if isinstance(value, Family):
            return {"is": "family", "of": self.family(value, what)}
        if isinstance(value, Mapping):
            pairs = [[self.value(k, what), self.value(v, what)] for k, v in value.items()]
            return {"is": "dict", "of": pairs}
        if isinstance(value, tuple):
            return {"is": "tuple", "of": [self.value(v, what) for v in value]}
        if isinstance(value, list | range | set | frozenset):
            return [self.value(v, what) for v in value]
        if hasattr(value, "__array__"):
            array: NDArray[Any] = np.asarray(value)
            if can_hold(array):
                return {"is": "array", "of": self.array(array)}
            if array.dtype.kind in "OUS" and array.ndim > 0:
                return self.value(array.tolist(), what)
        raise ValueError(
            f"{what} cannot be saved: it holds {value!r} of type {type(value).__name__}. "
            "A checkpoint holds numbers, text, lists, arrays and families."
        )

    def family(self, family: Family, what: str) -> dict[str, Any]:
        """Return a family: how it was made, and what it has learned since."""
        name = name_of(family)
        given = {key: getattr(family, key) for key in parameters_of(type(family))}
        learned = family.to_saved()
        return {
            "name": name,
            "parameters": {key: self.value(v, what) for key, v in given.items()},
            "learned": {key: self.value(v, what) for key, v in learned.items()},
        }


class Node:
    """An object of a checkpoint, with what it holds checked as it is asked for."""

    def __init__(self, tree: Any, arrays: Arrays, where: str) -> None:
        if not isinstance(tree, dict):
            raise CheckpointError(f"In the checkpoint, {where} is not an object.")
        self.tree: dict[str, Any] = tree
        self.arrays = arrays
        self.where = where

    def fail(self, name: str, what: str) -> CheckpointError:
        """Return the error of an entry that is not what it must be."""
        return CheckpointError(f"In the checkpoint, {name} of {self.where} is {what}.")

    def get(self, name: str) -> Any:
        """Return an entry as it is."""
        if name not in self.tree:
            raise self.fail(name, "missing")
        return self.tree[name]

    def node(self, name: str) -> Node:
        """Return an object."""
        return Node(self.get(name), self.arrays, f"{self.where}.{name}")

    def maybe(self, name: str) -> Node | None:
        """Return an object, None where there is none."""
        return None if self.get(name) is None else self.node(name)

    def nodes(self, name: str) -> list[Node]:
        """Return a list of objects."""
        value = self.get(name)
        if not isinstance(value, list):
            raise self.fail(name, "not a list")
        return [Node(v, self.arrays, f"{self.where}.{name}[{i}]") for i, v in enumerate(value)]

    def integer(self, name: str, low: int, high: int) -> int:
        """Return a whole number within bounds."""
        value = self.get(name)
        if type(value) is not int or not low <= value <= high:
            raise self.fail(name, f"not a whole number from {low} to {high}")
        return value

    def number(self, name: str, low: float = -math.inf, high: float = math.inf) -> float:
        """Return a finite number strictly within bounds."""
        value = self.get(name)
        if type(value) not in (int, float) or not low < value < high:
            raise self.fail(name, "not a valid number")
        try:
            return float(value)
        except OverflowError:
            raise self.fail(name, "too large a number") from None

    def flag(self, name: str) -> bool:
        """Return a truth value."""
        value = self.get(name)
        if type(value) is not bool:
            raise self.fail(name, "not a truth value")
        return value

    def texts(self, name: str) -> list[str]:
        """Return a list of text."""
        value = self.get(name)
        if not (isinstance(value, list) and all(isinstance(v, str) for v in value)):
            raise self.fail(name, "not a list of text")
        return value

    def array(self, name: str, kind: type, *shape: int | None) -> NDArray[Any]:
        """Return an array of a kind and a shape, None where any length will do; all finite."""
        out = self.at(self.get(name), name)
        fits = len(out.shape) == len(shape) and all(
            want in (None, have) for want, have in zip(shape, out.shape, strict=True)
        )
        if out.dtype != np.dtype(kind) or not fits:
            wanted = tuple("any" if n is None else n for n in shape)
            raise self.fail(name, f"an array {out.dtype} {out.shape}, not {kind.__name__} {wanted}")
        if kind is float and not np.all(np.isfinite(out)):
            raise self.fail(name, "not finite")
        return out

    def at(self, place: Any, name: str) -> NDArray[Any]:
        """Return the array of that number, whatever it is."""
        if type(place) is not int or not 0 <= place < len(self.arrays):
            raise self.fail(name, "not an array of the file")
        return self.arrays[place]

    def value(self, name: str) -> Any:
        """Return a parameter of a model or of a family."""
        return self._value(self.get(name), name)

    def _value(self, tree: Any, name: str) -> Any:
        if isinstance(tree, list):
            return [self._value(v, name) for v in tree]
        if not isinstance(tree, dict):
            return tree
        kind, of = tree.get("is"), tree.get("of")
        if kind == "float" and of in ("nan", "inf", "-inf"):
            return float(of)
        if kind == "array":
            return self.at(of, name)
        if kind == "family":
            return Node(of, self.arrays, f"{self.where}.{name}").family()
        if kind in ("tuple", "dict") and isinstance(of, list):
            parts = self._value(of, name)
            return tuple(parts) if kind == "tuple" else dict(parts)
        raise self.fail(name, "a value of no known kind")

    def family(self) -> Family:
        """Return the family that this object is."""
        kind = kind_named(self.get("name"))
        given, learned = self.node("parameters"), self.node("learned")
        if set(given.tree) != set(parameters_of(kind)):
            raise self.fail("parameters", f"not what {kind.__name__} takes")
        family = kind(**{name: given.value(name) for name in given.tree})
        family.check_given()
        if not learned.tree:
            return family
        with np.errstate(all="ignore"):  # what comes of odd numbers is looked at
            family = family.from_saved({name: learned.value(name) for name in learned.tree})
            prior = family.prior
        if not (prior.ndim == 1 and prior.dtype == float and np.all(np.isfinite(prior))):
            raise self.fail("learned", "not a valid prior")
        return family
