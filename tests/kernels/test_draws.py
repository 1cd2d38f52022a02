"""Compiled draws and logarithms of gammas against those of NumPy and the C library."""

from math import lgamma

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from scstream.kernels import draws
from scstream.kernels.compiling import kernel
from scstream.kernels.elementary import log_gamma


@kernel
def drawn(state, shapes, uniforms, normals):
    draws.gammas(state, shapes)
    for i in range(len(uniforms)):
        uniforms[i] = draws.uniform(state)
    draws.normals(state, normals)


@kernel
def log_gammas(x):
    for i in range(len(x)):
        x[i] = log_gamma(x[i])


@pytest.mark.parametrize("seed", range(3))
def test_draws_are_those_of_numpy(seed):
    # enough of them for the ziggurat's tail, and for gammas that are refused
    one, other = np.random.default_rng(seed), np.random.default_rng(seed)
    assert one.integers(5) == other.integers(5)  # which leaves half a word behind
    shapes = 1.0 + np.random.default_rng(9).exponential(20.0, size=20_000)
    uniforms, normals, gammas = np.empty(100), np.empty(100_000), shapes.copy()
    mine = draws.Draws.of(one)
    drawn(mine.words, gammas, uniforms, normals)
    assert_allclose(gammas, other.standard_gamma(shapes), rtol=1e-12)
    assert_allclose(uniforms, other.random(100), rtol=0)
    assert_allclose(normals, other.standard_normal(100_000), rtol=1e-12, atol=1e-15)
    assert_allclose(mine.log_uniforms(100), np.log(other.random(100)), rtol=1e-15)
    assert mine.generator.bit_generator.state == other.bit_generator.state
    assert_allclose(mine.log_uniforms(100), np.log(other.random(100)), rtol=0)  # NumPy's by now
    assert_array_equal(mine.words, draws.words_of(other))


def test_logarithms_of_gammas_are_exact_to_rounding():
    x = np.concatenate([np.linspace(1e-3, 30.0, 2000), np.logspace(1, 9, 500)])
    out = x.copy()
    log_gammas(out)
    assert_allclose(out, [lgamma(v) for v in x], rtol=2e-15, atol=1e-14)
