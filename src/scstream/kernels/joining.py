"""Compiled kernels that join clusters to wholes, given what lies between each two."""

from __future__ import annotations

from math import exp, log
from typing import Any

import numpy as np

from scstream.kernels.compiling import brief


@brief
def join(pairs: Any, ratio: Any, peak: Any, power: float, room: Any, out: Any) -> Any:
    """Fill merges (k - 1, 2) and their heights (k - 1,), as far as links go, and return how many.

    The two wholes with the shallowest valley are joined first. A link between two wholes counts as
    deep as the deeper of two valleys: the one between the two clusters that touch, and, where
    their place is low ground, the one between the peaks of the two wholes, to a power.

    ``room`` is for the node (k,) and the highest peak (k,) of each cluster's whole.
    """
    node, top = room
    merges, heights = out
    k = len(peak)
    for i in range(k):
        node[i], top[i] = i, peak[i]
    least = 0.0
    for step in range(k - 1):
        best, value, place = -1, -np.inf, -np.inf
        for m in range(len(pairs)):
            a, b = pairs[m, 0], pairs[m, 1]
            if node[a] == node[b] or not ratio[m] > 0.0:
                continue
            depth = log(ratio[m])
            saddle = min(peak[a], peak[b]) + depth
            depth = min(depth, power * min(saddle - min(top[a], top[b]), 0.0))
            if depth > value or (depth == value and saddle > place):
                best, value, place = m, depth, saddle
        if best < 0:
            return step
        one, other = node[pairs[best, 0]], node[pairs[best, 1]]
        merges[step, 0], merges[step, 1] = min(one, other), max(one, other)
        least = max(1.0 - exp(value), least)
        heights[step] = least
        high = max(top[pairs[best, 0]], top[pairs[best, 1]])
        for i in range(k):
            if node[i] == one or node[i] == other:
                node[i], top[i] = k + step, high
    return k - 1


@brief
def numbered(merges: Any, n: int, owner: Any, out: Any) -> None:
    """Fill the whole (k,) of each cluster after n merges, numbered from 0 in their order.

    ``owner`` is room, (2 k,).
    """
    k = len(out)
    for node in range(k + n):
        owner[node] = node
    for i in range(n):
        owner[merges[i, 0]] = owner[merges[i, 1]] = k + i
    for node in range(k + n - 1, -1, -1):  # what joins whom is always the later node
        owner[node] = owner[owner[node]]
    found = 0
    for i in range(k):
        out[i] = -1
        for j in range(i):
            if owner[j] == owner[i]:
                out[i] = out[j]
                break
        if out[i] < 0:
            out[i] = found
            found += 1
