"""What a checkpoint holds of groups: what is known of seams, and ids by level."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.checkpoint.rows import pack_rows, unpack_rows
from scstream.checkpoint.values import Node, Packer
from scstream.groups.grouping import Grouping
from scstream.groups.lasting import Lasting
from scstream.groups.near import Lines, Rows
from scstream.groups.seams import Seams
from scstream.kernels.seams import SUMS
from scstream.sampler.learner import Learner
from scstream.sampler.rules import Rules

_MOST = 2**62  # ids


def pack_grouping(grouping: Grouping, packer: Packer, *, rows: bool) -> dict[str, Any]:
    """Return the groups of a model; rows only where it forms groups by itself."""
    (seams, pending), merges = grouping.known, grouping.merges
    return {
        "seams": {
            "pairs": packer.array(seams.pairs),
            "sums": packer.array(seams.sums),
            "rows": seams.rows,
            "clusters": packer.array(seams.ids),
            "wholes": packer.array(seams.whole),
            "changed": packer.array(seams.changed),
            "lines": _pack_lines(seams.lines, packer),
        },
        "pending": [
            {"rows": pack_rows(X, packer), "ids": packer.array(z)} for X, z in pending if rows
        ],
        "joined": None
        if merges is None
        else {"merges": packer.array(merges[0]), "heights": packer.array(merges[1])},
        "levels": [
            {
                "level": level,
                "next_id": lasting.next_id,
                "clusters": packer.array(_ints(list(lasting.group))),
                "groups": packer.array(_ints(list(lasting.group.values()))),
            }
            for level, lasting in grouping.lasting.items()
        ],
    }


def _pack_lines(lines: Lines, packer: Packer) -> dict[str, Any]:
    return {
        "pairs": packer.array(lines.pairs),
        "directions": packer.array(lines.direction),
        "offsets": packer.array(lines.offset),
        "seen": packer.array(lines.seen),
        "usual": packer.array(lines.usual),
    }


def unpack_grouping(node: Node, d: int, learner: Learner, rules: Rules) -> Grouping:
    """Return the groups of a model of d columns."""
    levels = dict(_unpack_level(one) for one in node.nodes("levels"))
    pending = tuple(_unpack_rows(one, d, learner) for one in node.nodes("pending"))
    grouping = Grouping(_unpack_seams(node.node("seams"), d), pending, levels)
    joined = node.maybe("joined")
    if joined is not None:
        grouping.restore(_unpack_merges(joined, learner.state.k), learner, rules)
    return grouping


def _unpack_rows(node: Node, d: int, learner: Learner) -> Rows:
    X = unpack_rows(node, None, d)
    if not isinstance(X, np.ndarray) or len(X) == 0 or not learner.family.sound(X):
        raise node.fail("rows", f"not what the family {learner.family.name!r} takes")
    return X, node.array("ids", np.int64, len(X))


def _unpack_seams(node: Node, d: int) -> Seams:
    pairs = node.array("pairs", np.int64, None, 2)
    sums = node.array("sums", float, len(pairs), SUMS)
    if np.any(pairs < 0) or not np.all(np.isfinite(sums)) or np.any(sums < 0):
        raise node.fail("sums", "not those of rows at seams")
    clusters = node.array("clusters", np.int64, None)
    wholes = node.array("wholes", np.int64, len(clusters))
    if np.any(wholes < 0):
        raise node.fail("wholes", "of numbers below 0")
    changed = node.array("changed", np.int64, None)
    rows, lines = node.number("rows", -1e-300), _unpack_lines(node.node("lines"), d)
    return Seams(pairs, sums, clusters, wholes, changed, rows, lines)


def _unpack_lines(node: Node, d: int) -> Lines:
    """Return the lines of a model of d columns."""
    pairs = node.array("pairs", np.int64, None, 2)
    m = len(pairs)
    direction, offset = node.array("directions", float, m, None), node.array("offsets", float, m)
    seen, usual = node.array("seen", float, m, 3), node.array("usual", float, 3)
    if m and direction.shape[1] != d:
        raise node.fail("directions", f"not those of {d} columns")
    if np.any(pairs < 0) or np.any(seen < 0) or np.any(usual < 0):
        raise node.fail("seen", "not those of rows along lines")
    return Lines(pairs, direction, offset, seen, usual)


def _unpack_merges(node: Node, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    merges = node.array("merges", np.int64, None, 2)
    heights = node.array("heights", float, len(merges))
    later = k + np.arange(len(merges))
    own = merges.ravel()
    sound = len(merges) < k and len(np.unique(own)) == len(own) and np.all(merges.min(axis=1) >= 0)
    if not sound or np.any(merges.max(axis=1) >= later) or np.any(np.diff(heights) < 0):
        raise node.fail("merges", "not those of a tree")
    return merges, heights


def _unpack_level(node: Node) -> tuple[float, Lasting]:
    level = node.number("level", -1e-300, 1.0 + 1e-15)
    next_id = node.integer("next_id", 0, _MOST)
    clusters = node.array("clusters", np.int64, None)
    groups = node.array("groups", np.int64, len(clusters))
    if np.any(groups < 0) or np.any(groups >= next_id) or np.any(clusters < 0):
        raise node.fail("groups", "about unknown ids")
    return level, Lasting(dict(zip(clusters.tolist(), groups.tolist(), strict=True)), next_id)


def _ints(values: list[int]) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)
