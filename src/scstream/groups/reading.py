"""Labels and probabilities of clusters as those of groups, wherever they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def renamed(labels: Any, group: Mapping[int, int]) -> Any:
    """Return the group of each label (n,); labels that are not clusters, such as -1, stay.

    A Dask array stays one.
    """
    if hasattr(labels, "map_blocks"):
        return labels.map_blocks(renamed, group, dtype=np.int64)
    if not isinstance(labels, np.ndarray):  # a tensor
        return labels.new_tensor(renamed(labels.cpu().numpy(), group))
    known, place = np.unique(labels, return_inverse=True)
    names = np.array([group.get(int(i), int(i)) for i in known], dtype=np.int64)
    return names[place.reshape(labels.shape)] if len(known) else labels.astype(np.int64)


def group_probabilities(proba: Any, ids: Ints, group: Mapping[int, int]) -> Any:
    """Return probabilities of groups (n, g), lowest id first, from those of clusters (n, k)."""
    mine = [group[i] for i in ids.tolist()]
    names = sorted(set(mine))
    member = np.array([[float(own == name) for name in names] for own in mine])
    if hasattr(proba, "new_tensor"):
        return proba @ proba.new_tensor(member)
    return proba @ member
