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


def ell(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Draw an L: two even strips at a right angle."""
    along, across = rng.uniform(-4.0, 4.0, n), rng.uniform(-0.6, 0.6, n)
    flat, steep = np.column_stack([-along, across]), np.column_stack([across, along])
    return np.where(along[:, None] < 0.0, flat, steep)


def cross(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Draw two even strips across each other, with soft borders."""
    along, across = rng.uniform(-4.0, 4.0, n), 0.4 * rng.normal(size=n)
    flat, steep = np.column_stack([along, across]), np.column_stack([across, along])
    return np.where(rng.random((n, 1)) < 0.5, flat, steep)


def ellipse(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.normal(size=(n, d)) * np.geomspace(2.5, 0.5, d)


def wide(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return 1.6 * rng.normal(size=(n, d))


def tiny(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return 0.2 * rng.normal(size=(n, d))


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
    power: float = 0.0,
) -> Batches:
    """Return clusters at places of a box, one or several that belong together at each.

    Each place has its own rotation and scale, and moves on a straight line, ``speed`` by column
    over the stream. The centres of two places are at least ``apart`` from each other at the start.
    The weight of cluster i falls as ``i ** -power``.
    """
    rng = np.random.default_rng(seed)
    centres = _centres(rng, len(places), d, apart)
    way = speed * rng.normal(size=centres.shape)
    turn = np.linalg.qr(rng.normal(size=(len(places), d, d)))[0]
    scale = rng.uniform(0.7, 1.3, len(places))
    kinds = [(place, draw) for place, draws in enumerate(places) for draw in draws]
    weight = np.arange(1.0, len(kinds) + 1.0) ** -power
    batches = []
    for b in range(n_batches):
        if power:
            y = rng.choice(len(kinds), size=size, p=weight / weight.sum())
        else:
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
    "L shapes": lambda s: shapes(s, 6 * [(ell,)]),
    "crosses": lambda s: shapes(s, 6 * [(cross,)]),
    "shapes of power-law sizes": lambda s: shapes(
        s, [SKEWED, FLAT, (gamma,), (gaussian,), FLAT, (gaussian,), (ell,)], power=1.0
    ),
    "ellipses": lambda s: shapes(s, 12 * [(ellipse,)], apart=8.0),
    "two scales": lambda s: shapes(s, 5 * [(wide,), (tiny,)], apart=10.0),
    "power-law sizes": lambda s: shapes(s, 15 * [(gaussian,)], apart=7.0, power=1.2),
}
