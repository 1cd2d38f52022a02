"""Compiled sums over the rows of large Gaussian batches, by label and sub-label.

Leaf by leaf of the tree of sums, rows are put in the order of their labels, as those of small
batches are: see `small_rows`. Statistics of rows are made on the way and never kept.
"""

from __future__ import annotations

from typing import Any

from scstream.kernels.arguments import Division, Rows, Scores, Sums
from scstream.kernels.compiling import part
from scstream.kernels.elementary import exponentials, logs
from scstream.kernels.label_proposals import BLOCK
from scstream.kernels.large_tiles import FAR, Floats, Found, Ints, Run
from scstream.kernels.sharing import Totals
from scstream.kernels.small_rows import divide_rows, sublabel_block
from scstream.kernels.small_scratch import Block, sort


@part
def add_rows(
    rows: Rows, found: Found, pairs: Scores, drawn: bool, run: Run, block: Block, totals: Totals,
    at: int,
) -> None:  # fmt: skip
    """Divide rows among the sub-clusters of their labels, and add them to the sums of a node.

    Labels beyond those of clusters become -1.
    """
    d, p, k = rows.T.shape[1], pairs.eta.shape[1], len(pairs.eta) // 2
    sums = Sums(
        totals.current[at].reshape(k, 2, p), totals.rows[at].reshape(k, 2),
        totals.rivals[at].reshape(k, k), totals.between[at].reshape(k, k),
    )  # fmt: skip
    for i in range(len(rows.label)):
        if rows.label[i] >= k:
            rows.label[i] = -1
            rows.sublabel[i] = 0
    sort(rows.label, k, run.order, run.first)
    how = drawn, len(pairs.power) == 0
    for c in range(k):
        for first in range(run.first[c], run.first[c + 1], BLOCK):
            which = run.order[first : min(first + BLOCK, run.first[c + 1])]
            sublabel_block(rows, pairs, run.u, how, d, which, block, c, sums)
            _add_seconds(rows.weight, found, which, block, c, sums)


@part
def _add_seconds(
    weight: Floats, found: Found, which: Ints, block: Block, c: int, sums: Sums
) -> None:
    """Count the second choices of rows of cluster c, and the doubts of those that leave some."""
    left, k, pair, odds, second = 0, len(sums.rows), block.pair, block.odds, found.second
    for j in range(len(which)):
        i = which[j]
        s = second[i] if second[i] >= 0 else FAR - second[i]
        if 0 <= s < k:
            sums.rivals[c, s] += 1
        which[left] = i
        left += second[i] >= 0
    for j in range(left):
        pair[j] = found.gap[which[j]]
        odds[j] = -abs(pair[j])
    exponentials(odds, left)
    for j in range(left):
        odds[j] += 1.0
    logs(odds, left)
    for j in range(left):
        i = which[j]
        if second[i] < k:
            doubt = odds[j] + (pair[j] if pair[j] > 0.0 else 0.0)
            sums.doubt[c, second[i]] += weight[i] * doubt


@part
def try_rows(
    rows: Rows, chosen: Any, pairs: Scores, doubts: bool, run: Run, block: Block, totals: Totals,
    at: int,
) -> None:  # fmt: skip
    """Take the better sub-labels of the chosen clusters' rows, and add these to the sums of a node.

    They are the sub-labels of ``rows``.
    """
    d, p, k = rows.T.shape[1], pairs.eta.shape[1], len(chosen)
    tried = Division(totals.current[at].reshape(k, 2, p), totals.between[at])
    sort(rows.label, k, run.order, run.first)
    how = len(pairs.power) == 0, doubts
    divide_rows(rows, chosen, run.order, run.first, pairs, how, d, block, tried)
