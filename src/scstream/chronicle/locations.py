"""Where clusters are, how far they spread and how fast they move, whatever their family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from scstream.chronicle.lines import Floats

if TYPE_CHECKING:
    from scstream.events import Event

_LIKELIEST = 3  # categories of a column that are kept
_MOST_COLUMNS = 32  # columns of words that are kept
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


def likely_words(columns: Mapping[Any, Any]) -> dict[str, dict[str, float]]:
    """Return the likeliest categories of a cluster's columns of words, with their shares.

    Examples
    --------
    >>> likely_words({"colour": {"probabilities": {"red": 0.9, "blue": 0.1}}, "x": {"mean": 1.0}})
    {'colour': {'red': 0.9, 'blue': 0.1}}
    """
    out = {}
    for name, about in columns.items():
        shares = about.get("probabilities") if isinstance(about, dict) else None
        if isinstance(shares, dict):
            top = sorted(shares.items(), key=lambda pair: -pair[1])[:_LIKELIEST]
            out[str(name)] = {str(word): round(float(share), 4) for word, share in top}
    return dict(list(out.items())[:_MOST_COLUMNS])
