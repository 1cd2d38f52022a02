"""Rows of data in a checkpoint, dense or compressed."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from scstream.checkpoint.values import Node, Packer
from scstream.families.count_rows import CompressedRows
from scstream.families.scores import Points


def pack_rows(X: Points, packer: Packer) -> Any:
    """Return rows as a checkpoint holds them."""
    if not sparse.issparse(X):
        return packer.array(np.asarray(X))
    return {
        "data": packer.array(X.data),
        "indices": packer.array(X.indices),
        "indptr": packer.array(X.indptr),
    }


def unpack_rows(node: Node, n: int | None, d: int) -> Points:
    """Return the entry ``rows``, (n, d); however many where n is None."""
    if isinstance(node.get("rows"), dict):
        return _unpack_csr(node.node("rows"), n, d)
    X = node.at(node.get("rows"), "rows")
    if X.dtype != np.float64 or X.ndim != 2 or X.shape[1] != d or n not in (None, len(X)):
        raise node.fail("rows", f"an array {X.dtype} {X.shape}")
    return X


def _unpack_csr(node: Node, n: int | None, d: int) -> Points:
    """Return compressed rows, every index of which is known to lie within."""
    data = node.array("data", float, None)
    kind = np.int32 if node.at(node.get("indices"), "indices").dtype == np.int32 else np.int64
    indices = node.array("indices", kind, len(data))
    indptr = node.array("indptr", kind, None if n is None else n + 1)
    fits = len(indptr) > 0 and indptr[0] == 0 and indptr[-1] == len(data)
    if not fits or np.any(np.diff(indptr) < 0) or np.any((indices < 0) | (indices >= d)):
        raise node.fail("indices", "not a valid sparse matrix")
    X = CompressedRows((data, indices, indptr), shape=(len(indptr) - 1, d))
    if not X.has_canonical_format:
        raise node.fail("indices", "not in order")
    return X
