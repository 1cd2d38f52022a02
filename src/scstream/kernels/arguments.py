"""What kernels are handed: arrays, and named tuples of those that belong together.

Tuples that come from Python are plain, since numba takes a microsecond to look at a named one. A
kernel names their entries, which costs nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
Int = int | np.int64
Real = float | np.float64 | np.float32


class Prior(NamedTuple):
    """A normal-inverse-Wishart prior: its row (p,), nu - kappa, its log-normaliser, and d."""

    row: Floats
    more: float
    log_normaliser: float
    columns: int


class Rows(NamedTuple):
    """Rows of a batch: points or statistics, weights (n,), labels and sub-labels (n,)."""

    T: Floats
    weight: Floats
    label: Ints
    sublabel: Ints


class Sums(NamedTuple):
    """What `scstream.engines.Sums` has."""

    current: Floats
    rows: Ints
    rivals: Ints
    doubt: Floats


class Division(NamedTuple):
    """Sums (k, 2, p) of sub-clusters, and doubts: (k, k), or (k,) of the sub-labels alone."""

    sums: Floats
    doubt: Floats


class Ratio(NamedTuple):
    """What makes up the ratio of a split: see `scstream.sampler.rules` for the last two."""

    alpha: float
    least: float
    doubt: float


class Margins(NamedTuple):
    """What moves must win besides, see `scstream.sampler.rules`.

    A merge must win a step for every batch lived, and so much at most; a split a share of the doubt
    about its edges, less some nats. No greedy split is made of so many rows in such doubt.
    """

    step: float
    most: float
    edges: float
    free: float
    rows: int
    doubt: float


class Levels(NamedTuple):
    """Log marginals of the parts (k, 2) and wholes (k,) of clusters."""

    each: Floats
    whole: Floats


class Scores(NamedTuple):
    """Scores of rows T: ``T @ eta``, or ``const - power log(T @ eta)``.

    Parameters are (k, p), the others (k,).
    """

    eta: Floats
    const: Floats
    power: Floats
