"""Small streams with the truth known, and helpers that several test modules share."""

import hashlib
from collections import deque
from collections.abc import Iterable, Mapping
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream import ScStream

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

CORNERS = np.array([[0.0, 0.0], [12.0, 0.0], [0.0, 12.0]])


def blobs(n: int, seed: int, centres: Array = CORNERS) -> tuple[Array, Ints]:
    """Return points around the centres, standard deviation 1, and where they are from."""
    rng = np.random.default_rng(seed)
    y = rng.integers(len(centres), size=n)
    return centres[y] + rng.standard_normal((n, centres.shape[1])), y


def blob_stream(
    n_batches: int, n: int = 200, *, seed: int = 0, centres: Array = CORNERS, drift: Any = 0.0
) -> list[tuple[Array, Ints]]:
    """Return batches of blobs whose centres move by ``drift`` from batch to batch."""
    return [blobs(n, 1000 * seed + b, centres + b * np.asarray(drift)) for b in range(n_batches)]


def counts(n: int, seed: int, trials: int = 60) -> tuple[Ints, Ints]:
    """Return rows of counts in 12 categories from 3 multinomials, and where they are from."""
    rng = np.random.default_rng(seed)
    probabilities = np.kron(np.eye(3), np.ones(4)) + 0.05
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    y = rng.integers(3, size=n)
    return np.stack([rng.multinomial(trials, probabilities[i]) for i in y]), y


def labels_of(model: ScStream, batches: Iterable[Any], **options: Any) -> list[Ints]:
    """Return the labels of each batch when it was learned."""
    return [model.partial_fit(X, **options).labels_ for X in batches]


def ids(model: ScStream) -> list[int]:
    return [cluster.id for cluster in model.clusters_]


def total_count(model: ScStream) -> float:
    return sum(cluster.count for cluster in model.clusters_)


def snapshot(thing: Any) -> str:
    """Return a digest of everything a model holds, to the last bit, its generators included."""
    return hashlib.sha256(repr(_plain(thing)).encode()).hexdigest()


def _plain(thing: Any) -> Any:
    """Return nested tuples of plain values that tell all there is to tell."""
    if isinstance(thing, float):
        return thing.hex()
    if thing is None or isinstance(thing, str | int | complex | np.generic):
        return thing
    if isinstance(thing, np.ndarray):
        held = thing.tolist() if thing.dtype == object else thing.tobytes()
        return thing.dtype.str, thing.shape, held
    if isinstance(thing, np.random.Generator):
        return _plain(thing.bit_generator.state)
    if isinstance(thing, np.random.RandomState):
        return _plain(thing.get_state())
    if isinstance(thing, Mapping):
        return tuple((key, _plain(thing[key])) for key in sorted(thing, key=repr))
    if isinstance(thing, list | tuple | deque):
        return tuple(_plain(part) for part in thing)
    if isinstance(thing, range | slice):
        return repr(thing)
    if isinstance(thing, FunctionType | type):
        return thing.__qualname__
    return type(thing).__name__, _plain(vars(thing))


# Kernels of age that pickle, as functions of a module do.


def box(age: float) -> float:
    return 1.0 if age <= 3 else 0.0


def hyperbola(age: float) -> float:
    return 1.0 / (1.0 + age)
