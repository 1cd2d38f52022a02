"""Uniforms and draws on a device, the same as those of the core: by `kernels` on a GPU."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from scstream.engines.base import Key
from scstream.engines.torch import kernels

_M0, _M1 = 0xD2511F53, 0xCD9E8D57
_W0, _W1 = 0x9E3779B9, 0xBB67AE85
_LOW = 0xFFFFFFFF
# A gap between log-probabilities that is taken for certainty. It is wider than on the CPU, since
# that costs nothing here: one row in seventy thousand million may be drawn otherwise.
_CERTAIN = 36.0


def uniforms(key: Key, first: int, n: int, device: torch.device) -> Tensor:
    """Return uniforms (2, n) in [0, 1), float64, for rows from ``first`` on."""
    if kernels.serve(device):
        words = np.array([key.seed, key.sweep, key.batch, first], dtype=np.uint64).view(np.int64)
        return kernels.uniforms(torch.from_numpy(words).to(device, non_blocking=True), n)
    return torch.stack(_random_bits(key, first, n, device)).double() * 2.0**-53


def _random_bits(key: Key, first: int, n: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return two times 53 random bits (n,), as int64.

    Philox 4x32 with ten rounds: the counter is (row, sweep, batch), the key is the seed. A
    product of two 32-bit numbers may wrap around to a negative int64: its bits are right.
    """
    row = torch.arange(first, first + n, dtype=torch.int64, device=device)
    c0, c1 = row & _LOW, row >> 32
    c2 = torch.full_like(row, key.sweep & _LOW)
    c3 = torch.full_like(row, key.batch & _LOW)
    k0, k1 = key.seed & _LOW, (key.seed >> 32) & _LOW
    for _ in range(10):
        p0, p1 = c0 * _M0, c2 * _M1
        c0 = ((p1 >> 32) & _LOW) ^ c1 ^ k0
        c2 = ((p0 >> 32) & _LOW) ^ c3 ^ k1
        c1, c3 = p1 & _LOW, p0 & _LOW
        k0, k1 = (k0 + _W0) & _LOW, (k1 + _W1) & _LOW
    return (c0 << 21) | (c1 >> 11), (c2 << 21) | (c3 >> 11)


def label(
    scores: Tensor, student: Sequence[Tensor] | None, u: Tensor | None, units: Tensor,
    z: Tensor, tables: Tensor,
) -> None:  # fmt: skip
    """Draw labels (n,) with probability proportional to ``exp(scores)`` (k or more, n).

    Without uniforms (n,) they are the best, the smaller of equals; those of k or more become -1.
    The tables (2, k, k) get how often each label has each other as the best other one, and the
    entropies about that, minus the log-probability of the one against the other, in units (n,).
    With levels and powers scores are still products, see `finished`.
    """
    if kernels.serve(scores.device):
        kernels.label(scores, student, u, units, z, tables)
        return
    k = tables.shape[-1]
    scores = finished(scores.double(), student)
    pick = scores.argmax(dim=0) if u is None else _drawn(scores, u)
    own = scores.gather(0, pick[None])
    runner, second = scores.scatter(0, pick[None], -torch.inf).max(dim=0)
    entropy = certainty(runner - own[0])
    z.copy_(torch.where(pick < k, pick, -1))
    met = (pick < k) & (second < k) & (runner > -torch.inf)
    cell, rivals = pick[met] * k + second[met], torch.ones_like(pick[met])
    tables[0].view(-1).index_add_(0, cell, rivals)
    tables[1].view(-1).index_add_(0, cell, (units * entropy + 0.5).long()[met])


def finished(q: Tensor, student: Sequence[Tensor] | None) -> Tensor:
    """Return scores by products (k, n): those that have a power are in a logarithm."""
    if student is None:
        return q
    level, power = student
    return torch.where(power > 0.0, level - power * torch.log(q.clamp(min=1.0)), q)


def _drawn(scores: Tensor, u: Tensor) -> Tensor:
    gap = scores - scores.amax(dim=0)
    weight = torch.where(gap > -_CERTAIN, torch.exp(gap), 0.0)
    level = weight.cumsum(dim=0)
    pick = (level <= u * level[-1]).sum(dim=0)
    last = len(scores) - 1 - (weight > 0).flip(0).to(torch.uint8).argmax(dim=0)  # with any weight
    return torch.minimum(pick, last)


def certainty(gap: Tensor) -> Tensor:
    """Return minus the log-probability of a label that leads another by ``-gap``."""
    inside = torch.log1p(torch.exp(gap.clamp(max=_CERTAIN)))
    return torch.where(gap > _CERTAIN, gap, torch.where(gap < -_CERTAIN, 0.0, inside))


def sides(gap: Tensor, v: Tensor | None, index: Tensor, how: str) -> tuple[Tensor, Tensor, Tensor]:
    """Divide rows (b, m) with these numbers by how much the second of two scores leads.

    Returns whether sub-labels are the second ones, by how much the rows are there, and entropies.
    They are the best or, by uniforms (n + 1,), drawn. Shared ones are shared by probabilities, and
    the entropy is an entropy: that expected of a sub-label that is drawn.
    """
    one = gap > 0.0
    if v is not None:
        likely = v[index] * (1.0 + torch.exp(-gap.clamp(min=-_CERTAIN))) < 1.0
        one = (gap > _CERTAIN) | ((gap > -_CERTAIN) & likely)
    entropy, share = certainty(torch.where(one, -gap, gap)), one.double()
    if how == "shared":
        size = gap.abs()
        less = torch.where(size < _CERTAIN, torch.sigmoid(-size), 0.0)
        entropy += less * size.clamp(max=_CERTAIN)
        share = torch.where(one, 1.0 - less, less)
    return one, share, entropy
