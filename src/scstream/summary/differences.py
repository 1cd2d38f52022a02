"""What makes a cluster different from the rest, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import Any

from scstream.records import Cluster
from scstream.support.words import in_number, in_numbers

_LOCATIONS = ("median", "mean", "rate", "probability", "probabilities")  # of a column, what it has
_CLEAR = 1.0  # standard deviations between a cluster and the rest that are worth a word
_SLIGHT = 0.2  # of them, below which clusters are alike
_SHARE = 0.2  # the share that counts as one of them
_NEARLY_ALL = 0.95  # a share of rows beside which the others hardly matter
_WIDER = 2.0  # times: a ratio of deviations that is worth a word,
_WIDE = 0.4  # and how many deviations an e-fold one counts as
_TIMES = 1.5  # a ratio that is worth a word
_MOST = 3  # differences that are listed


def column_name(name: Any) -> str:
    """Return what a column is called in a text: one without a name by its number."""
    return name if isinstance(name, str) else f"column {name}"


def location_key(about: Mapping[str, Any]) -> str:
    """Return what a column's location is called, nothing where it has none."""
    return next((key for key in _LOCATIONS if isinstance(about.get(key), float)), "")


def location(about: Mapping[str, Any]) -> float | None:
    """Return a column's median, mean, rate or probability in a cluster; None for words."""
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
    deviations within clusters, shares as they are. Where nothing is clear, what differs most.

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
    found: list[_Difference] = []
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
    clear = [difference for difference in found if difference.strength >= _CLEAR][:_MOST]
    some = clear or [difference for difference in found if difference.strength >= _SLIGHT][:1]
    return ", ".join(difference.words for difference in some) or "much like the rest"


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
    if word is None:
        return []
    here, there = own[word], own[word] - gain[word]
    said = f"{name} {'mostly' if here > 0.5 else 'more often'} {word}"
    if gain[word] < _SHARE:
        said = f"{name} {word} in {_percent(here, there)}"
    return [_Difference(gain[word] / _SHARE, said)]


def _percent(here: float, there: float) -> str:
    """Return two shares in words."""
    one, other = in_numbers(100.0 * here, 100.0 * there)
    if abs(here - there) >= 0.02:
        one, other = f"{100.0 * here:.0f}", f"{100.0 * there:.0f}"
    return f"{one}% (others {other}%)"


def _amount(
    name: str, about: Mapping[str, Any], others: Sequence[tuple[float, Mapping[str, Any]]]
) -> list[_Difference]:
    """Return how often a cluster has a column's common value, and how far other values are."""
    total = sum(weight for weight, _ in others)
    value, here = in_number(about["common_value"]), about["common_share"]
    there = sum(w * other["common_share"] for w, other in others) / total
    said = f"{name} {value} in {_percent(here, there)}"
    often = [_Difference(abs(here - there) / _SHARE, said)]
    rest = [(w * (1.0 - other["common_share"]), _of_others(other)) for w, other in others]
    if here > _NEARLY_ALL or there > _NEARLY_ALL:  # so few are other values that it is not known
        return often
    return often + _number(f"{name} other than {value}", _of_others(about), rest)


def _of_others(about: Mapping[str, Any]) -> dict[str, float]:
    """Return what is known of the values of a column that are not the common one."""
    return {key[6:]: value for key, value in about.items() if key.startswith("other_")}


def _number(
    name: str, about: Mapping[str, Any], others: Sequence[tuple[float, Mapping[str, Any]]]
) -> list[_Difference]:
    """Return how far a cluster's number is from the rest's."""
    total = max(sum(weight for weight, _ in others), 1e-300)
    here = location(about)
    there = sum(w * (location(other) or 0.0) for w, other in others) / total
    assert here is not None
    if "probability" in about or isinstance(about.get("probabilities"), float):
        return [_Difference(abs(here - there) / _SHARE, f"{name} {_percent(here, there)}")]
    own = _deviation(about)
    rest = sqrt(sum(w * _deviation(other) ** 2 for w, other in others) / total)
    strength = abs(here - there) / max(sqrt((own**2 + rest**2) / 2.0), 1e-150)
    one, other = in_numbers(here, there)
    said = f"{name} {'higher' if here > there else 'lower'} ({one}, others {other})"
    if _is_ratio(about, here, there):
        times = in_number(max(here / there, there / here), 2)
        said = f"{name} {times} times {'as high' if here > there else 'lower'}"
    found = [_Difference(strength, said)]
    each = [_width(other) for _, other in others]
    if min(_width(about), *each) > 0.0:
        usual = sum(w * log(x) for (w, _), x in zip(others, each, strict=True)) / total
        wider = log(_width(about)) - usual
        low, high = (in_number(about[end]) for end in ("low", "high"))
        how = f"{name} {'more' if wider > 0.0 else 'less'} varied ({low} to {high})"
        found += [_Difference(_WIDE * abs(wider), how)] * (abs(wider) > log(_WIDER))
    return found


def _width(about: Mapping[str, Any]) -> float:
    """Return the range of most values, of logarithms where these are compared; 0 if not known."""
    low, high = about.get("low", 0.0), about.get("high", 0.0)
    if "variance" in about:
        return float(high - low)
    return log(high / low) if 0.0 < low < high else 0.0


def _deviation(about: Mapping[str, Any]) -> float:
    """Return half of the range of most values of a column in a cluster."""
    here = abs(location(about) or 0.0)
    if "high" in about:
        return 0.5 * float(about["high"] - about["low"])
    if "variance" in about:
        return sqrt(about["variance"])
    return sqrt(here) if "rate" in about else here  # counts; durations


def _is_ratio(about: Mapping[str, Any], here: float, there: float) -> bool:
    """Whether numbers are never negative, and far enough apart for a ratio to say more."""
    if "variance" in about or min(here, there) <= 0:
        return False
    return max(here / there, there / here) >= _TIMES
