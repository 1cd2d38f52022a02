"""Memory for passes over rows of few columns, here and on the device, by the number of clusters."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from scstream.engines.base import Key
from scstream.engines.torch.batch import Batch
from scstream.engines.torch.forms import Forms, laid_out
from scstream.engines.torch.passes import Pass, Recorded, copies, empty_tables, grid
from scstream.engines.torch.staging import both_sides, bytes_for, lay_out
from scstream.families.contract import Array, GaussianPrior
from scstream.families.packed import upper
from scstream.families.scores import Labels

_TILE, _SUMS = 256, 2**13  # sub-clusters, and sums, of a program that sums, at most
_ROWS, _FIXED = 9, 10  # where rows that come, and the unit of doubts, are among the words
_NAMING = 4  # words for those who read names


class Workspace:
    """Memory for passes over up to ``size`` clusters, here and there, and the launches recorded.

    Attributes
    ----------
    tile, padded : int
        Sub-clusters of a program that sums, a power of two; and all that there are places for.
    there : list of Tensor
        Words, pairs, centres, numbers, rank, names and prior, see `few_kernels`.
    naming, ids : Tensor
        Words for those who read names, and what these stand for.
    flaw : Tensor
        Is 1 if rows that came with the last sweep hold something that is not finite.
    """

    def __init__(
        self, size: int, d: int, p: int, columns: int, groups: int, device: torch.device
    ) -> None:
        self.size, self._d, self._p, self._columns = size, d, p, columns
        self.tile = min(_TILE, _SUMS // columns, 1 << (2 * size - 1).bit_length())
        self.padded = grid(2 * size, self.tile) * self.tile  # places for sub-clusters
        width = d + 2 + p
        shapes = (
            ((16,), "i8"), ((2 * size * width,), "f4"), ((size * d,), "f4"),
            ((size * width,), "f4"), ((size,), "i4"), ((4 * size,), "i4"), ((p + 2,), "f8"),
        )  # fmt: skip
        self._here, self._there = both_sides(bytes_for(shapes), device)
        arrays, self.there = lay_out(shapes, self._here, self._there)
        self._words, self._pairs, self._centre, self._numbers, self._rank, *rest = arrays
        self._names, self._prior = rest
        here, self._naming_there = both_sides(8 * _NAMING + 32 * size, device)
        self._naming_here, there = here, self._naming_there.view(torch.int64)
        self._naming, self._ids = np.split(here.view(torch.int64).numpy(), [_NAMING])
        self.naming, self.ids = there[:_NAMING], there[_NAMING:]
        self._unsigned = self._words.view(np.uint64)
        self._unit = self._words[_FIXED : _FIXED + 1].view(np.float64)
        self.fixed = self.there[0][_FIXED : _FIXED + 1].view(torch.float64)
        self.partial = torch.empty(groups * self.padded * columns, device=device)
        self.tables = empty_tables(size, device)
        numbers = self.padded * columns + 2 * size * size + 1
        self.out = torch.zeros(numbers, dtype=torch.float64, device=device)
        self._back = torch.empty(self.out.shape, dtype=torch.float64, pin_memory=True)
        self.values = self._back.numpy()
        self.status, self.flaw = self.out[self.padded * columns :], self.out[-1:]
        self.least = torch.empty((2, size), dtype=torch.int64, device=device)
        self.recorded: dict[tuple[Any, ...], Recorded] = {}

    def say(
        self, key: Key | None, batch: Batch, n_all: int, k: int, *, rename: bool = False
    ) -> None:
        """Fill in the words, and the new names of labels if they are to be taken."""
        names = batch.names if rename else None
        of_key = (0, 0, 0) if key is None else (key.seed, key.sweep, key.batch)
        sizes = batch.first_row, batch.n, n_all, k, copies(k), names is not None
        self._unsigned[:9] = *of_key, *sizes
        self._unit[0] = batch.unit
        if names is not None:
            self._names[: names.size] = names.ravel()

    def come(self, rows: Tensor) -> None:
        """Say where rows are that the next sweep takes in."""
        self._words[_ROWS] = rows.data_ptr()

    def flawed(self) -> bool:
        """Whether rows that were taken in have a flaw; the next ones have none so far."""
        found = bool(self.values[-1])
        if found:
            self.flaw.zero_()
        return found

    def components(self, score: Forms, sub: Forms) -> None:
        """Fill in the components of a sweep, and the pairs of all clusters."""
        numbers, centre = laid_out(score, places(len(score.eta)), self._d)
        self._numbers[: numbers.size] = numbers.ravel()
        self._centre[: centre.size] = centre.ravel()
        pairs, _ = laid_out(sub, places(len(sub.eta)), self._d)
        self._pairs[: pairs.size] = pairs.T.ravel()

    def trial(self, sub: Forms, which: NDArray[np.int64], sums: Array) -> None:
        """Fill in the pairs of some clusters, with all clusters' first sums (k, 2, 1 + d)."""
        pairs, _ = laid_out(sub, np.column_stack([2 * which, 2 * which + 1]).ravel(), self._d)
        self._pairs[: pairs.size] = pairs.T.ravel()
        whole = sums[which].sum(axis=1)
        n = whole[:, :1]
        centre = np.where(n > 1e-9, whole[:, 1:] / np.maximum(n, 1e-9), 0.0)
        self._centre[: centre.size] = centre.ravel()
        self._rank[: len(sums)] = 0
        self._rank[which] = np.arange(1, len(which) + 1)

    def predicted(self, prior: GaussianPrior, alpha: float) -> None:
        """Fill in what predictives are made of."""
        self._prior[:-2], self._prior[-2], self._prior[-1] = prior.row, prior.more, 0.5 * alpha

    def call(
        self, names: NDArray[np.int32], ids: Labels, first: int, n: int, to: tuple[Tensor, Tensor]
    ) -> None:
        """Fill in what names stand for, and where n rows' from the first on are wanted."""
        of_names = np.where(names >= 0, 2 * ids[names >> 1] + (names & 1), -2)
        self._ids[: names.size] = of_names.ravel()
        self._naming[:] = first, n, to[0].data_ptr(), to[1].data_ptr()

    def send_names(self) -> None:
        """Take to the device what was filled in about names."""
        self._naming_there.copy_(self._naming_here, non_blocking=True)

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

    def read(self, which: NDArray[np.int64], k: int, *, tables: bool = False) -> Pass:
        """Return what has come from the device about some of k clusters."""
        done = Pass(np.zeros((k, 2, self._p)), np.zeros((k, 2), dtype=np.int64), np.zeros(k))
        size, p = 2 * len(which) * self._columns, self._p
        found = self.values[:size].reshape(len(which), 2, self._columns)
        done.current[which], done.rows[which] = found[..., :p], found[..., p]
        done.own[which] = found[..., p + 1].sum(axis=1)
        if tables:
            both = self.values[self.padded * self._columns :]
            rivals, between = both[: 2 * k * k].reshape(2, k, k)
            done.rivals, done.doubt = rivals.astype(np.int64), between + between.T
            np.fill_diagonal(done.doubt, done.own)
        return done

    def points(self, k: int, n: int) -> Array:
        """Return the statistics (k, p) of rows that have come, 0 where there is no row."""
        row, col = upper(self._d)
        found = self.values[: k * (1 + self._d)].reshape(k, 1 + self._d)
        x = found[:, 1:]
        out = np.concatenate([np.ones((k, 1)), x, x[:, row] * x[:, col]], axis=1)
        return np.where(found[:, :1] < n, out, 0.0)


@lru_cache
def places(k: int) -> NDArray[np.int64]:
    """Return the places of k clusters or forms, which nobody changes."""
    return np.arange(k)
