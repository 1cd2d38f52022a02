"""Data passes by fused kernels on a GPU, for Gaussian statistics in float32.

Two ways, by the number of columns: up to 8 a thread keeps its rows in registers and goes over the
components; up to 128 the matrix units score blocks of rows, and rows are sorted by label for all
that hangs on the label.

Everything a pass needs goes to the device in one copy, and everything it returns comes back in
one: a copy costs more than most kernels here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from scstream.engines import torch_kernels as kernels
from scstream.engines.base import Key
from scstream.engines.torch_batch import Batch
from scstream.engines.torch_forms import Forms, centre_all
from scstream.families.base import Array
from scstream.families.scores import Labels

FEW, MANY = 8, 128  # columns up to which each of the two ways goes
_BLOCK, _UNROLL = {False: 512, True: 256}, 4  # rows of a program that labels, components at once
_ROW_BLOCK = 1024  # rows of a program that does little with each
_GROUP, _STEP, _TILE = 1024, 64, 64  # rows and components of a program that sums
_ROWS, _SUB_BLOCK = 1024, 64  # rows of a program that sums sorted rows
_SCORE = {False: (256, 8, 3), True: (64, 4, 1)}  # rows, warps, stages of a program that scores
_SCORES = 2**29  # bytes of scores that are held at a time
_UPLOAD = 2**27  # bytes of rows that are worth memory of their own on the way
_LAYOUTS = 256  # that a courier remembers
_TABLES = 2**15  # entries of all copies of a table
_FLAT, _CURVED, _STUDENT = 2, 0, 1  # kinds of pairs, as the kernel knows them


@dataclass
class Pass:
    """What a data pass returns about k clusters, on the host.

    Attributes
    ----------
    current : ndarray (k, 2, p)
    rows : ndarray (k, 2)
    own : ndarray (k,)
        The doubts of the sub-labels.
    rivals, between : ndarray (k, k) or None
        Of a sweep: second choices, and the doubts of labels, summed on the side of the first.
    """

    current: Array
    rows: NDArray[np.int64]
    own: Array
    rivals: NDArray[np.int64] | None = None
    between: Array | None = None

    def spread(self, which: NDArray[np.int64], k: int) -> Pass:
        """Return the same among k clusters, of which these are some; the others have nothing."""
        out = Pass(
            np.zeros((k, *self.current.shape[1:])), np.zeros((k, 2), dtype=np.int64), np.zeros(k)
        )
        out.current[which], out.rows[which], out.own[which] = self.current, self.rows, self.own
        return out


class Scratch:
    """Memory on the device that one pass leaves to the next, by name.

    Parameters
    ----------
    device : torch.device
    """

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
            size = -(-_copies(k) * k * k // 64) * 64
            both = torch.zeros(3 * size, dtype=torch.int32, device=self._device)
            self._tables = {k: (both[2 * size :], both[: 2 * size].view(torch.int64))}
        return self._tables[k]


class Courier:
    """Carries arrays to the device in one copy, and back.

    Parameters
    ----------
    device : torch.device
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._here = self._there = self._back = self._staged = torch.empty(0, dtype=torch.uint8)
        self._views: dict[Any, tuple[int, list[NDArray[Any]], list[Tensor]]] = {}
        self._packed: tuple[int, list[Tensor]] = 0, []

    def room(self, *shapes: tuple[tuple[int, ...], str]) -> list[NDArray[Any]]:
        """Return arrays of the given shapes and types, to be filled and then sent.

        What was sent before must have been waited for, as `fetch` does.
        """
        found = self._views.get(shapes)
        if found is None:
            found = self._views[shapes] = self._lay_out(shapes)
        size, arrays, tensors = found
        self._packed = size, tensors
        return arrays

    def _lay_out(
        self, shapes: tuple[tuple[tuple[int, ...], str], ...]
    ) -> tuple[int, list[NDArray[Any]], list[Tensor]]:
        ends = list(accumulate(_bytes(shape, kind) for shape, kind in shapes))
        if len(self._here) < ends[-1] or len(self._views) > _LAYOUTS:
            size = max(2 * ends[-1], len(self._here))
            self._here = torch.empty(size, dtype=torch.uint8, pin_memory=True)
            self._there = torch.empty(size, dtype=torch.uint8, device=self._device)
            self._views = {}
        memory = self._here.numpy().data
        arrays, tensors = [], []
        for start, (shape, kind) in zip([0, *ends], shapes, strict=False):
            arrays.append(np.ndarray(shape, kind, memory, start))
            tensors.append(
                self._there[start : start + prod(shape) * int(kind[1])].view(_DTYPES[kind])
            )
        return ends[-1], arrays, tensors

    def send(self) -> list[Tensor]:
        """Return what was filled in, on the device, until there is room for the next."""
        size, tensors = self._packed
        self._there[:size].copy_(self._here[:size], non_blocking=True)
        return tensors

    def upload(self, rows: NDArray[Any]) -> Tensor:
        """Return rows on the device: through memory that the device reads by itself."""
        values = torch.from_numpy(np.ascontiguousarray(rows)).reshape(-1)
        if values.nbytes > _UPLOAD:
            return values.to(self._device).view(rows.shape)
        if len(self._staged) < values.nbytes:
            self._staged = torch.empty(values.nbytes, dtype=torch.uint8, pin_memory=True)
        torch.cuda.current_stream(self._device).synchronize()  # the last copy may be under way
        staged = self._staged[: values.nbytes].view(values.dtype).copy_(values)
        return staged.to(self._device, non_blocking=True).view(rows.shape)

    def fetch(self, values: Tensor) -> Array:
        """Return float64 values from the device, once they are there."""
        size = values.numel()
        if len(self._back) < size:
            self._back = torch.empty(2 * size, dtype=torch.float64, pin_memory=True)
        out: Array = self._back[:size].copy_(values).numpy().copy()
        return out


_DTYPES = {"f4": torch.float32, "f8": torch.float64, "i4": torch.int32, "i8": torch.int64}


def _bytes(shape: tuple[int, ...], kind: str) -> int:
    """Return the room that an array takes, such that the next begins at a round address."""
    return -(-prod(shape) * int(kind[1]) // 256) * 256


@cache
def _factors(d: int, columns: int) -> NDArray[np.int32]:
    """Return the two coordinates that statistics are products of, -1 for 1: (2, columns)."""
    out = np.full((2, columns), -1, dtype=np.int32)
    out[1, 1 : 1 + d] = np.arange(d)
    p = 1 + d + d * (d + 1) // 2
    out[:, 1 + d : p] = np.triu_indices(d)
    return out


def _words(key: Key | None, batch: Batch) -> NDArray[np.int64]:
    """Return what draws are keyed by, as the kernels read it."""
    of_key = (0, 0, 0) if key is None else (key.seed, key.sweep, key.batch)
    return np.array([*of_key, batch.first_row], dtype=np.uint64).view(np.int64)


_compiled: dict[Any, Any] = {}


def _launch(
    kernel: Any, grid: tuple[int, int, int], values: tuple[Any, ...], device: torch.device,
    **constants: int,
) -> None:  # fmt: skip
    """Run a kernel over a grid of programs.

    Triton finds out anew at each launch which variant of a kernel its arguments ask for, which
    takes longer than some kernels here. There is but one for given constants, as long as arrays
    begin at round addresses, strides are multiples of 16 and other numbers are not specialised on.
    """
    key = kernel, device, *constants.values()
    found = _compiled.get(key)
    if found is None:
        _compiled[key] = kernel[grid](*values, **constants, num_warps=4, num_stages=1)
    else:
        found[grid](*values, *constants.values())


def _copies(k: int) -> int:
    """Return how many copies of a (k, k) table keep rows from waiting for one another."""
    return max(1, min(256, _TABLES // (k * k)))


def _grid(n: int, block: int) -> int:
    return -(-n // block)


def least_rows(key: Key, k: int, batch: Batch, courier: Courier) -> Tensor:
    """Return the row with the least random number of each cluster (k,), n or more if none."""
    courier.room(((4,), "i8"))[0][:] = _words(key, batch)
    (words,) = courier.send()
    least, row = torch.full((2, -(-k // 2) * 2), 2**62, device=batch.z.device).unbind()
    grid, device = (_grid(batch.n, _ROW_BLOCK), 1, 1), batch.z.device
    values = words, batch.z, least
    _launch(kernels.least_bits, grid, (*values, batch.n), device, block=_ROW_BLOCK)
    _launch(kernels.least_row, grid, (*values, row, batch.n), device, block=_ROW_BLOCK)
    return row[:k]


def rename(label: Labels, sublabel: Labels, batch: Batch) -> None:
    """Rename pairs of label and sub-label by the tables (k, 2) each."""
    tables = np.concatenate([label.ravel(), sublabel.ravel()]).astype(np.int32)
    there = torch.from_numpy(tables).to(batch.z.device)
    grid, values = (_grid(batch.n, _ROW_BLOCK), 1, 1), (batch.z, batch.sub, there)
    _launch(kernels.rename, grid, (*values, batch.n, len(label)), batch.z.device, block=_ROW_BLOCK)
    batch.touch()


def keep_trial(chosen: NDArray[np.bool_], batch: Batch) -> None:
    """Keep the sub-labels last tried for the chosen clusters."""
    there = torch.from_numpy(chosen.astype(np.int32)).to(batch.z.device)
    grid, values = (_grid(batch.n, _ROW_BLOCK), 1, 1), (batch.z, batch.sub, batch.trial, there)
    _launch(kernels.keep_trial, grid, (*values, batch.n), batch.z.device, block=_ROW_BLOCK)


class FewColumns:
    """Passes over rows of at most 8 columns.

    Parameters
    ----------
    rows : Tensor (n, d)
        The rows in the family's frame, float32.
    courier : Courier
    scratch : Scratch
    """

    def __init__(self, rows: Tensor, courier: Courier, scratch: Scratch) -> None:
        n, d = rows.shape
        self._n, self._d = n, d
        self._p = 1 + d + d * (d + 1) // 2
        self._columns = max(16, 1 << (self._p + 1).bit_length())
        self._stride = -(-n // 64) * 64
        self._Z = torch.zeros((d, self._stride), device=rows.device)
        self._Z[:, :n] = rows.T
        self._factors = torch.from_numpy(_factors(d, self._columns)).to(rows.device).unbind()
        self._courier, self._scratch = courier, scratch

    def sweep(self, score: Forms, sub: Forms, k: int, key: Key | None, batch: Batch) -> Pass:
        """Label every row; see `Engine.sweep`."""
        d, n_all, width = self._d, len(score.eta), self._d + 2 + self._p
        numbers, pairs, centre, words_here = self._courier.room(
            ((n_all, width), "f4"), ((width, 2 * k), "f4"), ((n_all, d), "f4"), ((4,), "i8")
        )
        centre_all(score, d, numbers, centre)
        centre_all(sub, d, pairs.T, None)
        words_here[:] = _words(key, batch)
        prm, sub_prm, mid, words = self._courier.send()
        rivals, between = self._scratch.tables(k)
        code, doubt, Y = self._between()
        arrays = (
            self._Z, self._stride, prm, sub_prm, mid, words, batch.fixed, batch.weight,
            batch.z, batch.sub, code, Y, doubt, rivals, between,
            self._n, n_all, k, _copies(k),
        )  # fmt: skip
        block = _BLOCK[score.student or sub.student]
        _launch(
            kernels.label_few, (_grid(self._n, block), 1, 1), arrays, self._Z.device,
            d=d, width=width, student=score.student, sub_student=sub.student,
            draw=key is not None, block=block, unroll=_UNROLL,
        )  # fmt: skip
        return self._read(self._sum(code, doubt, Y, mid, k, batch, tables=True), k, tables=True)

    def resplit(self, sub: Forms, chosen: NDArray[np.bool_], centre: Array, batch: Batch) -> Pass:
        """Try sub-labels; see `Engine.resplit`. Sums are taken about ``centre`` (k, d)."""
        which = np.flatnonzero(chosen)
        d, k, m = self._d, len(chosen), len(which)
        pairs, mid_here, rank_here = self._courier.room(
            ((d + 2 + self._p, 2 * m), "f4"), ((m, d), "f4"), ((k,), "i4")
        )
        centre_all(sub.pairs(which), d, pairs.T, None)
        mid_here[:], rank_here[:] = centre[which], 0
        rank_here[which] = np.arange(1, m + 1)
        sub_prm, mid, rank = self._courier.send()
        code, doubt, Y = self._between()
        arrays = (
            self._Z, self._stride, sub_prm, mid, rank, batch.weight, batch.z,
            batch.trial, code, Y, doubt, self._n, m,
        )  # fmt: skip
        block = _BLOCK[sub.student]
        _launch(
            kernels.divide_few, (_grid(self._n, block), 1, 1), arrays, self._Z.device,
            d=d, sub_student=sub.student, block=block,
        )  # fmt: skip
        done = self._read(self._sum(code, doubt, Y, mid, m, batch, tables=False), m, tables=False)
        return done if m == k else done.spread(which, k)

    def _between(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return memory for codes, doubts and rows about their centres."""
        take, size = self._scratch.take, self._stride
        return take("code", size, torch.int32), take("doubt", size), take("Y", self._d * size)

    def _sum(
        self, code: Tensor, doubt: Tensor, Y: Tensor, mid: Tensor, k: int, batch: Batch, *,
        tables: bool,
    ) -> Tensor:  # fmt: skip
        """Sum statistics by code, and add up the tables of a sweep."""
        columns = self._columns
        device, tiles, groups = Y.device, _grid(2 * k, _TILE), _grid(self._n, _GROUP)
        padded = tiles * _TILE
        partial = self._scratch.take("partial", groups * padded * columns)
        out = self._scratch.take("out", 2 * k * (columns + k), torch.float64)
        a, b = self._factors
        _launch(
            kernels.sum_few, (groups, tiles, 1),
            (Y, self._stride, code, batch.weight, doubt, a, b, partial, self._n, padded), device,
            p=self._p, columns=columns, rows=_GROUP, block=_STEP, tile=_TILE,
        )  # fmt: skip
        arrays = (
            partial, mid, a, b, out, *self._scratch.tables(k), batch.fixed, groups, padded, k,
            _copies(k),
        )  # fmt: skip
        _launch(
            kernels.finish_few, (2 * k + (_grid(k * k, 256) if tables else 0), 1, 1), arrays,
            device, d=self._d, columns=columns, step=32, block=256,
        )  # fmt: skip
        return out if tables else out[: 2 * k * columns]

    def _read(self, out: Tensor, k: int, *, tables: bool) -> Pass:
        values = self._courier.fetch(out)
        p, size = self._p, 2 * k * self._columns
        sums = values[:size].reshape(k, 2, self._columns)
        done = Pass(
            sums[..., :p].copy(), sums[..., p].astype(np.int64), sums[..., p + 1].sum(axis=1)
        )
        if tables:
            done.rivals = values[size : size + k * k].reshape(k, k).astype(np.int64)
            done.between = values[size + k * k :].reshape(k, k)
        return done


@dataclass
class _Curved:
    """Components on the device as ``|z L - offset|^2`` forms, padded to ``width`` columns."""

    factors: Tensor  # (3, k, width, width), bfloat16: L in thirds
    offset: Tensor  # (k, width)
    numbers: Tensor  # (k, 3): value at the centre, power, const
    centre: Tensor  # (k, width)
    kind: int


class ManyColumns:
    """Passes over rows of 9 to 128 columns.

    Parameters
    ----------
    rows : Tensor (n, d)
        The rows in the family's frame, float32.
    courier : Courier
    scratch : Scratch
    """

    def __init__(self, rows: Tensor, courier: Courier, scratch: Scratch) -> None:
        n, d = rows.shape
        self._n, self._d = n, d
        self._width = max(16, 1 << (d - 1).bit_length())
        self._Z = rows.contiguous()
        if self._width > d:
            self._Z = torch.zeros((n, self._width), device=rows.device)
            self._Z[:, :d] = rows
        self._courier, self._scratch = courier, scratch
        self._order: tuple[int, int, tuple[Tensor, Tensor, Tensor]] | None = None

    def sweep(self, score: Forms, sub: Forms, k: int, key: Key | None, batch: Batch) -> Pass | None:
        """Label every row, see `Engine.sweep`; None if a form has no centre."""
        device, width, n = self._Z.device, self._width, self._n
        parts = self._carry(
            [score.eta, score.power, score.const, sub.eta, sub.power, sub.const], _words(key, batch)
        )
        form = self._curved(parts[:3], student=score.student)
        pairs = self._curved(parts[3:6], student=sub.student)
        if form is None or pairs is None or form.kind == _FLAT:
            return None
        words, fixed = parts[6], batch.fixed
        n_all, copies = len(score.eta), _copies(k)
        rivals, between = self._scratch.tables(k)
        block, warps, stages = _SCORE[width > 64]
        ahead = min(_grid(n, block) * block, max(block, _SCORES // (4 * n_all) // block * block))
        scores = self._scratch.take("scores", n_all * ahead)
        for first in range(0, n, ahead):
            m = min(ahead, n - first)
            kernels.score_many[(_grid(m, block),)](
                self._Z, form.factors, form.offset, form.numbers, scores, first, n, n_all, ahead,
                d=width, student=score.student, block=block, num_warps=warps,
                num_stages=stages,
            )  # fmt: skip
            kernels.label_many[(_grid(m, 256),)](
                scores, ahead, words, fixed, batch.weight, batch.z, rivals, between,
                first, n, n_all, k, copies, draw=key is not None, block=256, num_warps=4,
            )  # fmt: skip
        batch.touch()
        batch.sub.zero_()
        everyone = torch.ones(k, dtype=torch.int32, device=device)
        sums = self._divide(pairs, form.centre[:k], everyone, words, batch.sub, key, batch)
        tables = torch.empty(2 * k * k, dtype=torch.float64, device=device)
        kernels.finish_tables[(_grid(k * k, 256),)](
            rivals, between, fixed, tables, k, copies, block=256
        )
        return self._read(torch.cat([sums, tables]), k, tables=True)

    def resplit(
        self, sub: Forms, chosen: NDArray[np.bool_], centre: Array, batch: Batch
    ) -> Pass | None:
        """Try sub-labels; see `Engine.resplit`. None if a form is not curved the same way."""
        mid = np.zeros((len(chosen), self._width), dtype=np.float32)
        mid[:, : self._d] = centre
        parts = self._carry(
            [sub.eta, sub.power, sub.const], mid, chosen.astype("i4"), _words(None, batch)
        )
        pairs = self._curved(parts[:3], student=sub.student)
        if pairs is None:
            return None
        mid_there = parts[3].view(len(chosen), self._width)
        sums = self._divide(pairs, mid_there, parts[4], parts[5], batch.trial, None, batch)
        return self._read(sums, len(chosen), tables=False)

    def _carry(self, forms: list[Array], *others: NDArray[Any]) -> list[Tensor]:
        arrays = [*forms, *others]
        here = self._courier.room(*((a.shape, a.dtype.str[1:]) for a in arrays))
        for to, a in zip(here, arrays, strict=True):
            to[...] = a
        return self._courier.send()

    def _curved(self, forms: list[Tensor], *, student: bool) -> _Curved | None:
        """Return the components with their centres, None if some have none."""
        eta, power, const = forms
        k, d, width = len(power), self._d, self._width
        eta = eta.view(k, -1)
        b = eta[:, 1 : 1 + d]
        pad = torch.nn.functional.pad
        curved = bool(eta[:, 1 + d :].any())
        sign = torch.where(power > 0, 1.0, -1.0).double()
        factors = torch.zeros(3, 1, device=eta.device, dtype=torch.bfloat16)
        if curved:
            place, half = _square(d, eta.device)
            A = eta[:, 1 + d :][:, place] * half * sign[:, None, None]
            L, info = torch.linalg.cholesky_ex(A)
            if bool(info.any()):
                return None
            rhs = (-0.5 * sign)[:, None] * b
            centre = torch.cholesky_solve(rhs[:, :, None], L)[:, :, 0]
            value = eta[:, 0] + 0.5 * (b * centre).sum(dim=1) - (power > 0).double()
            offset = (centre[:, None, :] @ L)[:, 0]
            factors = _thirds(pad(L, (0, width - d, 0, width - d)).float())
        elif student:
            return None
        else:
            centre, value, offset = torch.zeros_like(b), eta[:, 0], b
        numbers = torch.stack([value, power, const], dim=1).float()
        kind = _STUDENT if student else _CURVED if curved else _FLAT
        offset, centre = (pad(x, (0, width - d)).float() for x in (offset, centre))
        return _Curved(factors, offset.contiguous(), numbers, centre.contiguous(), kind)

    def _sorted(self, k: int, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Return the rows by label, where clusters begin, and the programs before each."""
        if self._order is None or self._order[:2] != (batch.version, k):
            label, order = torch.sort(batch.z[: self._n], stable=True)
            each = torch.arange(k + 1, dtype=torch.int32, device=label.device)
            begin = torch.searchsorted(label, each, out_int32=True)
            items = torch.zeros_like(begin)
            items[1:] = ((begin[1:] - begin[:-1] + (_ROWS - 1)) // _ROWS).cumsum(0)
            self._order = batch.version, k, (order, begin, items)
        return self._order[2]

    def _divide(
        self, pairs: _Curved, centre: Tensor, chosen: Tensor, words: Tensor, to: Tensor,
        key: Key | None, batch: Batch,
    ) -> Tensor:  # fmt: skip
        """Give sub-labels; returns sums (k, 2, p), numbers of rows (k, 2) and doubts (k,)."""
        k, d, width, device = len(chosen), self._d, self._width, self._Z.device
        order, begin, items = self._sorted(k, batch)
        n_items = self._n // _ROWS + k + 1
        shape = [2 * width * width, 2 * width, 8]
        parts = [self._scratch.take(f"part {i}", n_items * size) for i, size in enumerate(shape)]
        kernels.divide_many[(n_items,)](
            self._Z, order, begin, items, pairs.factors, pairs.offset, pairs.numbers, centre,
            chosen, words, batch.weight, to, *parts, k,
            d=width, k_padded=1 << (k - 1).bit_length(), rows=_ROWS, block=_SUB_BLOCK,
            kind=pairs.kind, draw=key is not None, num_warps=8 if width > 64 else 4, num_stages=1,
        )  # fmt: skip
        totals = [torch.empty((k, size), dtype=torch.float64, device=device) for size in shape]
        for size, part, total in zip(shape, parts, totals, strict=True):
            kernels.finish_many[(k, _grid(size, 512))](
                items, chosen, part, total, k, size=size, block=512
            )
        yy, y = totals[0].view(k, 2, width, width), totals[1].view(k, 2, width)
        n = totals[2].view(k, 2, 4)
        c = centre.double()[:, None, :]
        whole = y + n[..., :1] * c
        yy = yy + c[..., :, None] * y[..., None, :] + whole[..., :, None] * c[..., None, :]
        upper = torch.triu_indices(d, d, device=device)
        sums = torch.cat([n[..., :1], whole[..., :d], yy[..., upper[0], upper[1]]], dim=-1)
        return torch.cat([sums.reshape(-1), n[..., 1].reshape(-1), n[:, 0, 2]])

    def _read(self, out: Tensor, k: int, *, tables: bool) -> Pass:
        values = self._courier.fetch(out)
        p = 1 + self._d + self._d * (self._d + 1) // 2
        current, rows, own, rest = np.split(values, np.cumsum([2 * k * p, 2 * k, k]))
        done = Pass(current.reshape(k, 2, p), rows.reshape(k, 2).astype(np.int64), own)
        if tables:
            done.rivals = rest[: k * k].reshape(k, k).astype(np.int64)
            done.between = rest[k * k :].reshape(k, k)
        return done


def _square(d: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return where each entry of a (d, d) matrix is packed, and its share of the packed number."""
    row, col = np.triu_indices(d)
    place = np.empty((d, d), dtype=np.int64)
    place[row, col] = place[col, row] = np.arange(len(row))
    half = np.where(np.eye(d) > 0, 1.0, 0.5)
    return torch.from_numpy(place).to(device), torch.from_numpy(half).to(device)


def _thirds(x: Tensor) -> Tensor:
    """Cut float32 into three numbers of 8 bits each that add up to it: (3, ...)."""
    a = x.bfloat16()
    rest = x - a.float()
    b = rest.bfloat16()
    return torch.stack([a, b, (rest - b.float()).bfloat16()])
