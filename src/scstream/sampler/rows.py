"""The rows of a batch, wherever they are: some of them, and how an engine gets them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scstream.engines import Engine, RemoteRows
from scstream.engines.tensors import to_host
from scstream.families import Family
from scstream.families.contract import Array
from scstream.families.scores import Points


def some_rows(X: Points, most: int) -> tuple[Points, NDArray[np.int64] | slice]:
    """Return so many rows of a batch at most, one of each of equal strata, and which they are.

    Which row of a stratum depends on nothing but the number of rows: a batch gives the same rows
    wherever they are, and nothing is drawn from the generator of the model.
    """
    n = X.shape[0]
    remote = isinstance(X, RemoteRows)
    if n <= most:
        return (X.take(np.arange(n)) if remote else to_host(X)), slice(None)
    within = np.random.default_rng(0).random(most)
    rows = ((np.arange(most) + within) * (n / most)).astype(np.int64)
    rows = np.minimum(rows, n - 1)
    return (X.take(rows) if remote else to_host(X[rows])), rows


def load_rows(engine: Engine, family: Family, X: Points, weight: Array, batch: int) -> None:
    """Give an engine the rows of a batch: narrowed, coarse numbers at places within their cells."""
    if family.narrows:
        X = X.narrowed(family) if isinstance(X, RemoteRows) else family.narrowed(to_host(X))
    if family.is_coarse():
        remote = isinstance(X, RemoteRows)
        X = X.unrounded(family, batch) if remote else family.unrounded(to_host(X), batch)
    engine.load(family, X, weight)
