"""Rows of many columns: distances by triangular factors, and sums of products."""

import numpy as np
from numpy.testing import assert_allclose


def test_distances_are_those_of_single_rows(core):
    rng = np.random.default_rng(0)
    Z, W, b = (
        rng.normal(size=(50, 18)),
        np.tril(rng.normal(size=(4, 18, 18))),
        rng.normal(size=(4, 18)),
    )
    rows, which = (at.copy() for at in np.nonzero(rng.random((50, 4)) < 0.6))
    out = np.empty(len(rows))
    core.distances(Z, W, b, rows, which, np.zeros(0), out)
    exact = [((W[c] @ Z[i] - b[c]) ** 2).sum() for i, c in zip(rows, which, strict=True)]
    assert_allclose(out, exact, rtol=1e-12)


def test_parts_of_distances_are_enough_beyond_limits(core):
    rng = np.random.default_rng(2)
    Z, W, b = rng.normal(size=(90, 21)), np.tril(rng.normal(size=(3, 21, 21))), np.ones((3, 21))
    which, rows = np.repeat(np.arange(3), 90), np.tile(np.arange(90), 3)
    whole, some, first = np.empty(270), np.empty(270), np.empty((90, 3))
    core.distances(Z, W, b, rows, which, np.zeros(0), whole)
    far = whole * rng.choice([0.3, 3.0], 270)
    core.distances(Z, W, b, rows, which, far, some)
    assert (some[whole <= far] == whole[whole <= far]).all()
    assert (some[whole > far] > far[whole > far]).all()
    core.leading_distances(Z, W, b, 7, first)
    exact = [[((W[c, :7] @ z - b[c, :7]) ** 2).sum() for c in range(3)] for z in Z]
    assert_allclose(first, exact, rtol=1e-12)


def test_factors_are_inverted(core):
    rng = np.random.default_rng(3)
    L = np.tril(rng.normal(size=(5, 19, 19))) + 6.0 * np.eye(19)
    factors = np.concatenate([np.ones((5, 20)), L[:, *np.tril_indices(19)]], axis=1)
    W = np.full(L.shape, np.nan)
    core.invert_factors(factors, W)
    assert_allclose(W @ L, np.broadcast_to(np.eye(19), L.shape), atol=1e-12)
    assert (np.triu(W, 1) == 0.0).all()


def test_products_are_summed_by_label_and_share(core):
    rng = np.random.default_rng(1)
    Z, weight, share = rng.normal(size=(60, 17)), rng.uniform(0.5, 2.0, 60), rng.random(60)
    share[:20], share[20:40] = 0.0, 1.0
    z = rng.integers(-1, 4, size=60)
    out = np.empty((3, 2, 1 + 17 + 17 * 18 // 2))
    core.sum_products(Z, weight, share, z, out)
    i, j = np.triu_indices(17)
    T = np.column_stack([np.ones(60), Z, Z[:, i] * Z[:, j]])
    for c in range(3):
        own = z == c
        for side, part in enumerate((1.0 - share, share)):
            assert_allclose(out[c, side], (weight * part)[own] @ T[own], rtol=1e-11, atol=1e-12)
