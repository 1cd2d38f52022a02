"""What the native core computes of rows has the same bits on every processor."""

from hashlib import sha256

import numpy as np
import pytest

from scstream.core import Cut, Rows, Scores

native = pytest.importorskip(
    "scstream.core.native._compiled", reason="the native core was not built"
)
NONE = np.zeros(0)
HASHES = {
    "1000-1-3": "6d8b752b4e27ae5e",
    "1000-2-20": "b206ab2344b23add",
    "1000-2-20-best": "9884f71b0f381da7",
    "3000-5-80": "893882ab42469fe1",
    "3000-5-80-student": "76f4ffe9e7b4cb20",
    "3000-5-80-student-best": "ea775669e8c1e995",
    "2000-10-50": "7c27333ff327bf90",
    "2000-10-50-student": "5db3ba208889b3e8",
    "500-31-7": "ff14671ee2e6dfcb",
    "63-3-2": "f9040a7d3a840d27",
    "300-33-4": "547768d34a969cb8",
    "100-64-9": "9ab1bd44fc1c04b5",
}


def numbers(seed, *shape):
    """Return numbers that are multiples of 1/64, from -8 to 8."""
    u = np.empty((2, int(np.prod(shape))))
    native.uniforms((seed, 1, 1, 0), u)
    return (np.floor(1024.0 * u[0]) / 64.0 - 8.0).reshape(shape)


def components(centre, *, student):
    """Return unit spheres about centres, or Student-t densities: all sums in them are exact."""
    k, d = centre.shape
    i, j = np.triu_indices(d)
    eta = np.zeros((k, 1 + d + len(i)))
    eta[:, 0], eta[:, 1 : 1 + d] = -0.5 * (centre**2).sum(axis=1), centre
    eta[:, 1 + d + np.flatnonzero(i == j)] = -0.5
    if not student:
        return Scores(eta, NONE, NONE)
    eta *= -0.25
    eta[:, 0] += 1.0
    return Scores(eta, numbers(9, k), np.full(k, 4.5))


def swept(n, d, k, student, drawn):
    """Return labels, sub-labels and sums of a sweep, and what trying other sub-labels gives."""
    centre = numbers(2, k, d)
    rows = Rows(numbers(1, n, d), np.zeros(d), np.full(d, 2.0))
    weight = np.abs(numbers(3, n)) + 1.0
    scores = components(centre, student=student)
    parts = np.repeat(centre, 2, axis=0) + 0.125 * numbers(4, 2 * k, d)
    pairs = components(parts, student=student)
    z, sub, trial = (np.zeros(n, np.int64) for _ in range(3))
    p = scores.eta.shape[1]
    sums = (
        np.empty((k, 2, p)), np.empty((k, 2), np.int64), np.empty((k, k), np.int64),
        np.empty((k, k)),
    )  # fmt: skip
    key, cut = (5, 6, 7, 8) if drawn else None, Cut(4096, 0, 1)
    native.sweep(rows, weight, scores, pairs, key, z, sub, cut, sums)
    tried = np.empty((k, 2, p)), np.empty(k)
    other = components(parts[::-1].copy(), student=student)
    native.try_sublabels(rows, weight, other, np.arange(k) % 2 == 0, z, trial, cut, tried)
    return z, sub, *sums, trial, *tried


def wide(n, d, k):
    """Return distances of rows of many columns, and sums."""
    Z, W = numbers(1, n, d), np.tril(numbers(2, k, d, d)) / 8.0
    b, out = numbers(3, k, d), np.empty(n * k)
    which, rows = np.repeat(np.arange(k), n), np.tile(np.arange(n), k)
    native.distances(Z, W, b, rows, which, NONE, out)
    first, sums = np.empty((n, k)), np.empty((k, 2, (d + 1) * (d + 2) // 2))
    native.leading_distances(Z, W, b, d // 4, first)
    share = np.abs(numbers(5, n)) / 8.0
    native.sum_products(Z, np.abs(numbers(4, n)), share, np.arange(n) % k, sums)
    return out, first, sums


SHAPES = {
    "1000-1-3": (swept, 1000, 1, 3, False, True),
    "1000-2-20": (swept, 1000, 2, 20, False, True),
    "1000-2-20-best": (swept, 1000, 2, 20, False, False),
    "3000-5-80": (swept, 3000, 5, 80, False, True),
    "3000-5-80-student": (swept, 3000, 5, 80, True, True),
    "3000-5-80-student-best": (swept, 3000, 5, 80, True, False),
    "2000-10-50": (swept, 2000, 10, 50, False, False),
    "2000-10-50-student": (swept, 2000, 10, 50, True, True),
    "500-31-7": (swept, 500, 31, 7, False, True),
    "63-3-2": (swept, 63, 3, 2, True, False),
    "300-33-4": (wide, 300, 33, 4),
    "100-64-9": (wide, 100, 64, 9),
}


@pytest.mark.parametrize("name", SHAPES)
def test_the_bits_are_those_of_other_processors(name):
    job, *shape = SHAPES[name]
    found = sha256()
    for array in job(*shape):
        found.update(array.tobytes())
    assert found.hexdigest()[:16] == HASHES[name]
