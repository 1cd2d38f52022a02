"""All that goes to the device, and comes back: one copy each way for every pass.

Everything a pass needs is laid out in memory here that the device reads by itself, and goes there
in one copy; everything it returns comes back in one. A copy costs more than most kernels here.
What a pass over rows of few columns sends and reads is laid out by `workspace`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import accumulate
from math import prod
from threading import Lock
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from scstream.engines.base import Key
from scstream.engines.torch.batch import Batch
from scstream.families.contract import Array
from scstream.families.scores import Labels
from scstream.support.threads import beside

UPLOAD = 2**27  # bytes of rows that are worth memory of their own on the way
_PIECE = 2**19  # numbers that go there at a time
_COPIERS = 4  # threads that copy them
_LAYOUTS = 256  # that a courier remembers
_DTYPES = {"f4": torch.float32, "f8": torch.float64, "i4": torch.int32, "i8": torch.int64}
Shape = tuple[tuple[int, ...], str]


class Courier:
    """Carries arrays to the device in one copy, and back."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._here = self._there = self._back = self._staged = torch.empty(0, dtype=torch.uint8)
        self._codes = torch.empty(0, dtype=torch.int32)
        self._staging = Lock()  # rows may come from several threads
        self._views: dict[Any, tuple[int, list[NDArray[Any]], list[Tensor]]] = {}
        self._packed: tuple[int, list[Tensor]] = 0, []

    def room(self, *shapes: Shape) -> list[NDArray[Any]]:
        """Return arrays of the given shapes and types, to be filled and then sent.

        What was sent before must have been waited for, as `fetch` does.
        """
        if shapes not in self._views:
            size = bytes_for(shapes)
            if len(self._here) < size or len(self._views) > _LAYOUTS:
                self._here, self._there = both_sides(max(2 * size, len(self._here)), self._device)
                self._views = {}
            self._views[shapes] = size, *lay_out(shapes, self._here, self._there)
        size, arrays, tensors = self._views[shapes]
        self._packed = size, tensors
        return arrays

    def send(self) -> list[Tensor]:
        """Return what was filled in, on the device, until there is room for the next."""
        size, tensors = self._packed
        self._there[:size].copy_(self._here[:size], non_blocking=True)
        return tensors

    def upload(self, rows: NDArray[Any]) -> Tensor:
        """Return rows on the device: through memory that the device reads by itself, by pieces."""
        values = torch.from_numpy(np.ascontiguousarray(rows))
        if values.nbytes > UPLOAD:
            return values.to(self._device)
        there = torch.empty(values.shape, dtype=values.dtype, device=self._device)
        with self._staging, few_threads():
            torch.cuda.current_stream(self._device.index).synchronize()  # a copy may be under way
            if len(self._staged) < values.nbytes:
                self._staged = torch.empty(values.nbytes, dtype=torch.uint8, pin_memory=True)
            here = self._staged[: values.nbytes].view(values.dtype)
            pieces = (part.view(-1).split(_PIECE) for part in (values, here, there))
            for given, staged, to in zip(*pieces, strict=True):
                to.copy_(staged.copy_(given), non_blocking=True)
        return there

    def bring_codes(self, codes: Tensor) -> Callable[[], tuple[Labels, Labels]]:
        """Start to bring codes (n,), twice an id plus a sub-label; gives ids and sub-labels."""
        n = len(codes)
        if len(self._codes) < n:
            self._codes = torch.empty(n, dtype=torch.int32, pin_memory=True)
        here = self._codes[:n].copy_(codes, non_blocking=True)
        event: Any = torch.cuda.Event  # PyTorch is not all typed
        arrived = event()
        arrived.record(torch.cuda.current_stream(self._device.index))

        def read() -> tuple[Labels, Labels]:
            arrived.synchronize()
            both = here.numpy().astype(np.int64)
            return both >> 1, both & 1

        return beside(read)

    def fetch(self, values: Tensor) -> Array:
        """Return float64 values from the device, once they are there."""
        size = values.numel()
        if len(self._back) < size:
            self._back = torch.empty(2 * size, dtype=torch.float64, pin_memory=True)
        out: Array = self._back[:size].copy_(values).numpy().copy()
        return out


@contextmanager
def few_threads() -> Iterator[None]:
    """Let PyTorch copy with a few threads.

    For some milliseconds afterwards these wait for more to do and keep their cores busy. If that
    were all cores, threads of our own would wait for one as long.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(min(_COPIERS, before))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def bytes_for(shapes: tuple[Shape, ...]) -> int:
    """Return the bytes that arrays take, each from a round address on."""
    return sum(_bytes(shape, kind) for shape, kind in shapes)


def both_sides(size: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return so many bytes here, where the device can read them by itself, and there."""
    here = torch.zeros(size, dtype=torch.uint8, pin_memory=True)
    return here, torch.empty(size, dtype=torch.uint8, device=device)


def lay_out(
    shapes: tuple[Shape, ...], here: Tensor, there: Tensor
) -> tuple[list[NDArray[Any]], list[Tensor]]:
    """Return arrays in the memory here, and the same, flat, in the memory there."""
    ends = accumulate((_bytes(shape, kind) for shape, kind in shapes), initial=0)
    memory = here.numpy().data
    arrays, tensors = [], []
    for start, (shape, kind) in zip(ends, shapes, strict=False):
        arrays.append(np.ndarray(shape, kind, memory, start))
        size = prod(shape) * int(kind[1])
        tensors.append(there[start : start + size].view(_DTYPES[kind]))
    return arrays, tensors


def _bytes(shape: tuple[int, ...], kind: str) -> int:
    return -(-prod(shape) * int(kind[1]) // 256) * 256


def words_of(key: Key | None, batch: Batch, *more: int) -> NDArray[np.int64]:
    """Return what draws are keyed by, and more, as the kernels read it."""
    of_key = (0, 0, 0) if key is None else (key.seed, key.sweep, key.batch)
    return np.array([*of_key, batch.first_row, *more], dtype=np.uint64).view(np.int64)
