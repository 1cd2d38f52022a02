"""What makes a cluster different from the rest, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

from scstream.records import Cluster
from scstream.support.words import in_number

_LOCATIONS = ("mean", "rate", "probability", "probabilities")  # of a column, what it has
_CLEAR = 1.0  # standard deviations between a cluster and the rest that are worth a word
_SHARE = 0.2  # the same for shares
_TIMES = 1.5  # a ratio that is worth a word
_MOST = 3  # differences that are listed


def column_name(name: Any) -> str:
    """Return what a column is called in a text: one without a name by its number."""
    return name if isinstance(name, str) else f"column {name}"


def location_key(about: Mapping[str, Any]) -> str:
    """Return what a column's location is called, nothing where it has none."""
    return next((key for key in _LOCATIONS if isinstance(about.get(key), float)), "")


def location(about: Mapping[str, Any]) -> float | None:
    """Return a column's mean, rate or probability in a cluster; None for words."""
    return about.get(location_key(about))


def shares(about: Mapping[str, Any]) -> Mapping[Any, float] | None:
    """Return the shares of a column's categories in a cluster; None for numbers."""
    found = about.get("probabilities")
    return found if isinstance(found, dict) else None


@dataclass(frozen=True)
class _Difference:
    strength: float
    words: str


def differences(clusters: Sequence[Cluster]) -> list[str]:
    """Return for each cluster what makes it different from all others together.

    The rest is the mean of the other clusters by their weights. Numbers are compared in standard
    deviations within clusters, shares as they are.

    Examples
    --------
    >>> def cluster(i, rate, words):
    ...     columns = {"clicks": {"rate": rate}, "land": {"probabilities": words}}
    ...     return Cluster(i, 0.5, 100.0, 1.0, 0.0, {}, columns)
    >>> differences([cluster(0, 16.0, {"DE": 0.9, "FR": 0.1}), cluster(1, 5.0, {"FR": 1.0})])
    ['land mostly DE, clicks 3.2 times as high', 'land mostly FR, clicks 3.2 times lower']
    """
    return [_of_one(i, clusters) for i in range(len(clusters))]


def _of_one(i: int, clusters: Sequence[Cluster]) -> str:
    rest = [cluster for j, cluster in enumerate(clusters) if j != i]
    if not rest:
        return ""
    found = []
    for name, about in clusters[i].columns.items():
        others = [(cluster.weight, cluster.columns[name]) for cluster in rest]
        words = shares(about)
        if words is not None:
            found += _words(column_name(name), words, others)
        elif "common_share" in about:
            found += _amount(column_name(name), about, others)
        elif location(about) is not None:
            found += _number(column_name(name), about, others)
    found.sort(key=lambda difference: -difference.strength)
    return ", ".join(difference.words for difference in found[:_MOST]) or "much like the rest"


def _words(
    name: str, own: Mapping[Any, float], others: Sequence[tuple[float, Mapping[str, Any]]]
) -> list[_Difference]:
    """Return the category that a cluster has more of than the rest."""
    total = sum(weight for weight, _ in others)
    gain = {
        word: share - sum(w * (shares(about) or {}).get(word, 0.0) for w, about in others) / total
        for word, share in own.items()
    }
    word = max(gain, key=lambda word: gain[word], default=None)
    if word is None or gain[word] < _SHARE:
        return []
    how = "mostly" if own[word] > 0.5 else "more often"
    return [_Difference(5.0 * gain[word], f"{name} {how} {word}")]


def _amount(
    name: str, about: Mapping[str, Any], others: Sequence[tuple[float, Mapping[str, Any]]]
) -> list[_Difference]:
    """Return how often a cluster has a column's common value, and how far other values are."""
    total = sum(weight for weight, _ in others)
    value, here = in_number(about["common_value"]), about["common_share"]
    there = sum(w * other["common_share"] for w, other in others) / total
    said = f"{name} {value} in {here:.0%} (others {there:.0%})"
    often = [_Difference(5.0 * abs(here - there), said)] if abs(here - there) >= _SHARE else []
    rest = [(w * (1.0 - other["common_share"]), _of_others(other)) for w, other in others]
    return often + _number(f"{name} other than {value}", _of_others(about), rest)


def _of_others(about: Mapping[str, Any]) -> dict[str, float]:
    """Return what is known of the values of a column that are not the common one."""
    return {"mean": about["other_mean"], "variance": about["other_variance"]}


def _number(
    name: str, about: Mapping[str, Any], others: Sequence[tuple[float, Mapping[str, Any]]]
) -> list[_Difference]:
    """Return how far a cluster's number is from the rest's."""
    total = sum(weight for weight, _ in others)
    here = location(about)
    there = sum(w * (location(other) or 0.0) for w, other in others) / total
    assert here is not None
    if "probability" in about or isinstance(about.get("probabilities"), float):
        strength = 5.0 * abs(here - there)
        said = f"{name} {here:.0%} (others {there:.0%})"
        return [_Difference(strength, said)] if abs(here - there) >= _SHARE else []
    spread = [w * _variance(other) for w, other in others]
    scale = sqrt(max((_variance(about) + sum(spread) / total) / 2.0, 1e-300))
    strength = abs(here - there) / scale
    if strength < _CLEAR:
        return []
    if _is_ratio(about, here, there):
        times = (
            f"{here / there:.2g} times as high"
            if here > there
            else f"{there / here:.2g} times lower"
        )
        return [_Difference(strength, f"{name} {times}")]
    more = "higher" if here > there else "lower"
    return [_Difference(strength, f"{name} {more} ({in_number(here)}, others {in_number(there)})")]


def _variance(about: Mapping[str, Any]) -> float:
    """Return the variance of a column in a cluster."""
    here = location(about) or 0.0
    if "variance" in about:
        return float(about["variance"])
    if "shape" in about:
        return here**2 / max(float(about["shape"]), 1e-300)
    return here if "rate" in about else here**2  # counts; durations


def _is_ratio(about: Mapping[str, Any], here: float, there: float) -> bool:
    """Whether numbers are never negative, and far enough apart for a ratio to say more."""
    if "variance" in about or min(here, there) <= 0:
        return False
    return max(here / there, there / here) >= _TIMES
