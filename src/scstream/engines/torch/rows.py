"""The rows of a batch on a device, and the products of their statistics with components.

Rows stand side by side, as columns of a matrix, and after the last one there is another of nothing:
whoever has no row to take takes that one, which adds nothing to any sum.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from scstream.engines.chunks import cut
from scstream.engines.gaps import rows_by_label
from scstream.engines.tensors import MissingEntries, is_tensor, to_host
from scstream.engines.torch import kernels
from scstream.families.contract import Array, Family
from scstream.families.scores import Points, to_dense

_PIECE = 2**26  # numbers that are brought to the device at a time
_KEPT = 2**28  # statistics that are kept on the device, and not made again for each pass
_FEW = 100  # statistics of quadratic rows up to which they are


class Rows(ABC):
    """Rows of a family and their statistics.

    Parameters
    ----------
    family : Family
    X : array, sparse array or tensor (n, d)
        Kept as it is, wherever it is.
    device : torch.device
        Where statistics are made.

    Attributes
    ----------
    numbers : int
        Of a row, that `some` returns.
    """

    def __init__(self, family: Family, X: Points, device: torch.device) -> None:
        self.family, self.X, self.device = family, X, device
        self.numbers = len(family.prior)

    @abstractmethod
    def statistics(self, rows: slice, dtype: torch.dtype) -> Tensor:
        """Return the statistics (p, m) of a run of rows."""

    @abstractmethod
    def some(self, index: Tensor) -> Tensor:
        """Return what `products` and `sums` need of rows (b, m): a matrix for each of b pieces."""

    def products(self, of: Tensor, eta: Tensor) -> Tensor:
        """Return products (b, c, m) of what `some` returned with c components (b, c, p) each."""
        return eta @ of

    def sums(self, of: Tensor, weight: Tensor) -> Tensor:
        """Return weighted sums (b, 2, p) of what `some` returned, by weights (b, 2, m)."""
        return weight @ of.transpose(1, 2)

    def on_host(self, rows: Any) -> Points:
        """Return the statistics of some rows on the host, as the family makes them."""
        if is_tensor(self.X) and not isinstance(rows, slice):
            rows = torch.from_numpy(rows).to(self.X.device)
        return self.family.statistics(to_host(self.X[rows]))

    def statistics_of(self, rows: NDArray[np.int64]) -> Array:
        """Return the statistics (k, p) of rows on the host, 0 for numbers of n or more."""
        out, have = np.zeros((len(rows), len(self.family.prior))), rows < self.X.shape[0]
        if have.any():
            out[have] = to_dense(self.on_host(rows[have]))
        return out


class KeptRows(Rows):
    """Rows whose statistics (p, n + 1) are on the device."""

    def __init__(self, family: Family, X: Points, T: Tensor) -> None:
        super().__init__(family, X, T.device)
        self.T = T.T.contiguous().T  # the numbers of a row side by side

    def statistics(self, rows: slice, dtype: torch.dtype) -> Tensor:
        """Return the statistics (p, m) of a run of rows."""
        return self.T[:, rows].to(dtype)

    def some(self, index: Tensor) -> Tensor:
        """Return the statistics of rows in pieces (b, p, m)."""
        return self.T[:, index].transpose(0, 1)


class HostRows(Rows):
    """Rows of a family that makes their statistics on the host."""

    def statistics(self, rows: slice, dtype: torch.dtype) -> Tensor:
        """Return the statistics (p, m) of a run of rows."""
        return self._there(self.on_host(rows)).to(dtype)

    def some(self, index: Tensor) -> Tensor:
        """Return the statistics of rows in pieces (b, p, m)."""
        rows, n = index.flatten().cpu().numpy(), self.X.shape[0]
        T = self._there(self.on_host(np.minimum(rows, n - 1))) * (index.flatten() < n)
        return T.view(-1, *index.shape).transpose(0, 1)

    def _there(self, T: Points) -> Tensor:
        """Return statistics (m, p) on the device, as columns; sparse ones become dense there."""
        if not sparse.issparse(T):
            return torch.from_numpy(np.ascontiguousarray(T)).to(self.device).T
        T = T.tocoo()
        out = torch.zeros(T.shape[::-1], dtype=torch.float64, device=self.device)
        at = (torch.from_numpy(x.astype(np.int64)).to(self.device) for x in (T.col, T.row))
        values = torch.from_numpy(T.data.astype(np.float64)).to(self.device)
        return out.index_put_(tuple(at), values, accumulate=True)


class QuadraticRows(Rows):
    """Rows whose statistics are ``(1, z, z z')``: the upper triangle of what (1, z) make."""

    family: Any  # one with `Family.quadratic_rows`, which has a frame

    def __init__(self, family: Family, X: Points, device: torch.device) -> None:
        super().__init__(family, X, device)
        n, d = X.shape
        self.numbers = 1 + d
        self._Z = Z = torch.empty((1 + d, n + 1), dtype=torch.float64, device=device)
        Z[0] = 1.0
        Z[:, n] = 0.0
        frame = torch.from_numpy(np.stack(self.family.frame)).to(device, non_blocking=True)[
            :, :, None
        ]
        for at in cut(n, max(_PIECE // d, 1)):
            x = X[at] if is_tensor(X) else torch.from_numpy(np.ascontiguousarray(X[at]))
            torch.sub(x.to(device).T, frame[0], out=Z[1:, at]).div_(frame[1])
        self._row, self._col, self._place, self._halves = _triangle(1 + d, device)

    def statistics(self, rows: slice, dtype: torch.dtype) -> Tensor:
        """Return the statistics (p, m) of a run of rows."""
        z = self._Z[:, rows]
        out = torch.empty((len(self._row), z.shape[1]), dtype=dtype, device=self.device)
        if kernels.serve(self.device):
            kernels.statistics(z, out)
            return out
        start = 0
        for i in range(len(z)):
            stop = start + len(z) - i
            torch.mul(z[i], z[i:], out=out[start:stop])
            start = stop
        return out

    def some(self, index: Tensor) -> Tensor:
        """Return (1, z) of rows in pieces (b, 1 + d, m)."""
        return self._Z[:, index].transpose(0, 1)

    def products(self, of: Tensor, eta: Tensor) -> Tensor:
        """Return products (b, c, m)."""
        forms = (eta * self._halves)[:, :, self._place].unbind(dim=1)
        return torch.stack([(form @ of).mul_(of).sum(dim=1) for form in forms], dim=1)

    def sums(self, of: Tensor, weight: Tensor) -> Tensor:
        """Return sums (b, 2, p)."""
        sides = [(of * weight[:, side, None]) @ of.transpose(1, 2) for side in (0, 1)]
        return torch.stack(sides, dim=1)[:, :, self._row, self._col]


@lru_cache(maxsize=8)
def _triangle(size: int, device: torch.device) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return rows and columns (p,) of an upper triangle, and how symmetric matrices are made of it.

    That is where the entries (size, size) are in it, and how much of each these get: halves.
    """
    row, col = torch.triu_indices(size, size, device=device)
    place = torch.empty((size, size), dtype=torch.int64, device=device)
    place[row, col] = place[col, row] = torch.arange(len(row), device=device)
    return row, col, place, torch.where(row == col, 1.0, 0.5).double()


def rows_of(family: Family, X: Points, device: torch.device) -> Rows:
    """Return rows in the way that suits the family; those with missing entries are refused."""
    if isinstance(X, np.ndarray) and len(rows_by_label(family, X)):
        raise MissingEntries("The engine 'torch' has no rows that depend on their labels.")
    p, n = len(family.prior), X.shape[0]
    rows = (
        QuadraticRows(family, X, device) if family.quadratic_rows else HostRows(family, X, device)
    )
    if n * p > _KEPT or (family.quadratic_rows and p > _FEW):
        return rows
    if family.quadratic_rows:
        return KeptRows(family, X, rows.statistics(slice(None), torch.float64))
    nothing = torch.zeros((p, 1), dtype=torch.float64, device=device)
    return KeptRows(family, X, torch.cat([rows.statistics(slice(None), torch.float64), nothing], 1))
