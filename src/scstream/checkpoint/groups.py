"""What is saved of groups: what is known of boundaries between clusters, and ids by level."""

from __future__ import annotations

from typing import Any

import numpy as np

from scstream.checkpoint.errors import require
from scstream.checkpoint.forms import (
    ids,
    many,
    maybe,
    number,
    part,
    plain,
    reals,
    rows,
    whole,
)
from scstream.groups.boundaries import Boundaries
from scstream.groups.bridges import BINS
from scstream.groups.grouping import Grouping
from scstream.groups.lasting import Lasting
from scstream.sampler.learner import Learner

_boundaries = part(
    Boundaries,
    pairs=ids("m", 2),
    rows=reals("m", BINS, low=0.0),
    curve=reals("m", 5),
    skewed=reals("m"),
    whole=reals("m", low=-1.0),
    seen=number(0.0),
)


def _make_lasting(group: dict[int, int], next_id: int) -> Lasting:
    sound = all(type(one) is int and one >= 0 for item in group.items() for one in item)
    require(sound and max(group.values(), default=-1) < next_id, "groups have unknown ids")
    return Lasting(group, next_id)


_lasting = part(Lasting, _make_lasting, group=plain(dict), next_id=whole())


def _pending(value: Any, sizes: dict[str, int], name: str) -> Any:
    return rows(value, {**sizes}, name)


def _joined(value: Any, sizes: dict[str, int], name: str) -> Any:
    """Return merges of K clusters, each of two earlier parts, and their heights."""
    own, k = {**sizes}, sizes["K"]
    merges, heights = ids("m", 2)(value[0], own, name), reals("m")(value[1], own, name)
    once = len(merges) < k and len(np.unique(merges)) == merges.size
    earlier = np.all(merges.max(axis=1) < k + np.arange(len(merges)))
    require(once and earlier and np.all(np.diff(heights) >= 0), f"{name} is not a tree")
    return merges, heights


def entries(grouping: Grouping, *, with_rows: bool) -> dict[str, Any]:
    """Return what is saved of groups; rows only where the model forms groups by itself."""
    return {
        "boundaries": grouping.boundaries,
        "pending": grouping.pending if with_rows else (),
        "waiting": grouping.waiting if with_rows else 0,
        "joined": grouping.merges,
        "levels": grouping.lasting,
    }


def grouping(saved: Any, sizes: dict[str, int], learner: Learner) -> Grouping:
    """Return the groups of a model."""
    sizes = {letter: size for letter, size in sizes.items() if letter.isupper()}  # of the model
    boundaries = _boundaries(saved["boundaries"], sizes, "boundaries")
    waiting = whole()(saved["waiting"], sizes, "waiting")
    pending = many(_pending)(saved["pending"], sizes, "pending")
    for X in pending:
        sound = X.shape[0] > 0 and learner.family.sound(X)
        require(sound, f"pending rows are not what the family {learner.family.name!r} takes")
    levels = {
        number(0.0)(level, sizes, "level"): _lasting(groups, sizes, "groups")
        for level, groups in saved["levels"].items()
    }
    out = Grouping(boundaries, pending, waiting, levels)
    joined = maybe(_joined)(saved["joined"], sizes, "joined")
    if joined is not None:
        out.restore(joined, learner)
    return out
