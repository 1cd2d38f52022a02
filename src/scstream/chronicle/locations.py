"""Where clusters are, how far they spread and how fast they move, whatever their family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from scstream.chronicle.lines import Floats

if TYPE_CHECKING:
    from scstream.events import Event

_LOCATIONS = ("mean", "rate", "probability", "probabilities")  # of a column, what it has


def locations(
    records: Sequence[Any],
) -> tuple[list[Any], Floats | None, list[Floats] | None]:
    """Return columns' names or numbers, locations (k, d) and covariances of k clusters.

    A column's location is its mean, rate or probability. Columns of words have none. There are no
    covariances if some column with a location has no variance.
    """
    if not records:
        return [], None, None
    keys = {name: _location_key(about) for name, about in records[0].columns.items()}
    keys = {name: key for name, key in keys.items() if key}
    if not keys:
        return [], None, None
    means = _columns(records, keys)
    names = list(keys)
    covariance: Any = getattr(records[0], "covariance", None)
    if np.shape(covariance) == (len(keys), len(keys)):
        return names, means, [np.asarray(record.covariance, dtype=float) for record in records]
    if all("variance" in records[0].columns[name] for name in keys):
        variances = _columns(records, dict.fromkeys(keys, "variance"))
        return names, means, [np.diag(row) for row in variances]
    return names, means, None


def speeds(ids: Sequence[int], events: Sequence[Event]) -> Floats | None:
    """Return the clusters' speeds (k,), None if there are none."""
    speeds = {event.cluster: event.speed for event in events if event.kind == "drift"}
    if not speeds:
        return None
    return np.array([speeds.get(cluster_id) for cluster_id in ids], dtype=float)


def _location_key(about: dict[str, Any]) -> str:
    """Return what a column's location is called, nothing where it has none."""
    return next((key for key in _LOCATIONS if isinstance(about.get(key), float)), "")


def _columns(records: Sequence[Any], keys: dict[Any, str]) -> Floats:
    """Return one number of each column, by its key, for each cluster: (k, d)."""
    return np.array([[r.columns[name][key] for name, key in keys.items()] for r in records])
