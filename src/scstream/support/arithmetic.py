"""Floating-point arithmetic under NumPy's own settings, whatever those of the caller are."""

from __future__ import annotations

import numpy as np

# A probability too small for a double is 0, and any product may underflow: a caller who has
# np.errstate(all="raise") set, to find mistakes of his own, must not find these.
numpy_defaults = np.errstate(divide="warn", over="warn", under="ignore", invalid="warn")
