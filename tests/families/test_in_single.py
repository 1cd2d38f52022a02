"""Products in single precision are off by no more than they say."""

import numpy as np
import pytest

from scstream.families.in_single import InSingle
from scstream.kernels.compiling import bare
from scstream.kernels.nearby import fill_columns, multiply
from scstream.kernels.screened_tiles import TILE

K = 8


@bare
def filled(Z, order, cols, off, reach, narrow, which, cell):
    fill_columns(Z, order, cols, off, reach)
    multiply(cols, narrow, which, cell)


def products(eta, Z):
    """Return products (n, k) in single precision, and how far they may be off (n,)."""
    made = InSingle.of(eta)
    cols = np.zeros(TILE * made.narrow.shape[1], dtype=np.float32)
    off, cell = np.empty(TILE, np.float32), np.empty(TILE * K, np.float32)
    order, which = np.arange(len(Z)), np.arange(K)
    filled(Z, order, cols, off, made.reach, made.narrow, which, cell)
    return cell.reshape(K, TILE)[:, : len(Z)].T.astype(float), off[: len(Z)].astype(float)


def statistics(Z):
    i, j = np.triu_indices(Z.shape[1])
    return np.hstack([np.ones((len(Z), 1)), Z, Z[:, i] * Z[:, j]])


@pytest.mark.parametrize("d", [2, 5, 16])
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e6])
def test_they_are_off_by_no_more_than_they_say(d, size):
    rng = np.random.default_rng([d, int(1e3 * size)])
    Z = size * rng.standard_cauchy(size=(50, d))
    T = statistics(Z)
    eta = rng.normal(size=(K, T.shape[1])) * rng.lognormal(0.0, 3.0, size=(K, T.shape[1]))
    got, off = products(eta, Z)
    error = np.abs(got - T @ eta.T).max(axis=1)
    assert (error <= off).all()
    assert (error > 1e-4 * off).any()  # which is not far more than they are


def test_what_is_too_large_for_it_has_no_bound():
    eta = np.ones((K, 6))
    eta[3, 4] = 1e35
    _, off = products(eta, np.ones((3, 2)))
    assert np.isinf(off).all()
