"""A batch's labels and weights on a device, and what every kind of pass does with them."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from scstream.engines.base import Key
from scstream.engines.torch_draws import random_bits
from scstream.families.base import Array
from scstream.families.scores import Labels


class Batch:
    """Labels, sub-labels, those last tried, and weights of n rows, all on one device.

    Parameters
    ----------
    weight : ndarray (n,)
    first_row : int
        The number of the first row, by which draws are keyed.
    device : torch.device
    dtype : torch.dtype

    Attributes
    ----------
    unit : float
        A power of two: doubts are summed up in whole multiples of its inverse, so that their
        sum does not hang on the order. No doubt is larger than 37.
    version : int
        Changes whenever labels do.
    """

    def __init__(
        self, weight: Array, first_row: int, device: torch.device, dtype: torch.dtype
    ) -> None:
        n = len(weight)
        self.n, self.first_row = n, first_row
        if n and bool((weight == weight[0]).all()):  # as a rule: nothing to send
            self.weight = torch.full((n,), float(weight[0]), dtype=dtype, device=device)
        else:
            self.weight = torch.from_numpy(np.ascontiguousarray(weight)).to(device, dtype)
        self.z = torch.full((n,), -1, dtype=torch.int32, device=device)
        self.sub = torch.zeros(n, dtype=torch.int32, device=device)
        self.trial = torch.zeros(n, dtype=torch.int32, device=device)
        room = max(float(weight.sum()), 1.0)
        self.unit = 2.0 ** min(50.0, np.floor(62.0 - np.log2(64.0 * room)))
        self.fixed = torch.tensor([self.unit], dtype=torch.float64, device=device)
        self.version = 0

    def touch(self) -> None:
        """Take note that labels have changed."""
        self.version += 1

    def start(self, labels: Tensor) -> None:
        """Set the labels; every sub-label becomes 0."""
        self.z.copy_(labels)
        self.sub.zero_()
        self.touch()

    def adopt(self, chosen: NDArray[np.bool_]) -> None:
        """Keep the sub-labels last tried for the chosen clusters."""
        mine = torch.from_numpy(np.append(chosen, False)).to(self.z.device)
        self.sub = torch.where(mine[self.z], self.trial, self.sub)  # a label of -1 finds the last

    def count(self, k: int) -> NDArray[np.int64]:
        """Return the numbers of rows (k, 2) by label and sub-label."""
        code = torch.where(self.z >= 0, 2 * self.z + self.sub, 2 * k).long()
        flat = torch.zeros(2 * k + 1, dtype=torch.int64, device=code.device)
        flat.index_add_(0, code, torch.ones_like(code))
        rows: NDArray[np.int64] = flat[:-1].cpu().numpy().reshape(k, 2)
        return rows

    def relabel(self, label: Labels, sublabel: Labels) -> None:
        """Rename pairs of label and sub-label by the tables (k, 2) each."""
        tables = np.full((2, label.size + 1), -1, dtype=np.int32)
        tables[0, :-1], tables[1, :-1] = label.ravel(), sublabel.ravel()
        there = torch.from_numpy(tables).to(self.z.device)
        code = torch.where(self.z >= 0, 2 * self.z + self.sub, -1)  # which finds the last
        inside = self.z >= 0
        self.z = there[0][code]
        self.sub = torch.where(inside, there[1][code], self.sub)
        self.touch()

    def least_rows(self, key: Key, k: int) -> Tensor:
        """Return the row with the least random number of each cluster (k,), n or more if none."""
        bits, _ = random_bits(key, self.first_row, self.n, self.z.device)
        label = torch.where(self.z >= 0, self.z, k).long()
        none = torch.full((k + 1,), 2**62, dtype=torch.int64, device=bits.device)
        least = none.scatter_reduce(0, label, bits, "amin")
        rows = torch.arange(self.n, device=bits.device)
        rows = torch.where(bits == least[label], rows, 2**62)
        return none.scatter_reduce(0, label, rows, "amin")[:-1]
