"""Memory that kernels work in begins where lines of the cache do."""

import numpy as np
import pytest

from scstream.kernels.arguments import Workspace
from scstream.kernels.compiling import bare
from scstream.kernels.label_proposals import WIDTH
from scstream.kernels.small_scratch import block_of, search_of, workspace
from scstream.kernels.workspace import LINE, next_line, room_of

BYTES = 64  # of a line of the cache


def address(array):
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("more", [1, 7, 500, 70_001])
def test_memory_begins_with_a_line(more):
    sizes = [len(part) + more for part in room_of(0, 0, 0)]
    room = room_of(*sizes)
    assert [len(part) for part in room] == sizes
    assert [part.dtype for part in room] == [np.float64, np.int64, np.float32]
    assert all(address(part) % BYTES == 0 and part.flags.c_contiguous for part in room)


@bare
def lines_after(places, out):
    """Fill where the next lines begin."""
    for i in range(len(places)):
        out[i] = next_line(places[i])


def test_the_next_line_is_the_nearest_that_is_not_before():
    places = np.arange(100)
    out = np.empty_like(places)
    lines_after(places, out)
    assert LINE == BYTES // 8
    np.testing.assert_array_equal(out, [min(q for q in range(0, 112, 8) if q >= i) for i in places])


@bare
def mark(floats, ints, singles, k, p):
    """Write 1 where each part of the scratch for a block of rows begins."""
    block, at = block_of(floats, p)
    search = search_of(Workspace(floats[at:], ints, singles), k)
    block.cols[0] = block.pair[0] = block.share[0] = block.odds[0] = search.scores[0] = 1.0
    search.top[0] = search.short[0] = np.float32(1.0)


@pytest.mark.parametrize(("k", "p"), [(1, 3), (19, 6), (20, 6), (7, 136)])
def test_columns_of_a_block_begin_with_lines(k, p):
    room = workspace(100, k, p)
    for part in room:
        part[:] = 0
    mark(*room, k, p)
    floats, _, singles = (np.flatnonzero(part) * part.itemsize for part in room)
    assert (len(floats), len(singles)) == (5, 2)
    assert not (floats % BYTES).any()
    assert not (singles % BYTES).any()
    assert 4 * WIDTH % BYTES == 0  # so do all other columns
    assert WIDTH & (WIDTH - 1) > 0
