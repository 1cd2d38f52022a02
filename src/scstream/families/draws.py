"""Draws that several families share."""

from __future__ import annotations

import numpy as np

from scstream.families.scores import Array


def log_gammas(rng: np.random.Generator, shape: Array) -> Array:
    """Draw logarithms of gamma variates, which do not underflow for small shapes.

    ``log G(a) = log G(a + 1) + log(U) / a``.
    """
    out: Array = np.log(rng.standard_gamma(shape + 1.0))
    out += np.log1p(-rng.random(shape.shape)) / shape
    return out
