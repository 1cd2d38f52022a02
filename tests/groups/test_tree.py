"""The tree: who joins whom, at what height, and how it is cut."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, is_valid_linkage

from scstream.groups.tree import Links, grow, join


def links(k, edges, peak=None):
    pairs = np.array([edge[:2] for edge in edges], dtype=np.int64).reshape(-1, 2)
    ratio = np.array([edge[2] for edge in edges], dtype=float)
    peak = np.zeros(k) if peak is None else np.array(peak, dtype=float)
    place = np.arange(k, dtype=float)
    return Links(pairs, ratio, peak, lambda: (place[:, None] - place) ** 2)


def tree(k, edges, peak=None, level=0.3, bridge=0.15):
    return grow(np.arange(10, 10 + k), join(links(k, edges, peak), level, bridge), level)


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


def test_levels_say_how_many_groups_there_are():
    grown = tree(4, [(0, 1, 1.0), (1, 2, 0.2), (2, 3, 0.75)])
    for height, n in grown.levels:
        assert len(set(grown.at(height).tolist())) == n
    assert "default level 0.30: 2 groups" in str(grown)
