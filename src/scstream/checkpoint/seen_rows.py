"""Rows that were seen, of which a checkpoint holds the hashes."""

from __future__ import annotations

from typing import Any

import numpy as np

from scstream.checkpoint.values import Node, Packer
from scstream.sampler.repeats import Repeats

_MOST = 2**62  # batches


def pack_repeats(repeats: Repeats, packer: Packer) -> dict[str, Any]:
    """Return rows that were seen as a tree."""
    seen = np.concatenate([np.empty(0, dtype=np.uint64), *repeats.seen])
    return {
        "hashes": packer.array(seen.view(np.int64)),
        "rows": packer.array(np.array([len(hashes) for hashes in repeats.seen], dtype=np.int64)),
        "time": float(repeats.time),
        "watched": repeats.watched,
        "told": repeats.told,
    }


def unpack_repeats(node: Node) -> Repeats:
    """Return rows that were seen; nothing if the file is of a time before that."""
    if "repeats" not in node.tree:
        return Repeats()
    own = node.node("repeats")
    rows, hashes = own.array("rows", np.int64, None), own.array("hashes", np.int64, None)
    if np.any(rows < 0) or rows.sum() != len(hashes):
        raise own.fail("rows", "not the numbers of hashes")
    seen = np.split(hashes.view(np.uint64), np.cumsum(rows)[:-1]) if len(rows) else []
    return Repeats(
        tuple(seen), own.number("time"), own.integer("watched", 0, _MOST), own.flag("told")
    )
