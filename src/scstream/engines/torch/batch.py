"""A batch's labels and weights on a device, and what every kind of pass does with them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from scstream.engines.base import Key
from scstream.engines.torch.draws import random_bits
from scstream.families.contract import Array
from scstream.families.scores import Labels


class Batch:
    """Labels, sub-labels, those last tried, and weights of n rows, all on one device.

    New names of labels wait until somebody looks: most passes can give them on the way, and a
    sweep has no use for them.

    Parameters
    ----------
    weight : ndarray (n,)
    first_row : int
        The number of the first row, by which draws are keyed.
    device : torch.device
    dtype : torch.dtype
    memory : tuple of Tensor, optional
        Weights, labels, sub-labels and those last tried (n,), if they are somewhere already.
    begin : callable, optional
        Must have been called before somebody looks at these.

    Attributes
    ----------
    unit : float
        A power of two: doubts are summed up in whole multiples of its inverse, so that their
        sum does not depend on the order. No doubt is larger than 37.
    version : int
        Changes whenever labels do.
    names : ndarray (k, 2, 2) or None
        Twice the new label plus the new sub-label, by old label, sub-label and sub-label last
        tried, if there are new ones.
    """

    def __init__(
        self, weight: Array, first_row: int, device: torch.device, dtype: torch.dtype,
        memory: tuple[Tensor, Tensor, Tensor, Tensor] | None = None,
        begin: Callable[[], None] | None = None,
    ) -> None:  # fmt: skip
        n = len(weight)
        self.n, self.first_row = n, first_row
        if memory is None:
            memory = (
                weights_there(weight, device, dtype),
                torch.full((n,), -1, dtype=torch.int32, device=device),
                torch.zeros(n, dtype=torch.int32, device=device),
                torch.zeros(n, dtype=torch.int32, device=device),
            )
        self._memory, self._begin = memory, begin
        room = max(total(weight), 1.0)
        self.unit = 2.0 ** min(50.0, np.floor(62.0 - np.log2(64.0 * room)))
        self.version = 0
        self.names: NDArray[np.int32] | None = None

    @property
    def weight(self) -> Tensor:
        """The weights (n,)."""
        return self._memory[0]

    @property
    def z(self) -> Tensor:
        """The labels (n,), -1 if a row has none."""
        return self._begun()[1]

    @property
    def sub(self) -> Tensor:
        """The sub-labels (n,)."""
        return self._begun()[2]

    @property
    def trial(self) -> Tensor:
        """The sub-labels last tried (n,)."""
        return self._begun()[3]

    def _begun(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        if self._begin is not None:
            self._begin()
        return self._memory

    @cached_property
    def fixed(self) -> Tensor:
        """The unit, on the device."""
        return torch.tensor([self.unit], dtype=torch.float64, device=self.weight.device)

    def touch(self) -> None:
        """Take note that labels are new: what they were to be called is past."""
        self.version += 1
        self.names = None

    def start(self, labels: Tensor) -> None:
        """Set the labels; every sub-label becomes 0."""
        self.z.copy_(labels)
        self.sub.zero_()
        self.touch()

    def adopt(self, chosen: NDArray[np.bool_]) -> None:
        """Keep the sub-labels last tried for the chosen clusters."""
        names = self._names_of(len(chosen))
        tried = (names & -2) + np.array([0, 1], dtype=np.int32)
        self.names = np.where((names >= 0) & chosen[names >> 1], tried, names)

    def relabel(self, label: Labels, sublabel: Labels) -> None:
        """Rename pairs of label and sub-label by the tables (k, 2) each."""
        names = self._names_of(len(label))
        new = (2 * label + sublabel).ravel().astype(np.int32)
        self.names = np.where(names >= 0, new[names], names)

    def _names_of(self, k: int) -> NDArray[np.int32]:
        return old_names(k) if self.names is None else self.names

    @property
    def n_names(self) -> int:
        """How many labels have new names."""
        return 0 if self.names is None else len(self.names)

    def renamed(self) -> None:
        """Take note that labels have got their new names."""
        if self.names is not None:
            self.touch()

    def settle(self) -> None:
        """Give the labels their new names now."""
        if self.names is None:
            return
        there = torch.from_numpy(np.append(self.names, np.int32(-2))).to(self.z.device)
        inside = self.z >= 0
        name = there[torch.where(inside, 4 * self.z + 2 * self.sub + self.trial, -1)]
        self.z.copy_(name >> 1)
        self.sub.copy_(torch.where(inside, name & 1, self.sub))
        self.touch()

    def codes(self, ids: Labels) -> Tensor:
        """Return twice the id plus the sub-label of each row, -2 if it has none."""
        self.settle()
        table = torch.from_numpy(np.append(2 * ids, -2)).to(self.z.device, torch.int32)
        return table[self.z.long()] + self.sub  # a label of -1 finds the last entry

    def count(self, k: int) -> NDArray[np.int64]:
        """Return the numbers of rows (k, 2) by label and sub-label."""
        self.settle()
        code = torch.where(self.z >= 0, 2 * self.z + self.sub, 2 * k).long()
        flat = torch.zeros(2 * k + 1, dtype=torch.int64, device=code.device)
        flat.index_add_(0, code, torch.ones_like(code))
        rows: NDArray[np.int64] = flat[:-1].cpu().numpy().reshape(k, 2)
        return rows

    def least_rows(self, key: Key, k: int) -> Tensor:
        """Return the row with the least random number of each cluster (k,), n or more if none."""
        bits, _ = random_bits(key, self.first_row, self.n, self.z.device)
        label = torch.where(self.z >= 0, self.z, k).long()
        none = torch.full((k + 1,), 2**62, dtype=torch.int64, device=bits.device)
        least = none.scatter_reduce(0, label, bits, "amin")
        rows = torch.arange(self.n, device=bits.device)
        rows = torch.where(bits == least[label], rows, 2**62)
        return none.scatter_reduce(0, label, rows, "amin")[:-1]


@cache
def old_names(k: int) -> NDArray[np.int32]:
    """Return names (k, 2, 2), see `Batch`, that change nothing."""
    return np.repeat(np.arange(2 * k, dtype=np.int32), 2).reshape(k, 2, 2)


def total(weight: Array) -> float:
    """Return the sum of weights; ones that share their memory are not gone through."""
    return float(weight[0] * len(weight) if _shared(weight) else weight.sum())


def constant(weight: Array) -> float | None:
    """Return the weight that all rows have, None if they have several, or there is no row."""
    if len(weight) == 0:
        return None
    same = _shared(weight) or bool((weight == weight[0]).all())
    return float(weight[0]) if same else None


def weights_there(weight: Array, device: torch.device, dtype: torch.dtype) -> Tensor:
    """Return the weights on a device."""
    same = constant(weight)
    if same is not None:  # as a rule: nothing to send
        return torch.full((len(weight),), same, dtype=dtype, device=device)
    return torch.from_numpy(np.require(weight, requirements=["C", "W"])).to(device, dtype)


def _shared(weight: Array) -> bool:
    return len(weight) > 0 and weight.strides == (0,)
