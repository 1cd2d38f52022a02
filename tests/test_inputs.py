"""Rows on their way in."""

import numpy as np
import pytest

from scstream.inputs import _is_finite


@pytest.mark.parametrize("rows", [40, 6000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray, lambda X: X[::2]])
def test_numbers_are_finite_even_where_their_squares_are_not(layout, dtype, rows):
    X = layout(np.random.default_rng(0).normal(size=(rows, 3)).astype(dtype))
    assert _is_finite(X)
    X[4, 1] = np.finfo(dtype).max
    assert _is_finite(X)
    for value in (np.nan, np.inf, -np.inf):
        X[4, 1] = value
        assert not _is_finite(X)
