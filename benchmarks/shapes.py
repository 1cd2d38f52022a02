"""Streams of clusters that are not Gaussian: skewed, flat, heavy-tailed or bent; slow drift."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

Draw = Callable[[np.random.Generator, int, int], np.ndarray]  # (generator, rows, columns)
Batches = list[tuple[np.ndarray, np.ndarray]]


def gaussian(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.normal(size=(n, d))


def log_normal(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return np.exp(0.7 * rng.normal(size=(n, d)))


def square(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.uniform(-2.0, 2.0, size=(n, d))


def student(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Draw with three degrees of freedom."""
    return rng.normal(size=(n, d)) / np.sqrt(rng.chisquare(3, size=(n, 1)) / 3)


def gamma(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.gamma(2.0, size=(n, d))


def crescent(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Draw the upper half of a circle of radius 3."""
    return _arc(rng, n, np.pi)


def facing(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Draw a crescent whose one end lies in the hollow of the other crescent."""
    return np.array([3.0, 1.5]) - _arc(rng, n, np.pi)


def ring(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return _arc(rng, n, 2 * np.pi)


def spot(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Draw what lies within a ring."""
    return 0.5 * rng.normal(size=(n, d))


def _arc(rng: np.random.Generator, n: int, length: float) -> np.ndarray:
    angle, radius = rng.uniform(0.0, length, n), 3.0 + 0.2 * rng.normal(size=n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


SKEWED, FLAT, HEAVY = (log_normal,), (square,), (student,)
PAIR, AROUND = (crescent, facing), (ring, spot)


def shapes(
    seed: int,
    places: Sequence[tuple[Draw, ...]],
    d: int = 2,
    *,
    n_batches: int = 40,
    size: int = 1000,
    apart: float = 12.0,
    speed: float = 2.0,
) -> Batches:
    """Return clusters at places of a box, one or several that belong together at each.

    Each place has its own rotation and scale, and moves on a straight line, ``speed`` by column
    over the stream. The centres of two places are at least ``apart`` from each other at the start.
    """
    rng = np.random.default_rng(seed)
    centres = _centres(rng, len(places), d, apart)
    way = speed * rng.normal(size=centres.shape)
    turn = np.linalg.qr(rng.normal(size=(len(places), d, d)))[0]
    scale = rng.uniform(0.7, 1.3, len(places))
    kinds = [(place, draw) for place, draws in enumerate(places) for draw in draws]
    batches = []
    for b in range(n_batches):
        y = rng.integers(len(kinds), size=size)
        X = np.empty((size, d))
        for label, (place, draw) in enumerate(kinds):
            rows = np.flatnonzero(y == label)
            own = scale[place] * draw(rng, len(rows), d) @ turn[place]
            X[rows] = centres[place] + way[place] * b / max(n_batches - 1, 1) + own
        batches.append((X, y))
    return batches


def _centres(rng: np.random.Generator, k: int, d: int, apart: float) -> np.ndarray:
    """Return places (k, d), none too near another, in a box that grows until they fit."""
    width, out = apart, np.zeros((0, d))
    while len(out) < k:
        width *= 1.01
        one = rng.uniform(-width, width, d)
        if len(out) == 0 or np.linalg.norm(out - one, axis=1).min() >= apart:
            out = np.vstack([out, one])
    return out


SHAPES: dict[str, Callable[[int], Batches]] = {
    "log-normal, 3-D": lambda s: shapes(s, 6 * [SKEWED], 3),
    "squares": lambda s: shapes(s, 6 * [FLAT], apart=9.0),
    "Student-t": lambda s: shapes(s, 8 * [HEAVY], apart=20.0),
    "gamma": lambda s: shapes(s, 6 * [(gamma,)]),
    "crescents and rings": lambda s: shapes(s, 3 * [PAIR] + 2 * [AROUND]),
    "all shapes": lambda s: shapes(
        s, [SKEWED, FLAT, HEAVY, (gamma,), PAIR, AROUND, (gaussian,)], apart=16.0
    ),
}
