"""Values as JSON next to a list of arrays, and back: a file names what it holds, and no code."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scstream.checkpoint.envelope import Arrays, can_hold
from scstream.checkpoint.errors import require
from scstream.checkpoint.randomness import Random, random_from, state_of
from scstream.checkpoint.registry import kind_named, name_of
from scstream.families import Family
from scstream.families.count_scores import CountRows
from scstream.families.saved import restored, saved_of
from scstream.support.saved import parameters_of

_LARGEST = 2**1024  # whole numbers beyond are refused: reading them takes ever longer


# Of each class of the package's own: the names of what is saved, and what gives values by name.
PARTS: dict[type, tuple[list[str], Callable[[Any], dict[str, Any]]]] = {}


class Packer:
    """Turns values into JSON; arrays become their numbers in a list."""

    def __init__(self) -> None:
        self.arrays: Arrays = []
        self._places: dict[int, int] = {}

    def value(self, value: Any, what: str) -> Any:
        """Return a value as JSON: lists are lists, anything else says its kind."""
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, np.bool_):
            return bool(value)
        if isinstance(value, Integral) and abs(int(value)) < _LARGEST:
            return int(value)
        if isinstance(value, Real):
            number = float(value)
            return number if math.isfinite(number) else {"is": "float", "of": str(number)}
        if isinstance(value, list | range | set | frozenset):
            return [self.value(v, what) for v in value]
        if type(value) in PARTS:
            names, values = PARTS[type(value)]
            own = values(value)
            return {name: self.value(own[name], what) for name in names}
        if isinstance(value, tuple):
            return {"is": "tuple", "of": [self.value(v, what) for v in value]}
        if isinstance(value, dict) and "is" not in value and all(type(k) is str for k in value):
            return {name: self.value(v, what) for name, v in value.items()}
        if isinstance(value, Mapping):
            pairs = [[self.value(k, what), self.value(v, what)] for k, v in value.items()]
            return {"is": "dict", "of": pairs}
        if isinstance(value, Family):
            return {"is": "family", "of": self._family(value, what)}
        if isinstance(value, Random):
            return {"is": "random", "of": self.value(state_of(value), what)}
        if sparse.issparse(value):
            held = [value.data, value.indices, value.indptr, value.shape[1]]
            return {"is": "rows", "of": self.value(held, what)}
        if hasattr(value, "__array__"):
            array: NDArray[Any] = np.asarray(value)
            if can_hold(array):
                return {"is": "array", "of": self._array(array)}
            if array.dtype.kind in "OUS" and array.ndim > 0:
                return self.value(array.tolist(), what)
        raise ValueError(
            f"{what} cannot be saved: it holds {value!r} of type {type(value).__name__}. "
            "A checkpoint holds numbers, text, lists, arrays and families."
        )

    def _array(self, values: NDArray[Any]) -> int:
        """Return the number of an array; the same array has one number."""
        if id(values) not in self._places:
            self._places[id(values)] = len(self.arrays)
            self.arrays.append(values)
        return self._places[id(values)]

    def _family(self, family: Family, what: str) -> dict[str, Any]:
        """Return a family: how it was made, and what it has learned since."""
        name = name_of(family)
        given = {key: getattr(family, key) for key in parameters_of(type(family))}
        learned = saved_of(family)
        return {
            "name": name,
            "parameters": {key: self.value(v, what) for key, v in given.items()},
            "learned": {key: self.value(v, what) for key, v in learned.items()},
        }


def value_of(tree: Any, arrays: Arrays) -> Any:
    """Return the value that JSON describes; an object without a kind is a dict."""
    if isinstance(tree, list):
        return [value_of(v, arrays) for v in tree]
    if not isinstance(tree, dict):
        return tree
    if "is" not in tree:
        return {name: value_of(v, arrays) for name, v in tree.items()}
    kind, of = tree["is"], tree.get("of")
    if kind == "float" and of in ("nan", "inf", "-inf"):
        return float(of)
    if kind == "array":
        place = of if type(of) is int else -1
        require(0 <= place < len(arrays), "there is no such array")
        return arrays[place]
    of = value_of(of, arrays)
    if kind == "family":
        return _family_of(**of)
    if kind == "random":
        return random_from(of)
    require(kind in ("tuple", "dict", "rows") and isinstance(of, list), "a value is of no kind")
    return tuple(of) if kind == "tuple" else dict(of) if kind == "dict" else _rows_of(*of)


def _family_of(name: Any, parameters: dict[str, Any], learned: dict[str, Any]) -> Family:
    kind = kind_named(name)
    given = set(parameters) == set(parameters_of(kind))
    require(given, f"parameters are not what {kind.__name__} takes")
    family = kind(**parameters)
    family.check_given()
    if not learned:
        return family
    with np.errstate(all="ignore"):  # what comes of odd numbers is checked below
        family = restored(family, learned)
        prior = family.prior
    sound = prior.ndim == 1 and prior.dtype == float and np.all(np.isfinite(prior))
    require(sound, f"the family {name!r} has no valid prior")
    return family


def _rows_of(data: Any, indices: Any, indptr: Any, width: Any) -> CountRows:
    """Return compressed rows, every index of which is known to lie within."""
    for array, kinds in ((data, "f"), (indices, "i"), (indptr, "i")):
        sound = isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype.kind in kinds
        require(sound, "compressed rows are not made of arrays")
    fits = len(indptr) > 0 and indptr[0] == 0 and indptr[-1] == len(data) == len(indices)
    inside = np.all(np.diff(indptr) >= 0) and np.all((indices >= 0) & (indices < width))
    require(
        fits and inside and np.all(np.isfinite(data)), "compressed rows have indices beyond them"
    )
    rows = CountRows((data, indices, indptr), shape=(len(indptr) - 1, width))
    require(rows.has_canonical_format, "indices of compressed rows are not in order")
    return rows
