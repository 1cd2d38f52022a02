"""The rows of a batch, wherever they are: some of them, and how an engine gets them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from scstream.engines import Engine, RemoteRows
from scstream.engines.tensors import is_tensor, on_device, to_host
from scstream.families import Family
from scstream.families.contract import Array
from scstream.families.scores import Points
from scstream.families.subspace import narrowed
from scstream.support.threads import taken

_FEW_ROWS = 2**12  # that clusters of so many columns as are few may have
FEW_NUMBERS = 2**19  # statistics of a batch that is learned before it is worth while to share work


def is_small(family: Family, n: int) -> bool:
    """Whether a batch of n rows is learned so soon that threads and scores cost as much."""
    return n * len(family.prior) <= FEW_NUMBERS


def is_quick(family: Family, n: int) -> bool:
    """Whether n rows are so few, and their columns, that to limit threads costs more than work."""
    return is_small(family, max(n, _FEW_ROWS))


def some_rows(X: Points, most: int) -> Points:
    """Return so many rows of a batch at most, one of each of equal strata.

    Which row of a stratum depends on nothing but the number of rows: a batch gives the same rows
    wherever they are, and nothing is drawn from the generator of the model.
    """
    if isinstance(X, RemoteRows):
        return X.take(_chosen(X.shape[0], most))[0]
    return to_host(_taken(X, _chosen_beside(X, most)))


def some_weighted_rows(X: Points, weight: Array, most: int) -> tuple[Points, Array]:
    """Return the same rows and what they count; those elsewhere have their weights with them."""
    return ordered_rows(X, weight, most)()


def ordered_rows(X: Points, weight: Array, most: int) -> Callable[[], tuple[Points, Array]]:
    """Ask for the same rows, if they are elsewhere; returns what gives them."""
    rows = _chosen(X.shape[0], most)
    if isinstance(X, RemoteRows):
        return X.order(rows)
    if is_tensor(X):  # a device takes them now, and they come when they are needed
        some = X[_chosen_beside(X, most)]
        return lambda: (to_host(some), np.ascontiguousarray(weight[rows]))
    return lambda: (_taken(X, rows), np.ascontiguousarray(weight[rows]))


def _taken(X: Points, rows: Any) -> Points:
    """Return some rows, or those of a slice."""
    whole = isinstance(rows, slice) or not isinstance(X, np.ndarray)
    return X[rows] if whole else taken(X, rows)


def _chosen_beside(X: Points, most: int) -> Any:
    """Return the places of so many rows at most, on the device of a tensor."""
    n = X.shape[0]
    return _chosen_on(X.device, n, most) if is_tensor(X) else _chosen(n, most)


@lru_cache(maxsize=8)
def _chosen_on(device: Any, n: int, most: int) -> Any:
    """Return places that are on a device: to take them there takes longer than to take rows."""
    return on_device(_chosen(n, most), device)


@lru_cache(maxsize=8)
def _chosen(n: int, most: int) -> Any:
    """Return the places of so many of n rows at most, in order; all of them as a slice."""
    if n <= most:
        return slice(None)
    rows = (_one_of_each(most) * (n / most)).astype(np.int64)
    return np.minimum(rows, n - 1)


@lru_cache(maxsize=8)
def _one_of_each(most: int) -> Array:
    """Return a number between i and i + 1 for each i below so many."""
    return np.arange(most) + np.random.default_rng(0).random(most)


def load_rows(engine: Engine, family: Family, X: Points, weight: Array, batch: int) -> None:
    """Give an engine the rows of a batch."""
    engine.load(family, as_computed(family, X, batch), weight)


def as_computed(family: Family, X: Points, batch: int) -> Points:
    """Return rows as a family computes with them: narrowed, coarse numbers within their cells."""
    X = as_given(family, X)
    if family.rounding is not None:
        remote = isinstance(X, RemoteRows)
        X = X.unrounded(family, batch) if remote else family.rounding.spread(to_host(X), batch)
    return X


def as_given(family: Family, X: Points) -> Points:
    """Return rows as a family computes with them, but coarse numbers as they are."""
    if family.space is None:
        return X
    return X.narrowed(family) if isinstance(X, RemoteRows) else narrowed(family, to_host(X))
