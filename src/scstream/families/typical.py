"""What is typical of the columns of clusters: a place, and a range within what was seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scstream.families.scores import Array

_OWN = ("mean", "rate", "low", "high")
_PLACES = (*_OWN, *(f"other_{key}" for key in _OWN))  # numbers as the column holds them


def deviations(about: Mapping[str, Array]) -> Array | None:
    """Return the standard deviations (k, d) of described columns, None if they are not known."""
    if "variance" in about:
        return np.asarray(np.sqrt(about["variance"]))
    if "shape" in about:
        return np.asarray(about["mean"] / np.sqrt(about["shape"]))
    if "rate" in about:
        rate = about["rate"]
        return np.asarray(np.sqrt(rate + about.get("dispersion", 0.0) * rate**2))
    return None


def by_column(
    described: Mapping[str, Array], names: Sequence[Any], seen: Array | None
) -> list[dict[Any, dict[str, float]]]:
    """Return for each of k clusters what is described of each column, by its name.

    With a place and a deviation comes the range of most values, one deviation each way unless the
    family gives it. Nothing lies beyond the least and the largest number that a column ever held,
    ``seen`` (2, d), where these are known.
    """
    d = len(names)
    about = {key: value for key, value in described.items() if value.shape[1:] == (d,)}
    if "covariance" in described:
        about["variance"] = np.diagonal(described["covariance"], axis1=1, axis2=2)
    place, spread = about.get("mean", about.get("rate")), deviations(about)
    if place is not None and spread is not None and "low" not in about:
        about |= {"low": place - spread, "high": place + spread}
    if seen is not None:
        places = [key for key in _PLACES if key in about]
        about |= {key: np.fmax(np.fmin(about[key], seen[1]), seen[0]) for key in places}
    keys, k = list(about), len(next(iter(described.values())))
    table = np.stack([np.zeros((k, d)), *about.values()], axis=-1)[..., 1:].tolist()
    return [
        {name: dict(zip(keys, row, strict=True)) for name, row in zip(names, rows, strict=True)}
        for rows in table
    ]
