"""Clusters that are nearer than by chance, and rows along a line, against plain NumPy."""

import numpy as np
import pytest
from scipy.special import digamma

from scstream.kernels import nearness

J = np.arange(2, nearness.NEIGHBOURS + 1)


def world(seed, k=20, d=5):
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(k, d, d)) / np.sqrt(d) + np.eye(d)
    return rng.uniform(5.0, 30.0, k), 6.0 * rng.normal(size=(k, d)), factor @ factor.mT


def measured(clusters, few=1e9):
    k, d = clusters[1].shape
    out = np.full((k, k), np.nan), np.full((d, d), np.nan), np.full((k, d), np.nan)
    room = np.empty(k * (nearness.NEIGHBOURS + 1))
    return nearness.by_chance(clusters, few, room, out), out


def plain(count, mean, cov):
    """Return how many clusters would be as near by chance (k, k), and the mean shape."""
    shape = np.einsum("k,kij->ij", count, cov)
    gap = mean[:, None] - mean
    far = np.sqrt(np.einsum("abi,ij,abj->ab", gap, np.linalg.inv(shape), gap))
    near = np.log(np.sort(far, axis=1)[:, 1 : 1 + nearness.NEIGHBOURS])
    last = digamma(nearness.NEIGHBOURS)
    growth = np.sum(last - digamma(J[:-1])) / (near[:, -1:] - near[:, 1:-1]).sum(axis=1).mean()
    with np.errstate(divide="ignore"):
        each = growth * (np.log(far) - near[:, 1:].mean(axis=1)[:, None]) + digamma(J).mean()
    return np.exp((each + each.T) / 2.0), shape


@pytest.mark.parametrize("seed", range(3))
def test_numbers_are_those_of_plain_numpy(seed):
    clusters = world(seed)
    fine, (number, _, _) = measured(clusters)
    assert fine
    np.testing.assert_allclose(number, np.minimum(plain(*clusters)[0], np.exp(50.0)), rtol=1e-9)


def test_pairs_of_many_rows_are_left_out():
    count, mean, cov = world(0)
    few = float(np.median(count[:, None] + count))
    every, some = measured((count, mean, cov))[1][0], measured((count, mean, cov), few)[1][0]
    small = count[:, None] + count < few
    np.testing.assert_array_equal(some, np.where(small, every, 0.0))


def test_a_pair_is_near_only_if_its_neighbours_are_far():
    """Two points at a tenth of the usual distance, among points anywhere in many columns."""
    rng = np.random.default_rng(1)
    k, d = 40, 8
    mean, cov = rng.normal(size=(k, d)), np.broadcast_to(np.eye(d), (k, d, d)).copy()
    mean[1] = mean[0] + 0.1 * rng.normal(size=d)
    number = measured((np.ones(k), mean, cov))[1][0]
    others = number[np.triu_indices(k, 1)]
    assert number[0, 1] < 1e-3
    assert np.sort(others)[1] > 0.01
    assert 0.2 < np.mean((number + 9.0 * np.eye(k)).min(axis=1) < 0.7) < 0.8  # as chance has it


def test_clusters_at_one_place_or_flat_ones_say_nothing():
    count, mean, cov = world(0)
    assert not measured((count, np.zeros_like(mean), cov))[0]
    assert not measured((count, mean, np.zeros_like(cov)))[0]


def test_lines_are_fishers_and_go_from_mean_to_mean():
    _, mean, _ = clusters = world(2)
    _, (_, L, place) = measured(clusters)
    pairs = np.array([[0, 1], [7, 3]])
    direction, offset = np.empty((2, mean.shape[1])), np.empty(2)
    nearness.draw_lines(pairs, L, place, mean, (direction, offset))
    shape = plain(*clusters)[1]
    for (a, b), u, at in zip(pairs, direction, offset, strict=True):
        assert u @ mean[a] - at == pytest.approx(0.0, abs=1e-9)
        assert u @ mean[b] - at == pytest.approx(1.0)
        fisher = np.linalg.solve(shape, mean[b] - mean[a])
        np.testing.assert_allclose(u / np.linalg.norm(u), fisher / np.linalg.norm(fisher))


def test_rows_are_counted_between_two_clusters_and_at_them():
    at = np.array([-0.3, -0.1, 0.1, 0.3, 0.4, 0.5, 0.6, 0.7, 0.9, 1.0, 1.1, 1.3, 0.5, np.nan])
    X = np.column_stack([2.0 * at + 10.0, np.arange(len(at), dtype=float)])
    z = np.array([4, 9] * 6 + [5, 4])  # the last but one is another cluster's
    out = np.zeros((1, 3))
    line = np.array([[4, 9]]), np.array([[0.5, 0.0]]), np.array([5.0])
    nearness.look_along((X, z), line, out)
    assert out.tolist() == [[3.0, 2.0, 3.0]]
