"""Compiled kernel that describes rows of many columns by a few coordinates."""

from __future__ import annotations

from typing import Any

from scstream.kernels.compiling import bare


@bare
def coordinates(X: Any, centre: Any, unit: Any, basis: Any, out: Any, left: Any) -> None:
    """Fill coordinates (n, q) of rows (n, w) along a basis (w, q) of orthogonal unit vectors.

    The rows are taken from their centre and in units (w,). ``left`` (n,) becomes the squared
    length of what the coordinates leave of a row. A row is summed up by itself, in one order.
    """
    n, w = X.shape
    q = basis.shape[1]
    for r in range(n):
        z = out[r]
        square = 0.0
        for j in range(q):
            z[j] = 0.0
        for i in range(w):
            y = (X[r, i] - centre[i]) / unit[i]
            square += y * y
            for j in range(q):
                z[j] += y * basis[i, j]
        for j in range(q):
            square -= z[j] * z[j]
        left[r] = max(square, 0.0)
