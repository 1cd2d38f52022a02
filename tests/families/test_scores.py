"""Scores: products with statistics, dense or in compressed rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from scstream.families.scores import (
    GenericScore,
    LinearScore,
    StudentScore,
)

RNG = np.random.default_rng(0)
T = RNG.poisson(0.7, (40, 5)).astype(float)
ETA = RNG.normal(size=(6, 5))
Z = RNG.integers(3, size=40)


@pytest.fixture(params=[np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def rows(request):
    return request.param(T)


def own_pairs(block):
    return np.stack([[block[i, 2 * z], block[i, 2 * z + 1]] for i, z in enumerate(Z)])


def test_linear_scores_are_products(rows):
    expected = np.array([[sum(t * e) for e in ETA] for t in T])
    assert_allclose(LinearScore(ETA).block(rows), expected, rtol=1e-12, atol=1e-12)
    assert_allclose(LinearScore(ETA).pairs(rows, Z), own_pairs(expected), rtol=1e-12, atol=1e-12)


def test_student_scores_are_powers_of_quadratic_forms_of_at_least_one(rows):
    quad, const, power = np.abs(ETA), RNG.normal(size=6), 1.0 + RNG.random(6)
    forms = np.array([[sum(t * q) for q in quad] for t in T])
    assert np.any(forms < 1.0)  # as rounding may make them
    expected = const - power * np.log(np.maximum(forms, 1.0))
    score = StudentScore(quad, const, power)
    assert_allclose(score.block(rows), expected, rtol=1e-12, atol=1e-12)
    assert_allclose(score.pairs(rows, Z), own_pairs(expected), rtol=1e-12, atol=1e-12)


def test_generic_scores_are_differences_of_log_partitions(rows):
    def log_partition(tau):
        return np.log1p(tau).sum(axis=-1)

    tau, weight = RNG.random((6, 5)), RNG.normal(size=6)
    expected = np.array(
        [
            [
                w + np.log1p(a + t).sum() - np.log1p(a).sum()
                for a, w in zip(tau, weight, strict=True)
            ]
            for t in T
        ]
    )
    score = GenericScore(log_partition, tau, weight)
    assert_allclose(score.block(rows), expected, rtol=1e-12, atol=1e-12)
    assert_allclose(score.pairs(rows, Z), own_pairs(expected), rtol=1e-12, atol=1e-12)
