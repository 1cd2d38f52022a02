"""Compiled kernels for the seam between two clusters: which rows lie there, and on the far sides.

Clusters are Gaussians with means (k, d) and covariances (k, d, d) in a frame: a row x is at
``(x - shift) / scale``. The rows of two clusters are seen along Fisher's direction, on which the
first cluster's mean is at 0 and the clusters' mean variance is 1.
"""

from __future__ import annotations

from typing import Any

from scstream.kernels.compiling import bare, brief, helper, part
from scstream.kernels.directions import deviation, fisher
from scstream.kernels.far_sides import add_side, cut
from scstream.kernels.profiles import BINS, expect, fill_profile, windows_of

SUMS = 15  # numbers of a seam: see `_look`


@brief
def shapes(totals: Any, prior: Any, more: float, mean: Any, cov: Any) -> None:
    """Fill expected means and covariances of Gaussian clusters from their statistics (k, p).

    ``more`` is by how much the prior's degrees of freedom exceed its count.
    """
    k, d = mean.shape
    for r in range(k):
        n = prior[0] + totals[r, 0]
        for i in range(d):
            mean[r, i] = (prior[1 + i] + totals[r, 1 + i]) / n
        freedom = max(n + more - d - 1.0, 1.0)
        q = 1 + d
        for i in range(d):
            for j in range(i, d):
                scatter = prior[q] + totals[r, q] - n * mean[r, i] * mean[r, j]
                cov[r, i, j] = cov[r, j, i] = scatter / freedom
                q += 1


@bare
def follow(rows: Any, frame: Any, clusters: Any, before: Any, room: Any, out: Any) -> Any:
    """Fill which clusters touch, and what is known of their seams after some more rows.

    Two clusters touch where the doubt between them is a share of the smaller one's points. Of a
    seam that was known before, a share is remembered.

    Parameters
    ----------
    rows : tuple
        Rows (n, d) and their clusters' ids (n,); those of other clusters do not count.
    frame : tuple
        Shift and scale, (d,) each.
    clusters : tuple
        Ids, counts (k,), means (k, d), covariances (k, d, d) and doubts (k, k).
    before : tuple
        Pairs of ids (m, 2) and sums (m, 15) of earlier rows, ids of clusters that changed since,
        the share of the sums that is kept, and that of those that changed; the share of doubt from
        which two touch.
    room : tuple
        Floats and whole numbers, see `room_needed`.
    out : tuple
        Pairs of places (a, b), a < b, their sums, one row a pair, and the squared distances of
        their means, in the deviations of their mean shape.

    Returns
    -------
    int
        How many pairs there are; those that there is no room for are left out.
    """
    ids, count, mean, cov, doubt = clusters
    old, old_sums, changed, share, share_changed, overlap = before
    floats, whole_numbers = room
    pairs, sums, between = out
    k, d, n, m = len(ids), mean.shape[1], len(rows[1]), 0
    L, u = floats[: d * d].reshape(d, d), floats[d * d : d * d + d]
    profile, kept = floats[d * d + d :][:BINS], floats[d * d + d + BINS :][:k]
    slots = _slots(k)
    table, index = whole_numbers[: 2 * slots].reshape(2, slots), whole_numbers[2 * slots :]
    first, then, index = index[:k], index[k:][:n], index[k + n :][: k * k].reshape(k, k)
    _fill_table(ids, table)
    for j in range(k):
        kept[j] = share
    for i in range(len(changed)):
        j = _place(changed[i], table)
        if j >= 0:
            kept[j] = share * share_changed
    for a in range(k):
        for b in range(a + 1, k):
            index[a, b] = -1
            enough = doubt[a, b] > 0.0 and doubt[a, b] >= overlap * min(count[a], count[b])
            if enough and m < len(sums):
                pairs[m, 0], pairs[m, 1] = a, b
                index[a, b] = m
                for c in range(SUMS):
                    sums[m, c] = 0.0
                m += 1
    for i in range(len(old)):
        a, b = _place(old[i, 0], table), _place(old[i, 1], table)
        if a >= 0 and b >= 0 and index[min(a, b), max(a, b)] >= 0:
            _carry(old_sums[i], a > b, min(kept[a], kept[b]), sums[index[min(a, b), max(a, b)]])
    if m > 0:
        _by_cluster(rows[1], table, first, then)
        touch = (count, mean, cov, index)
        out = sums[:m], between
        _look((rows[0], first, then), frame, touch, pairs, (L, u, profile), out)
    return m


def room_needed(k: int, d: int, n: int) -> tuple[int, int]:
    """Return how many floats and whole numbers `follow` works in."""
    return d * d + d + BINS + k, 2 * _slots(k) + k + n + k * k


@helper
def _slots(k: int) -> int:
    """Return a power of two that is at least twice as many as k."""
    slots = 4
    while slots < 2 * k:
        slots *= 2
    return slots


@part
def _fill_table(ids: Any, table: Any) -> None:
    """Fill a table (2, t) of ids (k,) and their places, in which `_place` looks."""
    mask = table.shape[1] - 1
    for slot in range(mask + 1):
        table[1, slot] = -1
    for j in range(len(ids)):
        slot = ids[j] & mask
        while table[1, slot] >= 0:
            slot = (slot + 1) & mask
        table[0, slot], table[1, slot] = ids[j], j


@part
def _place(name: int, table: Any) -> int:
    """Return the place of a cluster, -1 if there is none of this id."""
    mask = table.shape[1] - 1
    slot = name & mask
    while table[1, slot] >= 0:
        if table[0, slot] == name:
            return table[1, slot]  # type: ignore[no-any-return]
        slot = (slot + 1) & mask
    return -1


@part
def _carry(old: Any, turned: bool, share: float, out: Any) -> None:
    """Add a share of a seam's sums, whose two clusters may have changed places."""
    for c in range(SUMS):
        to = c
        if turned and c % 3 > 0 and c < 9:
            to = c + 1 if c % 3 == 1 else c - 1
        elif turned and c >= 9:
            to = c + 3 if c < 12 else c - 3
        out[to] += share * old[c]


@part
def _by_cluster(label: Any, table: Any, first: Any, then: Any) -> None:
    """Chain the rows of each cluster: its first row (k,), and after each row the next (n,)."""
    for j in range(len(first)):
        first[j] = -1
    for i in range(len(label)):
        j = _place(label[i], table)
        if j >= 0:
            then[i] = first[j]
            first[j] = i


@part
def _look(rows: Any, frame: Any, clusters: Any, pairs: Any, room: Any, out: Any) -> None:
    """Add to the sums (m, 15) of the seams between pairs (m, 2) what some rows show.

    The sums are: rows in the valley and on the two peaks, how many were expected there, and the
    expected density; then, for the rows on the first cluster's far side, how many there are, and
    the sums of their distances from its mean and of the squares, in its deviations; and the same
    for the second one.

    Parameters
    ----------
    rows : tuple
        Rows (n, d), and what `_by_cluster` fills: the first of each cluster and the next.
    frame : tuple
        Shift and scale, (d,) each.
    clusters : tuple
        Counts (k,), means (k, d), covariances (k, d, d); and, above the diagonal of (k, k), a
        number that is not negative where two clusters touch.
    pairs : ndarray (m, 2)
    room : tuple
        Floats: (d, d), (d,), (BINS,).
    out : tuple
        The sums (m, 15), and the squared distances (m,) of the clusters' means.
    """
    count, mean, cov, _ = clusters
    L, u, profile = room
    sums, between = out
    for m in range(len(sums)):
        a, b = pairs[m, 0], pairs[m, 1]
        length = fisher(mean, cov, a, b, L, u)
        between[m] = length * length
        if not length > 1e-6:
            continue
        ends = length, deviation(cov, a, u), deviation(cov, b, u)
        total = fill_profile(profile, ends, (count[a] / ends[1], count[b] / ends[2]))
        windows = windows_of(profile, ends)
        if windows[0] < 0 or not total > 0.0:
            continue
        cuts = cut(clusters, a, b, u, ends[1]), cut(clusters, b, a, u, -ends[2])
        before = 0.0  # the first cluster's place in the frame
        for c in range(len(u)):
            before += u[c] * mean[a, c]
            u[c] /= frame[1][c]
        inside = _count(rows, (frame[0], u, before), ends, (a, b), (windows, cuts), sums[m])
        for which in range(3):
            expect(profile, windows, which, inside, total, sums[m])


@part
def _count(rows: Any, direction: Any, ends: Any, clusters: Any, where: Any, out: Any) -> Any:
    """Add the rows of two clusters in windows and on the far sides; return how many are in bins.

    ``where`` are the windows, and where the far sides are cut off.
    """
    X, chain, then = rows
    windows, cuts = where
    shift, u, before = direction
    length, first, second = ends
    low, width = -2.0 * first, (length + 2.0 * (first + second)) / BINS
    inside = valley = one = two = 0
    for side in range(2):
        row, n, total, square = chain[clusters[side]], 0.0, 0.0, 0.0
        centre, unit = (length, second) if side else (0.0, -first)
        while row >= 0:
            at = -before
            for c in range(len(u)):
                at += u[c] * (X[row, c] - shift[c])
            far, place = (at - centre) / unit, (at - low) / width
            if far > 0.0:
                n, total, square = n + 1.0, total + far, square + far * far
            if place >= 0.0 and place < BINS:
                inside, b = inside + 1, int(place)
                valley += windows[0] <= b <= windows[1]
                one += windows[2] <= b <= windows[3]
                two += windows[4] <= b <= windows[5]
            row = then[row]
        add_side(n, total, square, cuts[side], out[9 + 3 * side : 12 + 3 * side])
    out[0], out[1], out[2] = out[0] + valley, out[1] + one, out[2] + two
    return inside
