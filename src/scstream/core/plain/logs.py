"""Logarithms of quadratic forms of single columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scstream.core import Floats, Ints


def subtract_logs(
    T: Floats, forms: tuple[Floats, Floats, Floats, Floats], z: Ints, out: Floats
) -> None:
    """Subtract logarithms of forms from scores."""
    own = slice(None) if len(z) == 0 else np.column_stack([2 * z, 2 * z + 1])
    a, b, c, power = (part[own] for part in forms)
    d = a.shape[-1]
    for j in range(d):  # what is seen, x and y
        seen, x, y = (T[:, 1 + j + i * d, None] for i in range(3))
        form = np.where(seen > 0.0, a[..., j] + b[..., j] * x + c[..., j] * y, 1.0)
        out -= power[..., j] * np.log(np.maximum(form, 1.0))
