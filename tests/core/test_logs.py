"""Logarithms of forms of single columns, against NumPy and both ways of asking."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from scstream.core import plain

ALL = np.zeros(0, np.int64)


@pytest.mark.parametrize("same", [True, False])
@pytest.mark.parametrize(("n", "d", "k"), [(1, 1, 2), (64, 3, 4), (150, 30, 6)])
def test_logs_of_forms_are_subtracted(core, n, d, k, same):
    rng = np.random.default_rng(n)
    x = rng.normal(size=(n, d)) * 10.0 ** rng.integers(0, 60, d)
    seen = (rng.random((n, d)) < 0.8).astype(float)
    T = np.column_stack([np.ones(n), seen, x * seen, x**2 * seen])
    h, m = rng.gamma(1.0, 1.0, (2, k, d))
    power = np.full((k, d), 2.5) if same else np.round(4.0 * rng.random((k, d))) + 0.5
    forms = 1.0 + h * m * m, -2.0 * h * m, h, power
    out = np.ones((n, k))
    core.subtract_logs(T, forms, ALL, out)
    far = h * (x[:, None] - m) ** 2
    expected = 1.0 - (power * np.log1p(far) * seen[:, None]).sum(axis=2)
    assert_allclose(out, expected, rtol=1e-10, atol=1e-10)
    z, own = rng.integers(k // 2, size=n), np.ones((n, 2))
    core.subtract_logs(T, forms, z, own)
    assert_array_equal(own, out[np.arange(n)[:, None], 2 * z[:, None] + [0, 1]])


def test_forms_that_rounding_put_below_1_are_1(core):
    T = np.array([[1.0, 1.0, 1.0, 0.0]])
    forms = tuple(np.full((2, 1), value) for value in (1.0, -3.0, 0.0, 5.0))
    out = np.zeros((1, 2))
    core.subtract_logs(T, forms, ALL, out)
    assert_array_equal(out, 0.0)


def test_arrays_that_do_not_fit_are_refused(core):
    if core is plain:
        pytest.skip("NumPy says what is wrong in its own words")
    forms, T = (np.ones((4, 2)),) * 4, np.ones((5, 7))
    for rows, z, out in [
        (T[:, :6].copy(), ALL, np.ones((5, 4))),
        (T, ALL, np.ones((5, 3))),
        (T, np.full(5, 2), np.ones((5, 2))),
        (T, np.full(5, -1), np.ones((5, 2))),
    ]:
        with pytest.raises(ValueError, match=r"rows|label"):
            core.subtract_logs(rows, forms, z, out)
