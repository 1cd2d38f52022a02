"""The rows of a batch that its seams are looked for in, a bounded number of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scstream.engines import RemoteRows
from scstream.engines.tensors import to_host
from scstream.groups.near import Rows
from scstream.groups.shapes import Shapes
from scstream.sampler.recipe import Batch
from scstream.sampler.rules import Rules

_FAR = 9.0  # squared deviations a column: what is farther is not measured


def rows_of(batch: Batch, labels: Any, most: int) -> Rows | None:
    """Return some rows of a batch and their clusters' ids; None where rows are sparse.

    They may be those of the batch itself. Rows without weight do not count. Rows and labels that
    are elsewhere are fetched.
    """
    X: Any = batch.X
    if not (batch.even and type(X) is np.ndarray):
        X, labels = _here(batch, labels, most)
        if sparse.issparse(X):
            return None
    if len(X) > most:
        chosen = _spread(len(X), most)
        X, labels = X[chosen], labels[chosen]
    return (np.ascontiguousarray(X, dtype=np.float64), np.ascontiguousarray(labels, dtype=np.int64))


def _here(batch: Batch, labels: Any, most: int) -> tuple[Any, Any]:
    """Return rows that have weight, and their labels, on this machine; of those elsewhere, some."""
    X: Any = batch.X
    if isinstance(X, RemoteRows):
        chosen = _spread(X.shape[0], most)
        return X.take(chosen)[0], X.here(labels[chosen])
    if not batch.even:
        counts = to_host(batch.weight) > 0
        if not counts.all():
            X, labels = X[counts], labels[counts]
    if not sparse.issparse(X) and X.shape[0] > most:  # before they leave a device
        chosen = _spread(X.shape[0], most)
        X, labels = X[chosen], labels[chosen]
    return to_host(X), to_host(labels)


def together(parts: tuple[Rows, ...], d: int) -> Rows:
    """Return the rows of several batches of d columns as one."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return np.empty((0, d)), np.empty(0, dtype=np.int64)
    return np.concatenate([X for X, _ in parts]), np.concatenate([z for _, z in parts])


def in_chunks(parts: tuple[Rows, ...], most: int) -> tuple[Rows, ...]:
    """Return the rows of successive batches put together, as long as there are at most so many."""
    out: list[Rows] = []
    first, n = 0, 0
    for i, (X, _) in enumerate(parts):
        if i > first and n + len(X) > most:
            out.append(together(parts[first:i], X.shape[1]))
            first, n = i, 0
        n += len(X)
    return (*out, together(parts[first:], parts[0][0].shape[1])) if parts else ()


def fresh(parts: tuple[Rows, ...], shapes: Shapes, rules: Rules) -> tuple[Rows, ...]:
    """Return the latest rows, as far back as they are about as near to their clusters.

    Rows that were collected to be looked at together are all fresh.
    """
    if sum(len(X) for X, _ in parts) <= rules.group_chunk:
        return parts
    parts = in_chunks(parts, rules.group_chunk // 2)
    if len(parts) < 2:
        return parts
    inverse = np.linalg.pinv(shapes.cov, hermitian=True)
    place = {i: j for j, i in enumerate(shapes.ids.tolist())}
    least, first = np.inf, len(parts)
    for X, labels in reversed(parts):
        z = np.array([place.get(i, -1) for i in labels.tolist()])
        off = (X[z >= 0] - shapes.frame[0]) / shapes.frame[1] - shapes.mean[z[z >= 0]]
        far = np.einsum("ni,nij,nj->n", off, inverse[z[z >= 0]], off) / X.shape[1]
        distance = float(np.minimum(far[np.isfinite(far)], _FAR).mean()) if len(far) else np.inf
        if distance > least + rules.group_stale:
            break
        least, first = min(least, distance), first - 1
    return parts[first:]


def _spread(n: int, most: int) -> NDArray[np.int64]:
    """Return the places of at most so many of n rows, at even distances."""
    return np.arange(n) if n <= most else np.arange(most) * n // most
