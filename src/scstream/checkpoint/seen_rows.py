"""Rows that were seen: hashes of those that may come again, and how alike successive ones are."""

from __future__ import annotations

from typing import Any

import numpy as np

from scstream.checkpoint.values import Node, Packer
from scstream.sampler.alike import Alike, Likeness
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
    """Return rows that were seen."""
    own = node.node("repeats")
    hashes, number = own.array("hashes", np.int64, None), own.integer("number", 0, _MOST)
    batches = own.array("batches", np.int64, len(hashes))
    if np.any(np.diff(batches) < 0) or np.any(batches > number) or np.any(batches < 1):
        raise own.fail("batches", "not the numbers of batches")
    return Repeats(
        hashes.view(np.uint64), batches, number, own.number("time"),
        own.integer("watched", 0, _MOST), own.flag("told"),
    )  # fmt: skip


def pack_alike(alike: Alike, packer: Packer) -> dict[str, Any]:
    """Return how much rows resemble the one before, as a tree."""
    return {
        "weight": alike.weight,
        "correlation": alike.likeness.correlation,
        "farther": alike.likeness.farther,
        "looked": alike.looked,
        "seen": alike.seen,
        "usual": float(alike.usual),
        "rows": packer.array(alike.rows),
        "labels": packer.array(alike.labels),
    }


def unpack_alike(node: Node) -> Alike:
    """Return how much rows resemble the one before."""
    own = node.node("alike")
    rows, labels = own.array("rows", float, None, None), own.array("labels", np.int64, None)
    if len(labels) != len(rows):
        raise own.fail("labels", "not those of the rows")
    likeness = Likeness(own.number("correlation"), own.number("farther"))
    return Alike(
        own.number("weight", 0.0), likeness, own.integer("looked", 0, _MOST),
        own.integer("seen", 0, _MOST), own.number("usual", -1e-300), rows, labels,
    )  # fmt: skip
