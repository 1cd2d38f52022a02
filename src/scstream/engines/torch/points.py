"""Where the statistics of a batch's rows come from, block by block, on a device or on the host."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from scstream.engines.tensors import MissingEntries, is_tensor, to_host
from scstream.families.contract import Array, Family
from scstream.families.left_out import LeftOutScore
from scstream.families.scores import Points, Products, Score, form_of, to_dense
from scstream.support.threads import beside

Upload = Callable[[NDArray[Any]], Tensor]
PIECE = 2**26  # numbers that are brought to the device at a time
_KEPT_BYTES = 2**31  # statistics are kept on the device up to this size


class Rows(ABC):
    """Rows of a family and their statistics.

    Parameters
    ----------
    family : Family
    X : array, sparse array or tensor (n, d)
        Kept as it is, wherever it is.
    device, dtype
        Where blocks of statistics are made, and in which precision.
    """

    on_device: ClassVar[bool] = True  # whether products of statistics are computed there

    def __init__(self, family: Family, X: Points, device: torch.device, dtype: torch.dtype) -> None:
        self.family, self.X, self.device, self.dtype = family, X, device, dtype

    @abstractmethod
    def block(self, rows: slice) -> Tensor:
        """Return the statistics of some rows (m, p) on the device."""

    def on_host(self, rows: Any) -> Points:
        """Return the statistics of some rows on the host, as the family makes them."""
        return self.family.statistics(to_host(self.X[rows]))

    def statistics_of(self, row: Tensor, n: int) -> Array:
        """Return the statistics (k, p) of rows on the host, 0 for numbers (k,) of n or more."""
        X, out = self.X, np.zeros((len(row), len(self.family.prior)))
        if n == 0:
            return out
        if is_tensor(X):  # rows and their numbers in one copy
            at = row.clamp(max=n - 1).to(X.device)
            found = torch.cat([row[:, None].to(X.device).double(), X[at].double()], dim=1)
            both = found.cpu().numpy()
            have = both[:, 0] < n
            T = self.family.statistics(both[have, 1:])
        else:
            rows = row.cpu().numpy()
            have = rows < n
            T = self.on_host(rows[have])
        out[have] = to_dense(T)
        return out

    def scores(self, score: Score, rows: slice) -> Tensor:
        """Return scores (m, k). What is no product of statistics is scored on the host."""
        match form_of(score):
            case Products() as form if self.on_device:
                q = self.block(rows) @ self._send(form.eta).T
                return self._finished(form, q) if form.student else q
        return self._send(score.block(self.on_host(rows)))

    def pairs(self, score: Score, rows: slice, z: Tensor) -> Tensor:
        """Return the scores (m, 2) of rows under the pairs of their own clusters z."""
        match form_of(score):
            case Products() as form if self.on_device:
                T, eta = self.block(rows), form.eta
                q = torch.einsum("np,njp->nj", T, self._send(eta).view(-1, 2, eta.shape[1])[z])
                return self._finished(form, q, z) if form.student else q
        return self._send(score.pairs(self.on_host(rows), z.cpu().numpy()))

    def scores_of_members(self, score: LeftOutScore, rows: slice, z: Tensor, w: Tensor) -> Tensor:
        """Return the scores (m, k) of rows that are in the clusters z, of weights w."""
        labels, weight = z.long().cpu().numpy(), w.double().cpu().numpy()
        return self._send(score.of_members(self.on_host(rows), labels, weight))

    def _finished(self, form: Products, q: Tensor, z: Tensor | None = None) -> Tensor:
        """Return the scores that products make, under all components or under the pairs of z."""
        const, power = self._send(form.const), self._send(form.power)
        if z is not None:
            const, power = (values.view(-1, 2)[z] for values in (const, power))
        return torch.where(power > 0.0, const - power * torch.log(q.clamp(min=1.0)), q)

    def sums(self, rows: slice, w: Tensor, code: Tensor, size: int) -> Tensor:
        """Return the weighted sums (size, p), float64, of rows by code; -1 is left out."""
        T = self.block(rows).double()
        if T.is_cuda:  # adding rows by atomic operations has no order: a product has
            belongs = code[None, :] == torch.arange(size, device=T.device)[:, None]
            return (belongs * w.double()) @ T
        out = torch.zeros((size + 1, T.shape[1]), dtype=torch.float64)
        return out.index_add_(0, torch.where(code < 0, size, code), T * w.double()[:, None])[:-1]

    def _send(self, values: Array) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(values)).to(self.device, self.dtype)


class QuadraticRows(Rows):
    """Rows whose statistics are ``(1, z, z z')``: made on the device from the family's frame."""

    family: Any  # one with `Family.quadratic_rows`, which has a frame

    def __init__(
        self, family: Family, X: Points, device: torch.device, dtype: torch.dtype, upload: Upload
    ) -> None:
        super().__init__(family, X, device, dtype)
        self._upload = upload
        self._coming: Callable[[], Tensor] | None = None

    def come(self) -> None:
        """Let another thread look through an array and bring it to a GPU, until it is needed.

        If there are missing entries `frame` raises it.
        """
        if is_tensor(self.X):
            return
        stream = torch.cuda.current_stream(self.device.index)

        def bring() -> Tensor:
            refuse_gaps(self.family, self.X)
            with torch.cuda.stream(stream):
                return self._framed()

        self._coming = beside(bring)

    def pieces(self) -> Iterator[tuple[int, Tensor]]:
        """Bring the rows to the device by pieces; each comes with the number of its first row."""
        n, d = self.X.shape
        for a in range(0, n, step := max(PIECE // max(d, 1) // 1024, 1) * 1024):
            x = self.X if n <= step else self.X[a : a + step]
            yield a, x.to(self.device) if is_tensor(x) else self._upload(x)

    @cached_property
    def frame(self) -> Tensor:
        """The rows (n, d) in the family's frame."""
        return self._framed() if self._coming is None else self._coming()

    def _framed(self) -> Tensor:
        """Take rows to the family's frame, in float64: it costs digits."""
        frame = torch.empty(tuple(self.X.shape), dtype=self.dtype, device=self.device)
        shift, scale = (torch.from_numpy(v).to(self.device) for v in self.family.frame)
        for a, x in self.pieces():
            frame[a : a + len(x)] = (x.double() - shift) / scale
        return frame

    def block(self, rows: slice) -> Tensor:
        """Return ``(1, z, upper triangle of z z')``."""
        z = self.frame[rows]
        row, col = torch.triu_indices(z.shape[1], z.shape[1], device=self.device)
        return torch.cat([torch.ones_like(z[:, :1]), z, z[:, row] * z[:, col]], dim=1)


class DenseRows(Rows):
    """Rows of any family with dense statistics, which the family makes on the host."""

    def __init__(self, family: Family, X: Points, device: torch.device, dtype: torch.dtype) -> None:
        super().__init__(family, X, device, dtype)
        self._kept: Tensor | None = None
        if X.shape[0] * len(family.prior) * 8 <= _KEPT_BYTES:
            self._kept = self.block(slice(None))

    def block(self, rows: slice) -> Tensor:
        """Return the family's statistics."""
        if self._kept is not None:
            return self._kept[rows]
        return self._send(to_dense(self.on_host(rows)))


class SparseRows(Rows):
    """Rows of counts, few of which are not 0: they are scored and summed on the host."""

    on_device: ClassVar[bool] = False

    def block(self, rows: slice) -> Tensor:
        """Return the statistics, made dense."""
        return self._send(to_dense(self.on_host(rows)))

    def sums(self, rows: slice, w: Tensor, code: Tensor, size: int) -> Tensor:
        """Return the weighted sums (size, p) of rows by code."""
        T = self.on_host(rows)
        label, weight = code.cpu().numpy(), w.double().cpu().numpy()
        mine = np.flatnonzero(label >= 0)
        belongs = sparse.csr_array((weight[mine], (label[mine], mine)), shape=(size, T.shape[0]))
        return torch.from_numpy(to_dense(belongs @ T)).to(self.device)


def refuse_gaps(family: Family, X: Points) -> None:
    """Raise if some rows of an array depend on their labels."""
    if isinstance(X, np.ndarray) and len(family.completed_rows(X)):
        raise MissingEntries("The engine 'torch' has no rows that depend on their labels.")


def rows_of(
    family: Family, X: Points, device: torch.device, dtype: torch.dtype,
    upload: Upload | None = None,
) -> Rows:  # fmt: skip
    """Return rows in the way that suits the family; ``upload`` takes arrays to the device."""
    if family.quadratic_rows:
        return QuadraticRows(family, X, device, dtype, upload or _plain_upload(device))
    if sparse.issparse(X):
        return SparseRows(family, X, device, dtype)
    return DenseRows(family, X, device, dtype)


def _plain_upload(device: torch.device) -> Upload:
    return lambda rows: torch.from_numpy(np.ascontiguousarray(rows)).to(device)
