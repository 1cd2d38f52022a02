"""Draws and best labels in plain PyTorch operations, the same as those of the CPU's kernels."""

from __future__ import annotations

import torch
from torch import Tensor

from scstream.engines.base import Key

_M0, _M1 = 0xD2511F53, 0xCD9E8D57
_W0, _W1 = 0x9E3779B9, 0xBB67AE85
_LOW = 0xFFFFFFFF
# A gap between log-probabilities that is taken for certainty. It is wider than on the CPU, since
# that costs nothing here: one row in seventy thousand million may be drawn otherwise.
_CERTAIN = 36.0


def random_bits(key: Key, first: int, n: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return two times 53 random bits (n,) for rows from ``first`` on, as int64.

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


def uniforms(key: Key, first: int, n: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return two times n uniforms in [0, 1), float64."""
    a, b = random_bits(key, first, n, device)
    return a.double() * 2.0**-53, b.double() * 2.0**-53


def certainty(gap: Tensor) -> Tensor:
    """Return minus the log-probability of a label that leads another by ``-gap``."""
    inside = torch.log1p(torch.exp(gap.clamp(max=_CERTAIN)))
    return torch.where(gap > _CERTAIN, gap, torch.where(gap < -_CERTAIN, 0.0, inside))


def draw(scores: Tensor, u: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Draw labels (n,) with probability proportional to ``exp(scores)`` (n, k).

    Also returns the best other label, -1 if there is none, and the doubt: minus the
    log-probability of the drawn label against that one.
    """
    gap = scores - scores.amax(dim=1, keepdim=True)
    weight = torch.where(gap > -_CERTAIN, torch.exp(gap), 0.0)
    level = weight.cumsum(dim=1)
    pick = (level <= (u.to(scores.dtype) * level[:, -1])[:, None]).sum(dim=1)
    k = scores.shape[1]
    last = k - 1 - (weight > 0).flip(1).to(torch.uint8).argmax(dim=1)  # of those with any weight
    return _with_second(scores, torch.minimum(pick, last))


def best(scores: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the best labels, the smaller of equals; the rest as in `draw`."""
    return _with_second(scores, scores.argmax(dim=1))


def _with_second(scores: Tensor, pick: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    own = scores.gather(1, pick[:, None])
    others = scores.scatter(1, pick[:, None], -torch.inf)
    second = others.argmax(dim=1)
    runner = others.gather(1, second[:, None])
    second = torch.where(runner[:, 0] == -torch.inf, -1, second)
    return pick, second, certainty(runner - own)[:, 0]


def draw_pair(pairs: Tensor, u: Tensor) -> tuple[Tensor, Tensor]:
    """Draw one of two sub-labels (n,) by their scores (n, 2); also returns the doubts."""
    gap = pairs[:, 1] - pairs[:, 0]
    likely = u.to(gap.dtype) * (1.0 + torch.exp(-gap.clamp(min=-_CERTAIN))) < 1.0
    one = (gap > _CERTAIN) | ((gap > -_CERTAIN) & likely)
    return one.long(), certainty(torch.where(one, -gap, gap))


def share_pair(pairs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the better of two sub-labels (n,), the probabilities of the second, and the entropies.

    An entropy is the doubt expected of a sub-label that is drawn.
    """
    gap = pairs[:, 1] - pairs[:, 0]
    size = gap.abs()
    less = torch.where(size < _CERTAIN, torch.sigmoid(-size), 0.0)
    better = gap > 0.0
    doubt = certainty(-size) + less * size.clamp(max=_CERTAIN)
    return better.long(), torch.where(better, 1.0 - less, less), doubt


def best_pair(pairs: Tensor) -> tuple[Tensor, Tensor]:
    """Return the better of two sub-labels (n,) and the doubts."""
    gap = pairs[:, 1] - pairs[:, 0]
    return (gap > 0.0).long(), certainty(-gap.abs())
