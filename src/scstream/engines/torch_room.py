"""Memory for passes over rows of few columns, here and on the device, by the number of clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from scstream.engines.base import Key
from scstream.engines.torch_batch import Batch
from scstream.engines.torch_passes import (
    Pass,
    Recorded,
    both_sides,
    copies,
    empty_tables,
    grid,
    lay_out,
    room_for,
    words_of,
)

TILE = 64  # sub-clusters of a program that sums
_FIXED = 10  # where the unit of doubts is among the words


class Room:
    """Memory for passes over up to ``size`` clusters, here and there, and the launches recorded.

    Attributes
    ----------
    there : list of Tensor
        Words, pairs, centres, numbers, rank, names, prior and ids, see `torch_few_kernels`.
    """

    def __init__(
        self, size: int, d: int, p: int, columns: int, groups: int, device: torch.device
    ) -> None:
        self.size, self._d, self._columns = size, d, columns
        self.padded = grid(2 * size, TILE) * TILE  # places for sub-clusters
        self._width = width = d + 2 + p
        shapes = (
            ((16,), "i8"), ((2 * size * width,), "f4"), ((size * d,), "f4"),
            ((size * width,), "f4"), ((size,), "i4"), ((4 * size,), "i4"), ((p + 2,), "f8"),
            ((4 * size,), "i8"),
        )  # fmt: skip
        self._here, self._there = both_sides(room_for(shapes), device)
        arrays, self.there = lay_out(shapes, self._here, self._there)
        self._words, self._pairs, self._centre, self._numbers, self.rank, *rest = arrays
        self._names, self.prior, self.ids = rest
        self.fixed = self.there[0][_FIXED : _FIXED + 1].view(torch.float64)
        self.partial = torch.empty(groups * self.padded * columns, device=device)
        self.tables = empty_tables(size, device)
        numbers = self.padded * columns + 2 * size * size
        self.out = torch.empty(numbers, dtype=torch.float64, device=device)
        self._back = torch.empty(self.out.shape, dtype=torch.float64, pin_memory=True)
        self.values = self._back.numpy()
        self.status = self.out[self.padded * columns :]
        self.least = torch.empty((2, size), dtype=torch.int64, device=device)
        self.recorded: dict[tuple[Any, ...], Recorded] = {}

    def say(
        self, key: Key | None, batch: Batch, n_all: int, k: int, *, rename: bool = False
    ) -> None:
        """Fill in the words, and the new names of labels if they are to be taken."""
        self._words[:4] = words_of(key, batch)
        self._words[4:9] = batch.n, n_all, k, copies(k), rename and batch.n_names > 0
        self._words[_FIXED : _FIXED + 1].view(np.float64)[0] = batch.unit
        if rename and batch.names is not None:
            self._names[: batch.names.size] = batch.names.ravel()

    def numbers(self, k: int) -> NDArray[np.float32]:
        """Return the place for components, (k, width)."""
        return self._numbers[: k * self._width].reshape(k, self._width)

    def pairs(self, k: int) -> NDArray[np.float32]:
        """Return the place for pairs of components, (width, 2 k)."""
        return self._pairs[: 2 * k * self._width].reshape(self._width, 2 * k)

    def centres(self, k: int) -> NDArray[np.float32]:
        """Return the place for centres, (k, d)."""
        return self._centre[: k * self._d].reshape(k, self._d)

    def send(self) -> None:
        """Take to the device what was filled in."""
        self._there.copy_(self._here, non_blocking=True)

    def fetch(self, size: int) -> None:
        """Bring so many numbers from the device."""
        self._back[:size].copy_(self.out[:size], non_blocking=True)

    def failed(self, k: int, rounds: int) -> bool:
        """Whether the scatter of some part of k clusters failed in some round."""
        status = self.values[self.padded * self._columns :][: rounds * self.padded]
        return bool(status.reshape(rounds, self.padded)[:, : 2 * k].any())

    def read(self, k: int, p: int, *, tables: bool) -> Pass:
        """Return what has come from the device."""
        size = 2 * k * self._columns
        sums = self.values[:size].reshape(k, 2, self._columns)
        done = Pass(
            sums[..., :p].copy(), sums[..., p].astype(np.int64), sums[..., p + 1].sum(axis=1)
        )
        if tables:
            both = self.values[self.padded * self._columns :][: 2 * k * k].reshape(2, k, k)
            done.rivals, done.between = both[0].astype(np.int64), both[1].copy()
        return done
