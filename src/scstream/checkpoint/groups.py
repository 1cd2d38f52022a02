"""What a checkpoint holds of groups: the rows they are formed by, and their ids by level."""

from __future__ import annotations

from typing import Any

import numpy as np

from scstream.checkpoint.rows import pack_rows, unpack_rows
from scstream.checkpoint.values import Node, Packer
from scstream.groups.grouping import Grouping
from scstream.groups.lasting import Lasting
from scstream.groups.sample import Recent
from scstream.sampler.learner import Learner

_MOST = 2**62  # ids


def pack_grouping(grouping: Grouping, packer: Packer, *, rows: bool) -> dict[str, Any]:
    """Return the groups of a model; the rows themselves only where it forms groups by itself."""
    batches = grouping.recent.batches if rows else ()
    return {
        "recent": [{"rows": pack_rows(X, packer)} for X in batches],
        "levels": [
            {
                "level": level,
                "next_id": lasting.next_id,
                "clusters": packer.array(np.array(list(lasting.group), dtype=np.int64)),
                "groups": packer.array(np.array(list(lasting.group.values()), dtype=np.int64)),
            }
            for level, lasting in grouping.lasting.items()
        ],
    }


def unpack_grouping(node: Node, d: int, learner: Learner) -> Grouping:
    """Return the groups of a model of d columns."""
    batches = tuple(unpack_rows(one, None, d) for one in node.nodes("recent"))
    if any(X.shape[0] == 0 or not learner.family.sound(X) for X in batches):
        raise node.fail("recent", f"not what the family {learner.family.name!r} takes")
    return Grouping(Recent.of(batches), dict(_unpack_level(one) for one in node.nodes("levels")))


def _unpack_level(node: Node) -> tuple[float, Lasting]:
    level = node.number("level", -1e-300, 1.0 + 1e-15)
    next_id = node.integer("next_id", 0, _MOST)
    clusters = node.array("clusters", np.int64, None)
    groups = node.array("groups", np.int64, len(clusters))
    if np.any(groups < 0) or np.any(groups >= next_id) or np.any(clusters < 0):
        raise node.fail("groups", "about unknown ids")
    return level, Lasting(dict(zip(clusters.tolist(), groups.tolist(), strict=True)), next_id)
