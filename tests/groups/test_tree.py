"""The tree: who joins whom, at what height, and how it is cut."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, is_valid_linkage

from scstream.groups.tree import Links, cut_to, grow, join


def links(k, edges, peak=None):
    pairs = np.array([edge[:2] for edge in edges], dtype=np.int64).reshape(-1, 2)
    ratio = np.array([edge[2] for edge in edges], dtype=float)
    peak = np.zeros(k) if peak is None else np.array(peak, dtype=float)
    return Links(pairs, ratio, peak)


def tree(k, edges, peak=None, level=0.3, bridge=0.15):
    place = np.arange(k, dtype=float)
    totals = np.column_stack([np.ones(k), place, place**2])
    joined = join(links(k, edges, peak), level, bridge)
    return grow(np.arange(10, 10 + k), joined, level, totals, minus_squares)


def minus_squares(s):
    """Return the squares around the mean of each cluster, which is worse the more there are."""
    return s[:, 1] ** 2 / s[:, 0] - s[:, 2]


def test_no_valley_joins_and_a_deep_one_does_not():
    grown = tree(4, [(0, 1, 1.0), (1, 2, 0.2), (2, 3, 0.8)])
    assert grown.at(0.3).tolist() == [0, 0, 1, 1]
    np.testing.assert_allclose(grown.heights, [0.0, 0.2, 0.8])


def test_a_tail_joins_one_neighbour_and_connects_nobody():
    # 1 is low ground between the peaks 0 and 2; there is no valley on either side of it
    grown = tree(3, [(0, 1, 1.0), (1, 2, 1.0)], peak=[0.0, -5.0, 0.0])
    assert len(set(grown.at(0.3).tolist())) == 2
    assert grown.heights[-1] > 0.5
    # on level ground it does connect
    assert set(tree(3, [(0, 1, 1.0), (1, 2, 1.0)]).at(0.3).tolist()) == {0}


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
    grown = tree(6, [(0, 1, 1.0), (2, 3, 0.5)])
    for n in range(1, 7):
        assert len(set(grown.cut(n).tolist())) == n
    assert len(set(grown.cut(100).tolist())) == 6
    for wrong in (0, -1, 1.5, True, "two"):
        with pytest.raises(ValueError, match="whole number of groups"):
            grown.cut(wrong)


def test_what_does_not_touch_is_joined_where_least_is_lost():
    grown = tree(5, [(0, 1, 1.0), (3, 4, 0.9)])  # at 0 and 1, 2, 3 and 4
    assert grown.cut(2).tolist() in ([0, 0, 0, 1, 1], [0, 0, 1, 1, 1])
    assert grown.cut(3).tolist() == [0, 0, 1, 2, 2]


def test_clusters_that_do_not_count_are_in_the_group_they_are_joined_to_first():
    merges = tree(6, [(0, 1, 0.9), (2, 3, 0.8), (3, 4, 0.7)]).merges
    for n in range(1, 8):
        part = cut_to(n, merges, np.ones(6, dtype=bool))
        assert len(set(part.tolist())) == min(n, 6)
        theirs = tree(6, [(0, 1, 0.9), (2, 3, 0.8), (3, 4, 0.7)]).cut(n)
        assert np.array_equal(part[:, None] == part, theirs[:, None] == theirs)
    counts = np.array([True, False, True, True, False, False])
    for n in range(1, 5):
        part = cut_to(n, merges, counts)
        assert len(set(part.tolist())) == len(set(part[counts].tolist())) == min(n, 3)
        assert part[0] == part[1]


def test_levels_say_how_many_groups_there_are():
    grown = tree(4, [(0, 1, 1.0), (1, 2, 0.2), (2, 3, 0.75)])
    for height, n in grown.levels:
        assert len(set(grown.at(height).tolist())) == n
    assert "default level 0.30: 2 groups" in str(grown)
