"""Units: every leaf is in one, each is a node of the tree, and the tree above is that of sums."""

import numpy as np
import pytest

from scstream.engines.ordered_sums import Part, Tree
from scstream.engines.units import units_of

CASES = [(0, 1, 1), (0, 100, 16), (0, 100, 8), (3, 100, 2), (5, 61, 16), (4096, 777, 3)]


def leaves_of(units):
    return [a + i for a, m, _ in units.units.tolist() for i in range(m)]


@pytest.mark.parametrize(("first", "leaves", "threads"), CASES)
def test_every_leaf_is_in_one_unit_that_is_a_node(first, leaves, threads):
    units = units_of(first, leaves, threads, 1000)
    assert leaves_of(units) == list(range(leaves))
    for start, size, _ in units.units.tolist():
        assert size & (size - 1) == 0
        assert (first + start) % size == 0


@pytest.mark.parametrize(("first", "leaves", "threads"), CASES)
def test_halves_are_added_up_as_the_tree_does(first, leaves, threads):
    units = units_of(first, leaves, threads, 1000)
    start = [a for a, _, _ in units.units.tolist()]
    sums = [{*range(a, a + m)} for a, m, _ in units.units.tolist()]
    for left, right, _ in units.nodes.tolist():
        assert min(sums[left]) == start[left]
        assert len(sums[left]) == len(sums[right])
        assert (first + start[left]) % (2 * len(sums[left])) == 0
        sums[left] |= sums[right]
    tree = Tree(Part(first + i, 1, (np.zeros(1),)) for i in range(leaves))
    assert [(a, m) for _, a, m in units.roots] == [(p.first, p.leaves) for p in tree.parts]
    assert [len(sums[place]) for place, _, _ in units.roots] == [p.leaves for p in tree.parts]


def test_the_node_above_is_the_one_that_has_the_place_as_a_half():
    units = units_of(0, 100, 16, 1000)
    for child, (_, _, above) in enumerate(units.units.tolist()):
        assert above < 0 or child in units.nodes[above, :2]
    for left, _, above in units.nodes.tolist():
        assert above < 0 or left in units.nodes[above, :2]


def test_the_last_units_are_single_leaves_where_threads_are_many():
    units = units_of(0, 100, 16, 1000)
    assert units.units[-32:, 1].tolist() == [1] * 32
    assert units_of(0, 100, 1, 1000).units[0, 1] == 8


@pytest.mark.parametrize("threads", [1, 4])
def test_large_sums_are_few(threads):
    assert len(units_of(0, 2**14, threads, 2**24).units) <= 64
    assert len(units_of(0, 2**14, threads, 1000).units) <= 512
