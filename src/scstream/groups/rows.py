"""The rows in which boundaries between clusters are looked for: a bounded number of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scstream.engines import RemoteRows
from scstream.engines.tensors import to_host
from scstream.families.scores import Points
from scstream.sampler.recipe import Batch
from scstream.sampler.rules import Rules


def most_rows(d: int, rules: Rules) -> int:
    """Return how many rows of d columns are looked at together, at most."""
    return min(rules.group_rows, max(rules.group_numbers // d, 1))


def rows_of(batch: Batch, labels: Any, near: NDArray[np.int64], most: int) -> Points:
    """Return some rows of a batch, evenly spread, that have weight and one of the labels ``near``.

    Rows on other machines or on a device are fetched.
    """
    X: Any = batch.X
    n = X.shape[0]
    chosen = np.arange(n) if n <= most else np.arange(most) * n // most
    if isinstance(X, RemoteRows):
        X, labels = X.take(chosen)[0], X.here(labels[chosen])
    elif n > most:  # before they leave a device
        X, labels = X[chosen], labels[chosen]
    some = np.isin(to_host(labels), near)
    if not batch.even and not isinstance(batch.X, RemoteRows):
        some &= to_host(batch.weight)[chosen] > 0
    X = to_host(X)[some]
    return X if sparse.issparse(X) else np.ascontiguousarray(X, dtype=np.float64)


def together(parts: tuple[Points, ...]) -> Points:
    """Return the rows of several batches as one."""
    if len(parts) == 1:
        return parts[0]
    if sparse.issparse(parts[0]):
        return sparse.csr_array(sparse.vstack(parts))
    return np.concatenate(parts)
