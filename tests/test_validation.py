"""What is given is checked: numbers that are finite."""

import numpy as np
import pytest

from scstream.validation import is_finite


@pytest.mark.parametrize(("rows", "n_threads"), [(40, 1), (6000, 1), (90_000, 3)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray, lambda X: X[::2]])
def test_numbers_and_their_squares_are_finite(layout, dtype, rows, n_threads):
    X = layout(np.random.default_rng(0).normal(size=(rows, 3)).astype(dtype))
    assert is_finite(X, n_threads)
    X[4, 1] = 1e154 if dtype is np.float64 else np.finfo(dtype).max
    assert is_finite(X, n_threads)
    too_large = [1e155, -1e300] if dtype is np.float64 else []
    for value in (np.nan, np.inf, -np.inf, *too_large):
        X[4, 1] = value
        assert not is_finite(X, n_threads)
