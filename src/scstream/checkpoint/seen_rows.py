"""Rows that were seen, of which a checkpoint holds the hashes."""

from __future__ import annotations

from typing import Any

import numpy as np

from scstream.checkpoint.values import Node, Packer
from scstream.sampler.repeats import Repeats

_MOST = 2**62  # batches


def pack_repeats(repeats: Repeats, packer: Packer) -> dict[str, Any]:
    """Return rows that were seen as a tree."""
    return {
        "hashes": packer.array(repeats.hashes.view(np.int64)),
        "batches": packer.array(repeats.batches),
        "number": repeats.number,
        "time": float(repeats.time),
        "watched": repeats.watched,
        "told": repeats.told,
    }


def unpack_repeats(node: Node) -> Repeats:
    """Return rows that were seen; nothing if the file is of a time before that."""
    if "repeats" not in node.tree:
        return Repeats()
    own = node.node("repeats")
    hashes, number = own.array("hashes", np.int64, None), own.integer("number", 0, _MOST)
    batches = own.array("batches", np.int64, len(hashes))
    if np.any(np.diff(batches) < 0) or np.any(batches > number) or np.any(batches < 1):
        raise own.fail("batches", "not the numbers of batches")
    return Repeats(
        hashes.view(np.uint64), batches, number, own.number("time"),
        own.integer("watched", 0, _MOST), own.flag("told"),
    )  # fmt: skip
