"""Whether models fit together: the same family, columns, units and requests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from scstream.families.contract import Array, Family
from scstream.sampler.rules import RULES
from scstream.support.times import is_length, length

if TYPE_CHECKING:
    from scstream.model import ScStream

_SHAPING = (
    "alpha", "half_life", "sweeps", "max_clusters", "splits", "merges", "outlier_weight",
    "group_level", "rules",
)  # fmt: skip
_UNITS = (
    100.0  # times that clusters spread in one model as they do in another, from which units differ
)


def agreed(models: Iterable[Any]) -> list[ScStream]:
    """Return models, those given as bytes among them, or raise for what they do not agree in."""
    from scstream.model import ScStream

    if isinstance(models, bytes | bytearray | ScStream):
        raise TypeError("merge takes a list of models: merge([one, other]).")
    out = [ScStream.from_bytes(bytes(m)) if isinstance(m, bytes | bytearray) else m for m in models]
    if not out:
        raise ValueError("There is no model to merge.")
    for number, model in enumerate(out):
        if not isinstance(model, ScStream):
            raise TypeError(
                f"Model {number} is of type {type(model).__name__}: merge takes ScStream models "
                "and the bytes of such."
            )
    first = next((number for number, m in enumerate(out) if m.n_batches_), 0)
    for number, model in enumerate(out):
        _check_pair(out[first], model, f"models {first} and {number}")
    return out


def _check_pair(one: ScStream, other: ScStream, who: str) -> None:
    """Raise `ValueError` if two models cannot be merged."""
    if one.kernel is not other.kernel:
        raise ValueError(
            f"{who.capitalize()} cannot be merged: their kernels are not the same function. One "
            "that was read from bytes or a file gets its own by set_params(kernel=f)."
        )
    for name in _SHAPING:
        a, b = _plain(getattr(one, name)), _plain(getattr(other, name))
        if a != b:
            raise ValueError(
                f"{who.capitalize()} cannot be merged: {name} is {a!r} in one and {b!r} in the "
                "other."
            )
    if _name_of(one.family) != _name_of(other.family):
        raise ValueError(
            f"{who.capitalize()} cannot be merged: their families are {one.family!r} and "
            f"{other.family!r}."
        )
    if one.n_batches_ and other.n_batches_ and one is not other:
        _check_learned(one, other, who)


def _plain(value: Any) -> Any:
    if value is None or value is RULES or type(value) is type(RULES):
        return value and (value.to_saved() or None)
    return length(value) if value != "auto" and is_length(value) else value


def _name_of(family: Any) -> str:
    return family if isinstance(family, str) else repr(family)


def _check_learned(one: ScStream, other: ScStream, who: str) -> None:
    start = f"{who.capitalize()} cannot be merged: "
    if one.n_features_in_ != other.n_features_in_:
        raise ValueError(
            f"{start}one has {one.n_features_in_} columns, the other {other.n_features_in_}."
        )
    a, b = (list(getattr(m, "feature_names_in_", [])) for m in (one, other))
    if a and b and a != b:
        column = next(i for i, pair in enumerate(zip(a, b, strict=True)) if pair[0] != pair[1])
        raise ValueError(
            f"{start}column {column} is {a[column]!r} in one and {b[column]!r} in the other."
        )
    if one.dates_ != other.dates_:
        raise ValueError(f"{start}the times of one are dates, those of the other are not.")
    _check_units(one, other, start)


def _check_units(one: ScStream, other: ScStream, start: str) -> None:
    """Raise where clusters of one model spread so differently that columns have other units."""
    a, b = (_spreads(m._learner.family, m._learner.state.totals) for m in (one, other))
    if a is None or b is None or a.shape != b.shape:
        return
    ratio = np.maximum(a, b) / np.maximum(np.minimum(a, b), 1e-300)
    j = int(np.argmax(ratio))
    if ratio[j] > _UNITS and min(a[j], b[j]) > 0.0:
        name = list(getattr(one, "feature_names_in_", range(len(a))))[j]
        raise ValueError(
            f"{start}column {name!r} spreads by {a[j]:.3g} within clusters of one and by "
            f"{b[j]:.3g} in the other. Their units must be the same."
        )


def _spreads(family: Family, totals: Array) -> Array | None:
    """Return the usual deviation (d,) of columns within clusters (k, p), None if they have none."""
    about, n = family.describe(family.prior + totals), totals[:, 0]
    if "covariance" in about:
        variance = np.diagonal(about["covariance"], axis1=1, axis2=2)
    elif "variance" in about and about["variance"].ndim == 2:
        variance = about["variance"]
    else:
        return None
    out: Array = np.sqrt(np.average(variance, axis=0, weights=np.maximum(n, 1e-9)))
    return out
