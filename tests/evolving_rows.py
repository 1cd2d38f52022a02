"""Rows of streams whose clusters move, come, go and meet, and the families that they are of."""

from typing import Any

import numpy as np
from reference import families as plain

from scstream import Product
from scstream.families import Diagonal, Student

_MIX = np.random.default_rng(5).normal(size=(2, 16))
_WORDS = np.random.default_rng(6).normal(size=(2, 512))
_COLUMNS = {
    "gaussian-1": 1, "gaussian-2": 2, "gaussian-5": 5, "gaussian-16": 16, "diagonal": 3,
    "student-2": 2, "light-2": 2, "heavy-2": 2, "heavy-3": 3,
}  # fmt: skip
_TAILS = {"student-2": 4.0, "heavy-2": 3.0, "heavy-3": 3.0}  # degrees of freedom of rows


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


def rows(
    kind: str, b: int, n: int, seed: int, at: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of batch b, and which cluster each is of; places may be another batch's."""
    rng = np.random.default_rng([seed, b])
    centres = places(b if at is None else at)
    y = rng.integers(len(centres), size=n)
    q = centres[y]
    if kind in _COLUMNS:
        d = _COLUMNS[kind]
        noise = rng.normal(size=(n, d))
        if kind in _TAILS:
            noise /= np.sqrt(rng.chisquare(_TAILS[kind], size=(n, 1)) / _TAILS[kind])
        return (q if d == 2 else q @ _MIX[:, :d]) + noise, y
    if kind == "poisson":
        return rng.poisson(np.exp(1.2 + q @ _MIX[:, :4] / 6.0)).astype(float), y
    if kind == "multinomial":
        odds = np.exp(q @ _MIX[:, :6] / 4.0)
        return rng.multinomial(30, odds / odds.sum(axis=1, keepdims=True)).astype(float), y
    if kind in ("topics", "bursts"):  # rows of few words, which come in bursts or do not
        odds = np.exp(q @ _MIX / 4.5)
        if kind == "bursts":
            odds = rng.standard_gamma(3.0 * odds / odds.sum(axis=1, keepdims=True)) + 1e-9
        words = rng.integers(10, 21, size=n)
        return rng.multinomial(words, odds / odds.sum(axis=1, keepdims=True)).astype(float), y
    if kind == "lines":  # rows of words of their kind and others, none of them twice
        X, known = np.zeros((n, 512)), np.argsort(-q @ _WORDS, axis=1, kind="stable")[:, :5]
        np.put_along_axis(X, np.column_stack([known, rng.integers(512, size=(n, 3))]), 1.0, axis=1)
        return X, y
    clicks, up = (
        rng.poisson(np.exp(1.0 + q[:, 0] / 5.0)),
        rng.random(n) < 1 / (1 + np.exp(-q[:, 1])),
    )
    return np.column_stack([q + rng.normal(size=(n, 2)), clicks, up]), y


def slow_rows(b: int, n: int, seed: int) -> np.ndarray:
    """Return the rows of batch b as a sensor follows: long in one of two places, slowly there."""
    rng = np.random.default_rng([seed, b, 2])
    centre = np.repeat([[0.0, 0.0], [9.0, 5.0]], [n // 2, n - n // 2], axis=0)
    away, X = rng.normal(size=2), np.empty((n, 2))
    for i, noise in enumerate(rng.normal(size=(n, 2))):
        away = 0.95 * away + np.sqrt(1.0 - 0.95**2) * noise
        X[i] = centre[i] + away
    return X


def parting(b: int, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of batch b of one wide cluster that is two from the fourth batch on."""
    rng = np.random.default_rng([seed, b])
    X = rng.normal(size=(n, 2))
    X[:, 0] = 6.0 * X[:, 0] if b < 3 else X[:, 0] + rng.choice([-6.0, 6.0], size=n)
    return X, np.zeros(n, dtype=np.int64)


def _mixed(kind: str) -> Product:
    counts = "negative-binomial" if kind == "product, wide counts" else "poisson"
    return Product([("gaussian", [0, 1]), (counts, [2]), ("categorical", [3])])


def family_of(kind: str) -> Any:
    """Return the family as the package takes it."""
    if kind.startswith("heavy"):
        return Student(df=3.0)
    if kind.startswith("light"):
        return Student()
    if kind in ("topics", "bursts", "lines"):
        return "multinomial"
    return _mixed(kind) if kind.startswith("product") else kind.split("-")[0]


def plain_family_of(kind: str) -> Any:
    """Return the family as the reference takes it: written out, or by its contract."""
    if kind == "diagonal":
        return plain.ByContract(Diagonal())
    if kind.startswith("product"):
        return plain.ByContract(_mixed(kind))
    if kind.startswith("heavy"):
        return plain.Student(given=3.0)
    if kind.startswith(("light", "student")):
        return plain.Student()
    written = {"gaussian": plain.Gaussian, "poisson": plain.Poisson}
    return written.get(kind.split("-")[0], plain.Multinomial)()
