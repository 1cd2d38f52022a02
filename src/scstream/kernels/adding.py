"""Sums of two large arrays, on threads that wait in compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from scstream.kernels.atomic import claim
from scstream.kernels.compiling import bare, part
from scstream.kernels.crew import Crew, crew_of, on_threads
from scstream.support.memory import for_kernels
from scstream.support.threads import paying, threads_allowed

Floats = NDArray[np.float64]
_PIECE = 2**14  # numbers that a thread adds up at a time


def added(a: Floats, b: Floats, out: Floats | None = None) -> Floats:
    """Return the sum of two arrays (k, ...), shared among the threads allowed if they are large."""
    threads = paying(a.size, threads_allowed())
    given = (a, b) if out is None else (a, b, out)
    if threads < 2 or not all(map(_in_pieces, given)):
        return np.add(a, b, out=out)
    total = np.empty(a.shape) if out is None else out
    arrays = a, b, total
    whole = all(x.flags.c_contiguous for x in arrays)
    m = _PIECE if whole else a.size // len(a)
    steps = tuple(m if whole else x.strides[0] // x.itemsize for x in arrays)
    pieces = -(-a.size // m) if whole else len(a)
    sizes = (a.size if whole else (pieces - 1) * step + m for step in steps)
    lines = tuple(
        as_strided(for_kernels(x), (size,), (x.itemsize,))
        for x, size in zip(arrays, sizes, strict=True)
    )
    with crew_of(threads) as crew:
        add_lines(crew, (pieces, m), lines, steps, np.zeros(1, dtype=np.int64))
    return total


def _in_pieces(array: Floats) -> bool:
    """Whether kernels take an array (k, ...): what belongs to a row of it lies in one piece."""
    row = array[0]
    apart = array.strides[0] >= row.nbytes  # not one row for all, nor from last to first
    return array.dtype == np.float64 and apart and bool(row.flags.c_contiguous)


@bare
def add_lines(crew: Crew, shape: Any, lines: Any, steps: Any, taken: Any) -> None:
    """Add up k pieces of m numbers, of which the last may have fewer.

    Of both arrays and of their sum there are lines (.,), and how far pieces are apart. How many are
    ``taken`` is counted there from 0.
    """
    on_threads(crew, _add_share, (crew, shape, lines, steps, taken))


@part
def _add_share(thread: int, given: Any) -> None:
    _, (k, m), (a, b, out), steps, taken = given
    piece = claim(taken, 0)
    while piece < k:
        one, other, to = a[piece * steps[0] :], b[piece * steps[1] :], out[piece * steps[2] :]
        for q in range(min(m, len(to))):
            to[q] = one[q] + other[q]
        piece = claim(taken, 0)
