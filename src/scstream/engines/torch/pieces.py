"""Rows by label, in pieces of equal length: what is computed of each is a product of matrices.

The order of the rows of a label, the pieces, and the order in which these are added up follow from
the labels alone, so that sums have the same bits each time.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from scstream.engines.chunks import cut

_LENGTH = 512  # rows of a piece


class ByLabel:
    """Rows in the order of their labels.

    Parameters
    ----------
    z : Tensor (n,)
        Labels; rows with one that is not within 0 to k - 1 are in no piece.
    k : int

    Attributes
    ----------
    order : Tensor (n,)
    begin : Tensor (k + 1,)
        Where labels begin in this order, and the last one ends.
    """

    def __init__(self, z: Tensor, k: int) -> None:
        self.k = k
        small = torch.int16 if k < 2**15 else torch.int32
        label, self.order = torch.sort(z.clamp(max=k).to(small), stable=True)
        each = torch.arange(k + 1, dtype=small, device=z.device)
        self.begin = torch.searchsorted(label, each)

    def pieces(self, chosen: NDArray[np.bool_], numbers: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Go over the pieces of the chosen labels, as many at a time as hold so many numbers.

        Yields the numbers (b, m) of their rows, n where there is none, and their labels (b,).
        """
        n, device, begin = len(self.order), self.order.device, self.begin.cpu().numpy()
        size = np.where(chosen, np.diff(begin), 0)
        pieces = -(-size // _LENGTH)
        which = np.repeat(np.arange(self.k), pieces)
        inner = np.arange(len(which)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        first, last = begin[which] + _LENGTH * inner, begin[which] + size[which]
        table = torch.from_numpy(np.stack([which, first, last])).to(device)
        step = torch.arange(_LENGTH, device=device)
        for some in cut(len(which), max(numbers // _LENGTH, 1)) if len(which) else ():
            label, start, stop = table[:, some]
            at = start[:, None] + step
            yield torch.where(at < stop[:, None], self.order[at.clamp(max=n - 1)], n), label
