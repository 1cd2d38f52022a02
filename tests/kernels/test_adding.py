"""Large arrays are added up on threads, to the bit as NumPy adds them."""

import numpy as np
import pytest

from scstream.kernels.adding import added
from scstream.support.threads import allowed

SHAPES = [(3, 5), (0, 5), (40, 2, 2000), (7, 40_001), (150_001,)]


@pytest.fixture
def pair(request):
    return np.random.default_rng(0).normal(size=(2, *request.param))


@pytest.mark.parametrize("pair", SHAPES, indirect=True)
@pytest.mark.parametrize("n_threads", [1, 3])
def test_arrays_are_added_as_numpy_adds_them(pair, n_threads):
    a, b = pair
    with allowed(n_threads):
        np.testing.assert_array_equal(added(a, b), a + b)
        expected = a + b
        assert added(a, b, a) is a
    np.testing.assert_array_equal(a, expected)


@pytest.mark.parametrize("pair", [(80, 3, 2000)], indirect=True)
@pytest.mark.parametrize(
    "part",
    [
        lambda x: x[:, 1],  # rows apart
        lambda x: x[:, :, ::2],  # numbers apart
        lambda x: x[::-1],  # rows from last to first
        lambda x: x.transpose(1, 0, 2),
        lambda x: x.astype(np.float32),
    ],
)
def test_arrays_in_any_order_of_memory_are_added(pair, part):
    a, b = pair
    out = np.full((80, 3, 2000), np.nan)
    with allowed(3):
        np.testing.assert_array_equal(added(part(a), part(b)), part(a) + part(b))
        np.testing.assert_array_equal(added(part(a), part(b).copy()), part(a) + part(b))
        to = part(out) if part(out).base is not None else np.empty_like(part(out))
        added(part(a), part(b), to)
    np.testing.assert_array_equal(to, part(a) + part(b))
    assert np.isnan(out).sum() == out.size - (to.size if to.base is not None else 0)


@pytest.mark.parametrize("pair", [(80, 2000)], indirect=True)
def test_an_array_that_must_not_be_written_is_added(pair):
    a, b = pair
    expected, b.flags.writeable = a + b, False
    with allowed(2):
        np.testing.assert_array_equal(added(b, a), expected)
        np.testing.assert_array_equal(added(a, b, a), expected)
