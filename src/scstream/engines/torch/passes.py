"""What passes by fused kernels on a GPU share: what they return, memory there, and launches."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from scstream.engines.base import Key
from scstream.engines.torch import triton as kernels
from scstream.engines.torch.batch import Batch
from scstream.engines.torch.staging import Courier, words_of
from scstream.families.contract import Array

_ROW_BLOCK = 1024  # rows of a program that does little with each
_TABLES = 2**15  # entries of all copies of a table
_Method = TypeVar("_Method", bound=Callable[..., Any])


@dataclass
class Pass:
    """What a data pass returns about k clusters, on the host.

    Attributes
    ----------
    current : ndarray (k, 2, p)
    rows : ndarray (k, 2)
    own : ndarray (k,)
        The doubts of the sub-labels.
    rivals, doubt : ndarray (k, k) or None
        Of a sweep, see `Sums`.
    """

    current: Array
    rows: NDArray[np.int64]
    own: Array
    rivals: NDArray[np.int64] | None = None
    doubt: Array | None = None

    def with_tables(self, rivals: NDArray[np.int64], between: Array) -> Pass:
        """Return that of a sweep, whose labels' doubts were summed on the side of the first."""
        self.rivals, self.doubt = rivals, between + between.T
        np.fill_diagonal(self.doubt, self.own)
        return self


class Aside(list[Callable[[], None]]):
    """Jobs for the host, for when the device is at work."""

    def do(self) -> None:
        """Do them all, once."""
        while self:
            self.pop(0)()


class Scratch:
    """Memory on the device that one pass leaves to the next, by name."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._kept: dict[str, Tensor] = {}
        self._tables: dict[int, tuple[Tensor, Tensor]] = {}

    def take(self, name: str, size: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """Return memory for ``size`` numbers; what they are is left open."""
        kept = self._kept.get(name)
        if kept is None or len(kept) < size:
            kept = self._kept[name] = torch.empty(size, dtype=dtype, device=self._device)
        return kept[:size]

    def tables(self, k: int) -> tuple[Tensor, Tensor]:
        """Return all copies of two empty tables (k, k); whoever reads them empties them."""
        if k not in self._tables:
            self._tables = {k: empty_tables(k, self._device)}
        return self._tables[k]


class Recorded:
    """A sequence of launches that is always the same: recorded once, then launched as one.

    The host needs longer for a handful of launches than the device for what they do.

    Parameters
    ----------
    device : torch.device
    launch : callable
        Launches on the current stream, between fixed places in memory.
    """

    def __init__(self, device: torch.device, launch: Callable[[], None]) -> None:
        self._device, self._launch = device, launch
        self._graph: torch.cuda.CUDAGraph | None = None
        self._compiled = False

    def run(self) -> None:
        """Launch it."""
        if self._graph is not None:
            self._graph.replay()
            return
        with torch.cuda.device(self._device):
            if self._compiled:
                self._graph = self._record()
                self._graph.replay()
            else:  # kernels are compiled on the way, which nothing may be recorded of
                self._launch()
                self._compiled = True

    def _record(self) -> torch.cuda.CUDAGraph:
        graph = torch.cuda.CUDAGraph()
        new_stream: Any = torch.cuda.Stream  # PyTorch is not all typed
        aside = new_stream()
        collects = gc.isenabled()
        gc.disable()  # an older recording that is thrown away meanwhile would spoil this one
        try:
            with torch.cuda.stream(aside):
                graph.capture_begin(capture_error_mode="thread_local")
                try:
                    self._launch()
                finally:
                    graph.capture_end()
        finally:
            if collects:
                gc.enable()
        return graph


def on_its_device(method: _Method) -> _Method:
    """Let a method of passes run with their device as the current one."""

    @wraps(method)
    def run(self: Any, *args: Any) -> Any:
        with torch.cuda.device(self.device.index):
            return method(self, *args)

    return cast(_Method, run)


def copies(k: int) -> int:
    """Return how many copies of a (k, k) table keep rows from waiting for one another."""
    return max(1, min(256, _TABLES // (k * k)))


def empty_tables(k: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return two tables, with all their copies, for up to k clusters: counts, fixed-point sums."""
    size = max(_TABLES, k * k)
    return (
        torch.zeros(size, dtype=torch.int32, device=device),
        torch.zeros(size, dtype=torch.int64, device=device),
    )


def grid(n: int, block: int) -> int:
    """Return how many blocks hold n."""
    return -(-n // block)


def rounded(n: int, step: int) -> int:
    """Return a multiple of a step that is at least n, and not many different ones."""
    step = max(step, 1 << max(n.bit_length() - 5, 0))
    return grid(n, step) * step


def least_rows(key: Key, k: int, batch: Batch, courier: Courier) -> Tensor:
    """Return the row with the least random number of each cluster (k,), n or more if none."""
    courier.room(((4,), "i8"))[0][:] = words_of(key, batch)
    (words,) = courier.send()
    least, row = torch.full((2, -(-k // 2) * 2), 2**62, device=batch.z.device).unbind()
    programs = (grid(batch.n, _ROW_BLOCK),)
    kernels.least_bits[programs](words, batch.z, least, batch.n, block=_ROW_BLOCK)
    kernels.least_row[programs](words, batch.z, least, row, batch.n, block=_ROW_BLOCK)
    return row[:k]
