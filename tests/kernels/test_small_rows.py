"""The compiled passes over few rows, step by step, against the same in plain NumPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from scstream.kernels import elementary, label_proposals
from scstream.kernels.arguments import Scores
from scstream.kernels.compiling import bare, kernel
from scstream.kernels.elementary import POSSIBLE


@kernel
def exponentials(x):
    elementary.exponentials(x, len(x))


@kernel
def logarithms(x):
    elementary.logs(x, len(x))


def test_exponentials_are_exact_to_rounding():
    x = np.concatenate([np.linspace(POSSIBLE, 1.0, 1001)[1:], [0.0, -1e-300, -1e-9]])
    out = x.copy()
    exponentials(out)
    assert_allclose(out, np.exp(x), rtol=1e-15)


def test_what_is_too_small_to_matter_is_0():
    x = np.array([POSSIBLE, POSSIBLE - 1.0, -1e9, -np.inf, np.nan])
    exponentials(x)
    assert_array_equal(x, np.zeros(5))


def test_logarithms_are_exact_to_rounding():
    x = np.concatenate([1.0 + np.logspace(-15, 0, 300), np.logspace(0, 300, 700), [1.0]])
    out = x.copy()
    logarithms(out)
    assert_allclose(out, np.log(x), rtol=4e-16)


@bare
def best_three(products, k, scores, plain, short, top, place):
    label_proposals.look(
        products, label_proposals.BLOCK, k, Scores(*scores), plain, short, top, place
    )


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("k", [1, 2, 5, 8])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300, -1e300])
def test_whatever_scores_are_the_best_labels_are_labels(value, k, plain):
    """What single precision proposes is in range, and no score that it compares is NaN."""
    width = label_proposals.WIDTH
    odd = np.full(k, np.nan), np.full(k, np.inf), np.full(k, 1e37), np.full(k, -1e38)
    for levels, powers in [(np.zeros(k), np.ones(k)), *((levels, np.ones(k)) for levels in odd),
                           *((np.zeros(k), powers) for powers in odd)]:  # fmt: skip
        products = np.random.default_rng(0).normal(size=(k + 1) * width)
        products[::3] = value
        short = np.full((k + 1) * width, np.nan, dtype=np.float32)
        top = np.full(3 * width, np.nan, dtype=np.float32)
        place = np.full((2, width), -9)
        scores = np.zeros((k, 1)), levels, powers
        best_three(products, k, scores, plain, short, top, place)
        rows = slice(label_proposals.BLOCK)
        assert set(place[0, rows]) <= set(range(k))
        assert set(place[1, rows]) <= set(range(-1, k))
        assert np.isfinite(top.reshape(3, width)[:, rows]).all()
