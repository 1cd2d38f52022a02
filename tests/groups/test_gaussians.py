"""Distances between Gaussians, some of which have no width."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from scstream.groups.gaussians import deviations, fisher, squared_lengths, whiteners

FLAT = [np.zeros((3, 3)), np.ones((3, 3)), -np.eye(3), np.diag([1.0, 1.0, -1.0])]


def test_distances_are_those_of_inverse_covariances():
    A = np.random.default_rng(0).normal(size=(4, 3, 3))
    cov, mean = A @ A.transpose(0, 2, 1), A[:, 0]
    pairs = np.array([[0, 1], [2, 3], [3, 0]])
    gap, W, owner = mean[pairs[:, 1]] - mean[pairs[:, 0]], whiteners(cov), pairs[:, 0]
    exact = [x @ np.linalg.solve(cov[j], x) for x, j in zip(gap, owner, strict=True)]
    assert_allclose(squared_lengths(W[0], gap, owner), exact)
    assert_allclose(W[1], 0.5 * np.linalg.slogdet(cov)[1])
    u, square = fisher(mean, cov, pairs)
    assert_allclose((u * gap).sum(axis=1), np.sqrt(square))
    variances = [deviations(cov, u, pairs[:, side]) ** 2 for side in (0, 1)]
    assert_allclose(np.mean(variances, axis=0), 1.0)


def test_flat_shapes_have_no_distances():
    cov = np.array([np.eye(3), *FLAT])
    W, volume = whiteners(cov)
    assert_array_equal(W, [np.eye(3), *np.zeros((4, 3, 3))])
    assert_array_equal(volume, 0.0)
    mean, pairs = np.arange(15.0).reshape(5, 3), np.array([[1, 1], [2, 2], [3, 3], [0, 0], [4, 4]])
    assert not any(part.any() for part in fisher(mean, cov, pairs))
    assert fisher(mean, cov, np.array([[0, 1]]))[1] == 2.0 * 27.0
