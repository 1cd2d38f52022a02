"""Scores as the forms that a GPU takes: about their centres, in float32."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from scstream.engines.torch.forms import Forms, forms_of, laid_out
from scstream.families import Gaussian


@pytest.mark.parametrize("kind", ["sampled", "predictive"])
def test_forms_about_their_centres_are_the_scores(kind):
    rng = np.random.default_rng(0)
    z = rng.integers(5, size=2000)
    X = 1000.0 + 3.0 * rng.normal(size=(5, 4))[z] + rng.normal(size=(2000, 4))
    family = Gaussian().prepare(X)
    T = family.statistics(X)
    totals, level = np.stack([T[z == j].sum(axis=0) for j in range(5)]), np.log(np.full(5, 0.2))
    draws = {"sampled": (rng,), "predictive": ()}[kind]
    score = getattr(family, f"{kind}_score")(*draws, totals, level)
    numbers, centre = laid_out(forms_of(score), np.arange(5), 4)
    assert numbers.dtype == np.float32
    assert_array_equal(numbers[:, :4], centre)
    numbers = numbers.astype(float)
    y = family.embed(X)[:, None, :] - centre.astype(float)
    row, col = np.triu_indices(4)
    v = numbers[:, 4] + (numbers[:, 7:11] * y).sum(axis=-1)
    v = v + (numbers[:, 11:] * y[..., row] * y[..., col]).sum(axis=-1)
    if kind == "predictive":
        v = numbers[:, 6] - numbers[:, 5] * np.log1p(v)
    exact = score.block(T)
    near = exact > exact.max(axis=1, keepdims=True) - 30.0
    assert_allclose(v[near], exact[near], atol=2e-4)
    assert np.abs(numbers[:, 7:11]).max() < 1e-3 * np.abs(numbers[:, 11:]).max()  # no slope there


def test_forms_without_a_centre_are_taken_about_0():
    # a peak, a plane, a saddle, and a valley, which is curved the wrong way
    eta = np.array([[1.0, 2.0, 4.0, -1.0, 0.0, -2.0], [1.0, 2.0, 4.0, 0.0, 0.0, 0.0],
                    [1.0, 2.0, 4.0, -1.0, 0.0, 2.0], [1.0, 2.0, 4.0, 1.0, 0.0, 2.0]])  # fmt: skip
    numbers, centre = laid_out(Forms(eta, np.zeros(4), np.zeros(4), False), np.array([3, 0, 1]), 2)
    assert_array_equal(centre, [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    assert_array_equal(numbers[:, 2], [1.0, 4.0, 1.0])  # the value there
    assert_array_equal(numbers[:, 5:7], [[2.0, 4.0], [0.0, 0.0], [2.0, 4.0]])  # and the slopes
    assert_array_equal(laid_out(Forms(eta, np.zeros(4), np.zeros(4), False), np.array([2]), 2)[1],
                       [[0.0, 0.0]])  # fmt: skip
