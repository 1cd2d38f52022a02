"""Passes over rows of 9 to 128 columns by fused kernels, for Gaussian statistics in float32."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from scstream.engines.base import Key
from scstream.engines.torch import many_kernels as kernels
from scstream.engines.torch.batch import Batch
from scstream.engines.torch.forms import Forms
from scstream.engines.torch.ledger import Ledger
from scstream.engines.torch.many_factors import factor_many
from scstream.engines.torch.passes import Aside, Pass, Scratch, copies, grid, on_its_device
from scstream.engines.torch.points import QuadraticRows
from scstream.engines.torch.staging import Courier, words_of
from scstream.families.contract import Array

MANY = 128  # columns up to which this is the way
_ROWS, _SUB_BLOCK = 1024, 64  # rows of a program that sums sorted rows
_SCORE = {False: (256, 8, 3), True: (128, 4, 3)}  # rows, warps, stages, if two thirds are enough
_SCORE_WIDE = 64, 4, 1  # the same for more than 64 columns
_TWO_THIRDS = 2.0**-16  # of |z| |L|: a product of two thirds each is off by less
_NEAR = 16.0  # nats below the usual score of its rows where a component hardly counts any more
_EXACT = 2.0**-5  # nats that a score may be off with two thirds; as a rule it is a twentieth of it
_SCORES = 2**29  # bytes of scores that are held at a time
_FLAT, _CURVED, _STUDENT = 2, 0, 1  # kinds of pairs, as the kernel knows them


@dataclass
class _Curved:
    """Components on the device as ``|z L - offset|^2`` forms, padded to ``width`` columns."""

    factors: Tensor  # (3, k, width, width), bfloat16: L in thirds
    offset: Tensor  # (k, width)
    numbers: Tensor  # (k, 3): value at the centre, power, const
    centre: Tensor  # (k, width)
    kind: int
    found: Tensor  # (k, 2), float64: whether it has no centre, and the length of L


class ManyColumns:
    """Passes over rows of 9 to 128 columns.

    Parameters
    ----------
    rows : QuadraticRows
        In float32. They may be on their way until a pass needs them.
    courier : Courier
    scratch : Scratch
    """

    def __init__(self, rows: QuadraticRows, courier: Courier, scratch: Scratch) -> None:
        self._n, self._d = rows.X.shape
        self._rows, self.device = rows, rows.device
        self._width = max(16, 1 << (self._d - 1).bit_length())
        self._courier, self._scratch = courier, scratch
        self._order: tuple[int, int, tuple[Tensor, Tensor, Tensor]] | None = None

    @cached_property
    def _Z(self) -> Tensor:
        """The rows (n, width), beyond their columns 0."""
        rows = self._rows.frame
        if self._width == self._d:
            return rows.contiguous()
        out = torch.zeros((self._n, self._width), device=self.device)
        out[:, : self._d] = rows
        return out

    @cached_property
    def _longest(self) -> float:
        """The length of the longest row."""
        return float(self._Z.norm(dim=1).max()) if self._n else 0.0

    @on_its_device
    def sweep(
        self, score: Forms, sub: Forms, k: int, key: Key | None, batch: Batch,
        aside: Aside,
    ) -> Pass | None:  # fmt: skip
        """Label every row, see `Engine.sweep`; None if a form has no centre."""
        device, width, n = self.device, self._width, self._n
        parts = self._carry(
            [score.eta, score.power, score.const, sub.eta, sub.power, sub.const],
            words_of(key, batch),
        )
        form, pairs = self._curved(parts[:3], score), self._curved(parts[3:6], sub)
        if form is None or pairs is None or form.kind == _FLAT:
            return None
        indefinite, norm = torch.cat([form.found, pairs.found]).cpu().numpy().T
        if indefinite.any():
            return None
        words, fixed = parts[6], batch.fixed
        n_all, tables = len(score.eta), copies(k)
        rivals, between = self._scratch.tables(k)
        slope = float((_slopes(score.power, 0.5 * self._d + _NEAR) * norm[:n_all]).max())
        two = self._longest * slope * _TWO_THIRDS <= _EXACT
        block, warps, stages = _SCORE_WIDE if width > 64 else _SCORE[two]
        ahead = min(grid(n, block) * block, max(block, _SCORES // (4 * n_all) // block * block))
        scores = self._scratch.take("scores", n_all * ahead)
        for first in range(0, n, ahead):
            m = min(ahead, n - first)
            kernels.score_many[(grid(m, block),)](
                self._Z, form.factors, form.offset, form.numbers, scores, first, n, n_all, ahead,
                d=width, student=score.student, two=two, block=block, num_warps=warps,
                num_stages=stages,
            )  # fmt: skip
            kernels.label_many[(grid(m, 256),)](
                scores, ahead, words, fixed, batch.weight, batch.z, rivals, between,
                first, n, n_all, k, tables, draw=key is not None, block=256, num_warps=4,
            )  # fmt: skip
        batch.touch()
        batch.sub.zero_()
        everyone = torch.ones(k, dtype=torch.int32, device=device)
        how = "both" if key is None else "drawn"
        sums = self._divide(pairs, form.centre[:k], everyone, words, batch.sub, how, batch)
        whole = torch.empty(2 * k * k, dtype=torch.float64, device=device)
        kernels.finish_tables[(grid(k * k, 256),)](
            rivals, between, fixed, whole, k, tables, block=256
        )
        aside.do()
        return self._read(torch.cat([sums, whole]), k, tables=True)

    @on_its_device
    def resplit(
        self, sub: Forms, chosen: NDArray[np.bool_], ledger: Ledger, batch: Batch
    ) -> Pass | None:
        """Try sub-labels; see `Engine.resplit`. None if a form is not curved the same way."""
        batch.settle()
        mid = np.zeros((len(chosen), self._width), dtype=np.float32)
        mid[:, : self._d] = ledger.centre(len(chosen))
        parts = self._carry(
            [sub.eta, sub.power, sub.const], mid, chosen.astype("i4"), words_of(None, batch)
        )
        pairs = self._curved(parts[:3], sub)
        if pairs is None or (pairs.kind != _FLAT and bool(pairs.found[:, 0].any())):
            return None
        mid_there = parts[3].view(len(chosen), self._width)
        sums = self._divide(pairs, mid_there, parts[4], parts[5], batch.trial, "best", batch)
        return self._read(sums, len(chosen), tables=False)

    def _carry(self, forms: list[Array], *others: NDArray[Any]) -> list[Tensor]:
        arrays = [*forms, *others]
        here = self._courier.room(*((a.shape, a.dtype.str[1:]) for a in arrays))
        for to, a in zip(here, arrays, strict=True):
            to[...] = a
        return self._courier.send()

    def _curved(self, forms: list[Tensor], of: Forms) -> _Curved | None:
        """Return the components about their centres, None if they have none but should have."""
        k, width, device = len(of.power), self._width, self.device
        flat = not of.eta[:, 1 + self._d :].any()
        if flat and of.student:
            return None
        size = (3, 1 if flat else k, width, width)
        factors = torch.empty(size, dtype=torch.bfloat16, device=device)
        offset, centre = torch.empty((2, k, width), device=device).unbind()
        numbers = torch.empty((k, 3), device=device)
        found = torch.empty((k, 2), dtype=torch.float64, device=device)
        factor_many[(k,)](
            *forms, factors, offset, numbers, centre, found, k,
            d=self._d, width=width, flat=flat, num_warps=min(16, max(1, width**2 // 512)),
        )  # fmt: skip
        kind = _STUDENT if of.student else _FLAT if flat else _CURVED
        return _Curved(factors, offset, numbers, centre, kind, found)

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
        how: str, batch: Batch,
    ) -> Tensor:  # fmt: skip
        """Give sub-labels; returns sums (k, 2, p), numbers of rows (k, 2) and doubts (k,).

        They are ``"drawn"`` or the ``"best"``; or rows go to ``"both"`` by their probabilities.
        """
        k, d, width, device = len(chosen), self._d, self._width, self.device
        order, begin, items = self._sorted(k, batch)
        n_items = self._n // _ROWS + k + 1
        shape = [2 * width * width, 2 * width, 8]
        parts = [self._scratch.take(f"part {i}", n_items * size) for i, size in enumerate(shape)]
        kernels.divide_many[(n_items,)](
            self._Z, order, begin, items, pairs.factors, pairs.offset, pairs.numbers, centre,
            chosen, words, batch.weight, to, *parts, k,
            d=width, k_padded=1 << (k - 1).bit_length(), rows=_ROWS, block=_SUB_BLOCK,
            kind=pairs.kind, draw=how == "drawn", both=how == "both",
            num_warps=8 if width > 64 else 4, num_stages=1,
        )  # fmt: skip
        totals = [torch.empty((k, size), dtype=torch.float64, device=device) for size in shape]
        for size, part, total in zip(shape, parts, totals, strict=True):
            kernels.finish_many[(k, grid(size, 512))](
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
        if not tables:
            return done
        rivals, between = rest.reshape(2, k, k)
        return done.with_tables(rivals.astype(np.int64), between)


def _slopes(power: Array, fall: float) -> Array:
    """Return by how much scores fall with the distance, at most, where they fell by so many nats.

    Those of Student-t components fall by ``power log(1 + distance^2)``, the others by its square.
    """
    square = np.minimum(np.expm1(np.minimum(fall / np.maximum(power, 1e-300), 1.0)), 1.0)
    curved = 2.0 * power * np.sqrt(square) / (1.0 + square)
    return np.where(power > 0, curved, 2.0 * fall**0.5)
