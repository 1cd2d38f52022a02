"""The tree: who joins whom, at what height, and how it is cut."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, is_valid_linkage

from scstream.groups.tree import cut_to, grow, join


def tree(k, edges, peak=None, level=0.3, contact=None):
    """Return the tree above k clusters, of which edges (a, b, height) touch."""
    pairs = np.array([edge[:2] for edge in edges], dtype=np.int64).reshape(-1, 2)
    height = np.array([edge[2] for edge in edges], dtype=float)
    peak = np.zeros(k) if peak is None else np.array(peak, dtype=float)
    if contact is None:
        contact = np.zeros((k, k))
        contact[pairs[:, 0], pairs[:, 1]] = contact[pairs[:, 1], pairs[:, 0]] = 1.0
    place = np.arange(k, dtype=float)
    totals = np.column_stack([np.ones(k), place, place**2])
    joined = join(pairs, height, peak, contact, 0.15)
    return grow(np.arange(10, 10 + k), joined, level, totals, minus_squares)


def minus_squares(s):
    """Return the squares around the mean of each cluster, which is worse the more there are."""
    return s[:, 1] ** 2 / s[:, 0] - s[:, 2]


def test_no_valley_joins_and_a_sure_one_does_not():
    grown = tree(4, [(0, 1, 0.0), (1, 2, 0.8), (2, 3, 0.2)])
    assert grown.at(0.3).tolist() == [0, 0, 1, 1]
    np.testing.assert_allclose(grown.heights, [0.0, 0.2, 0.8])


def test_low_ground_joins_one_neighbour_and_connects_none():
    # 1 is low ground between the peaks 0 and 2, and touches 0 more; nothing separates it from them
    contact = np.array([[0, 5, 0], [5, 0, 3], [0, 3, 0]])
    edges, peak = [(0, 1, 0.0), (1, 2, 0.0)], [0.0, -5.0, 0.0]
    assert tree(3, edges, peak, contact=contact).at(0.9).tolist() == [0, 0, 1]
    # on level ground it does connect
    assert set(tree(3, edges, contact=contact).at(0.3).tolist()) == {0}


def test_noise_around_several_groups_is_part_of_none():
    contact = np.zeros((4, 4))
    contact[3, :3] = contact[:3, 3] = 1.0
    edges = [(i, 3, 0.0) for i in range(3)]
    assert len(set(tree(4, edges, [0.0, 0.0, 0.0, -5.0], contact=contact).at(0.9).tolist())) == 4


def test_heights_never_fall_and_scipy_takes_the_linkage():
    rng = np.random.default_rng(0)
    for k in (2, 5, 17):
        edges = [(i, j, rng.uniform()) for i in range(k) for j in range(i) if rng.uniform() < 0.4]
        grown = tree(k, edges, peak=rng.normal(size=k))
        assert is_valid_linkage(grown.linkage)
        assert np.all(np.diff(grown.heights) >= 0)
        for level in (0.1, 0.3, 0.9):
            theirs = fcluster(grown.linkage, level, criterion="distance")
            mine = grown.at(level)
            assert np.array_equal(mine[:, None] == mine, theirs[:, None] == theirs)


def test_a_cut_has_the_number_asked_for():
    grown = tree(6, [(0, 1, 0.0), (2, 3, 0.5)])
    for n in range(1, 7):
        assert len(set(grown.cut(n).tolist())) == n
    assert len(set(grown.cut(100).tolist())) == 6
    for wrong in (0, -1, 1.5, True, "two"):
        with pytest.raises(ValueError, match="whole number of groups"):
            grown.cut(wrong)


def test_what_does_not_touch_is_joined_where_least_is_lost():
    grown = tree(5, [(0, 1, 0.0), (3, 4, 0.1)])  # at 0 and 1, 2, 3 and 4
    assert grown.cut(2).tolist() in ([0, 0, 0, 1, 1], [0, 0, 1, 1, 1])
    assert grown.cut(3).tolist() == [0, 0, 1, 2, 2]


def test_clusters_that_do_not_count_are_in_the_group_they_are_joined_to_first():
    merges = tree(6, [(0, 1, 0.1), (2, 3, 0.2), (3, 4, 0.3)]).merges
    for n in range(1, 8):
        part = cut_to(n, merges, np.ones(6, dtype=bool))
        assert len(set(part.tolist())) == min(n, 6)
        theirs = tree(6, [(0, 1, 0.1), (2, 3, 0.2), (3, 4, 0.3)]).cut(n)
        assert np.array_equal(part[:, None] == part, theirs[:, None] == theirs)
    counts = np.array([True, False, True, True, False, False])
    for n in range(1, 5):
        part = cut_to(n, merges, counts)
        assert len(set(part.tolist())) == len(set(part[counts].tolist())) == min(n, 3)
        assert part[0] == part[1]


def test_levels_say_how_many_groups_there_are():
    grown = tree(4, [(0, 1, 0.0), (1, 2, 0.8), (2, 3, 0.25)])
    for height, n in grown.levels:
        assert len(set(grown.at(height).tolist())) == n
    assert "default level 0.30: 2 groups" in str(grown)
