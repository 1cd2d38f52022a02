"""Rows of streams whose clusters move, come, go and meet, and the families that they are of."""

from typing import Any

import numpy as np

from scstream import Product

_MIX = np.random.default_rng(5).normal(size=(2, 16))


def places(b: int) -> np.ndarray:
    """Return where clusters are in batch b: one stays, one goes there, others jump, come and go."""
    out = [(0.0, 0.0), (6.0 - 0.5 * b, 0.5)]
    if b >= 3:
        out.append((0.0, 7.0 + 0.2 * b))
    if b <= 4:
        out.append((-7.0, -3.0))
    out.append((7.0, 7.0) if b < 5 else (9.0, -6.0))
    if b == 6:
        out.append((-6.0, 6.0))
    return np.array(out)


def rows(kind: str, b: int, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of batch b, and which cluster each is of."""
    rng = np.random.default_rng([seed, b])
    centres = places(b)
    y = rng.integers(len(centres), size=n)
    q = centres[y]
    if kind.startswith("gaussian"):
        d = int(kind[-1])
        return (q if d == 2 else q @ _MIX[:, :d]) + rng.normal(size=(n, d)), y
    if kind == "poisson":
        return rng.poisson(np.exp(1.2 + q @ _MIX[:, :4] / 6.0)).astype(float), y
    if kind == "multinomial":
        odds = np.exp(q @ _MIX[:, :6] / 4.0)
        return rng.multinomial(30, odds / odds.sum(axis=1, keepdims=True)).astype(float), y
    clicks, up = (
        rng.poisson(np.exp(1.0 + q[:, 0] / 5.0)),
        rng.random(n) < 1 / (1 + np.exp(-q[:, 1])),
    )
    return np.column_stack([q + rng.normal(size=(n, 2)), clicks, up]), y


def family_of(kind: str) -> Any:
    """Return the family as the package takes it."""
    if kind == "product":
        return Product([("gaussian", [0, 1]), ("poisson", [2]), ("categorical", [3])])
    return kind.split("-")[0]
