"""What a sweep that draws labels tells the deterministic one after it: most labels need no search.

Of each row the best two components are known, and what all others scored at most. How much these
can score under parameters that have changed is known too, see `scstream.engines.carried`. Where
that is less than what the two score now, one of them is the label and the other the second choice.
"""

from __future__ import annotations

import numpy as np

from scstream.kernels.compiling import in_order, part
from scstream.kernels.elementary import POSSIBLE, logs
from scstream.kernels.large_tiles import FAR, Carried, Floats, Found, Ints, Tiles
from scstream.kernels.nearby import Components
from scstream.kernels.screened_tiles import TILE

_ONE = np.uint32(1)


@part
def settle_carried(Z: Floats, by: Components, tiles: Tiles, found: Found, order: Ints) -> int:
    """Label the rows that are settled so; list the others, and return how many they are."""
    left, carried, ids, pair = 0, found.carried, tiles.ids, tiles.pair
    for start in range(0, len(order), TILE):
        m = min(TILE, len(order) - start)
        for i in range(m):
            order[start + i] = start + i
            ids[i] = carried.first[start + i]
            ids[TILE + i] = carried.second[start + i]
        _score_two(Z, by, tiles, order[start : start + m])
        for i in range(m):
            r, gap = start + i, pair[TILE + i] - pair[i]
            least = min(pair[i], pair[TILE + i])
            order[left] = r
            if not least > _bound(carried, float(carried.third[r])):
                left += 1
                continue
            a, b = ids[i], ids[TILE + i]
            if gap > 0.0 or (gap == 0.0 and b < a):
                a, b = b, a
            found.z[r] = a
            found.gap[r] = -abs(gap)
            found.second[r] = b if found.gap[r] > POSSIBLE else FAR - b
    return left


@part
def fill_gaps(Z: Floats, by: Components, tiles: Tiles, found: Found, order: Ints) -> None:
    """Fill by how much the second choices of rows score more than their labels, if in doubt."""
    m, rows, ids = 0, tiles.rows, tiles.ids
    for j in range(len(order)):
        r = order[j]
        rows[m], ids[m], ids[TILE + m] = r, found.z[r], found.second[r]
        m += found.second[r] >= 0
        if m == TILE or (m > 0 and j == len(order) - 1):
            _score_two(Z, by, tiles, rows[:m])
            for i in range(m):
                found.gap[rows[i]] = tiles.pair[TILE + i] - tiles.pair[i]
            m = 0


@part
def _score_two(Z: Floats, by: Components, tiles: Tiles, which: Ints) -> None:
    """Fill the scores of some rows under two components each."""
    m, ids, pair, log = len(which), tiles.ids, tiles.pair, tiles.log
    _fill_products(Z, which, by.eta, ids, pair)
    if len(by.power) == 0:
        return
    for at in (0, TILE):
        for i in range(at, at + m):
            log[i] = max(pair[i], 1.0)
        logs(log[at:], m)
        for i in range(at, at + m):
            c = ids[i]
            if by.power[c] > 0.0:  # if not, the product is the score
                pair[i] = by.const[c] - by.power[c] * log[i]


@in_order  # vector code for so few columns would take longer
def _fill_products(Z: Floats, which: Ints, eta: Floats, ids: Ints, pair: Floats) -> None:
    """Fill the products of the statistics of some rows and two sets of parameters each."""
    d = Z.shape[1]
    for i in range(len(which)):
        z = Z[np.uint32(which[i])]  # places are not negative
        one, two = eta[np.uint32(ids[i])], eta[np.uint32(ids[TILE + i])]
        x, y, q = one[0], two[0], np.uint32(1 + d)
        for a in range(d):
            slope, other = one[1 + a], two[1 + a]
            for b in range(a, d):
                slope += one[q] * z[b]
                other += two[q] * z[b]
                q = np.uint32(q + _ONE)
            x += slope * z[a]
            y += other * z[a]
        pair[i], pair[TILE + i] = x, y


@part
def _bound(carried: Carried, third: float) -> float:
    """Return what components score at most now that scored so much at most before."""
    bound, last = carried.bound, len(carried.bound) - 1
    at = min(max((third - carried.low) / carried.step, 0.0), float(last))
    i = min(int(at), last - 1)
    line = bound[i] + (at - i) * (bound[i + 1] - bound[i])
    return line if third < np.inf else np.inf
