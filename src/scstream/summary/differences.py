"""What makes a cluster different from the rest, in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import log, sqrt
from typing import Any, NamedTuple

import numpy as np

from scstream.families.contract import Array
from scstream.records import Cluster
from scstream.support.words import in_number, in_numbers

About = Mapping[str, Any]  # what is known of a column in a cluster

_LOCATIONS = ("median", "mean", "rate", "probability", "probabilities")  # of a column, what it has
_CLEAR = 1.0  # standard deviations between a cluster and the rest that are worth a word
_SLIGHT = 0.2  # of them, below which clusters are alike
_SHARE = 0.2  # the share that counts as one of them
_NEARLY_ALL = 0.95  # a share of rows beside which the others hardly matter
_WIDER = 2.0  # times: a ratio of deviations that is worth a word,
_WIDE = 0.4  # and how many deviations an e-fold one counts as
_TIMES = 1.5, 20.0  # ratios that are worth a word; beyond, the two numbers say more
_MOST = 3  # differences that are listed


def column_name(name: Any) -> str:
    """Return what a column is called in a text: one without a name by its number."""
    return name if isinstance(name, str) else f"column {name}"


def location_key(about: About) -> str:
    """Return what a column's location is called, nothing where it has none."""
    return next((key for key in _LOCATIONS if isinstance(about.get(key), float)), "")


def location(about: About) -> float | None:
    """Return a column's median, mean, rate or probability in a cluster; None for words."""
    return about.get(location_key(about))


def shares(about: About) -> Mapping[Any, float] | None:
    """Return the shares of a column's categories in a cluster; None for numbers."""
    found = about.get("probabilities")
    return found if isinstance(found, dict) else None


class _Differences(NamedTuple):
    """How k clusters differ from the others in one way: how much each does, and in words."""

    strength: Array  # (k,)
    words: Callable[[int], str]


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
    if len(clusters) < 2:
        return [""] * len(clusters)
    weights = np.array([cluster.weight for cluster in clusters])
    found: list[_Differences] = []
    for key in clusters[0].columns:
        name, abouts = column_name(key), [cluster.columns[key] for cluster in clusters]
        if shares(abouts[0]) is not None:
            found += _words(name, abouts, weights)
        elif "common_share" in abouts[0]:
            found += _amount(name, abouts, weights)
        elif location(abouts[0]) is not None:
            found += _number(name, abouts, weights)
    return [_of_one(i, found) for i in range(len(clusters))]


def _of_one(i: int, found: Sequence[_Differences]) -> str:
    most = sorted(found, key=lambda one: -one.strength[i])[:_MOST]
    clear = [one for one in most if one.strength[i] >= _CLEAR]
    some = clear or [one for one in most[:1] if one.strength[i] >= _SLIGHT]
    return ", ".join(one.words(i) for one in some) or "much like the rest"


def _of_rest(values: Array, weights: Array) -> Array:
    """Return for each cluster the mean of the others' values (k,) or (k, m), by their weights."""
    weights = np.maximum(weights, 1e-300).reshape(-1, *[1] * (values.ndim - 1))

    def others(x: Array) -> Array:  # sums without a difference, which could cancel
        none = np.zeros((1, *x.shape[1:]))
        before = np.cumsum(np.concatenate([none, x[:-1]]), axis=0)
        after = np.cumsum(np.concatenate([none, x[:0:-1]]), axis=0)[::-1]
        return np.asarray(before + after)

    return others(weights * values) / others(weights)


def _words(name: str, abouts: Sequence[About], weights: Array) -> list[_Differences]:
    """Return the categories that clusters have more of than the rest."""
    own = [shares(about) or {} for about in abouts]
    words = list(dict.fromkeys(word for one in own for word in one))
    if not words:
        return []
    here = np.array([[one.get(word, 0.0) for word in words] for one in own])
    there = _of_rest(here, weights)
    best, each = (here - there).argmax(axis=1), np.arange(len(own))
    gain = (here - there)[each, best]

    def said(i: int) -> str:
        word, share = words[best[i]], here[i, best[i]]
        if gain[i] < _SHARE:
            return f"{name} {word} in {_percent(share, there[i, best[i]])}"
        return f"{name} {'mostly' if share > 0.5 else 'more often'} {word}"

    return [_Differences(gain / _SHARE, said)]


def _percent(here: float, there: float) -> str:
    """Return two shares in words."""
    one, other = in_numbers(100.0 * here, 100.0 * there)
    if abs(here - there) >= 0.02:
        one, other = f"{100.0 * here:.0f}", f"{100.0 * there:.0f}"
    return f"{one}% (others {other}%)"


def _amount(name: str, abouts: Sequence[About], weights: Array) -> list[_Differences]:
    """Return how often clusters have a column's common value, and how far other values are."""
    value, here = in_number(abouts[0]["common_value"]), _each(abouts, "common_share")
    there = _of_rest(here, weights)
    often = _Differences(
        abs(here - there) / _SHARE, lambda i: f"{name} {value} in {_percent(here[i], there[i])}"
    )
    rare = (here > _NEARLY_ALL) | (there > _NEARLY_ALL)  # so few that they are not known
    others = [_of_others(about) for about in abouts]
    more = _number(f"{name} other than {value}", others, weights * (1.0 - here))
    return [often, *(one._replace(strength=np.where(rare, 0.0, one.strength)) for one in more)]


def _each(abouts: Sequence[About], key: str) -> Array:
    return np.array([about[key] for about in abouts])


def _of_others(about: About) -> dict[str, float]:
    """Return what is known of the values of a column that are not the common one."""
    return {key[6:]: value for key, value in about.items() if key.startswith("other_")}


def _number(name: str, abouts: Sequence[About], weights: Array) -> list[_Differences]:
    """Return how far the numbers of clusters are from the rest's, and how much wider they are."""
    here = np.array([location(about) or 0.0 for about in abouts])
    there = _of_rest(here, weights)
    if location_key(abouts[0]) in ("probability", "probabilities"):
        far = abs(here - there) / _SHARE
        return [_Differences(far, lambda i: f"{name} {_percent(here[i], there[i])}")]
    own = np.array([_deviation(about) for about in abouts])
    spread = np.sqrt((own**2 + _of_rest(own**2, weights)) / 2.0)

    def said(i: int) -> str:
        higher, (one, other) = here[i] > there[i], in_numbers(here[i], there[i])
        if _is_ratio(abouts[i], here[i], there[i]):
            times = in_number(max(here[i] / there[i], there[i] / here[i]), 2)
            return f"{name} {times} times {'as high' if higher else 'lower'}"
        return f"{name} {'higher' if higher else 'lower'} ({one}, others {other})"

    found = [_Differences(abs(here - there) / np.maximum(spread, 1e-150), said)]
    width = np.array([_width(about) for about in abouts])
    if width.min() > 0.0:
        wider = np.log(width) - _of_rest(np.log(width), weights)

        def varied(i: int) -> str:
            low, high = (in_number(abouts[i][end]) for end in ("low", "high"))
            return f"{name} {'more' if wider[i] > 0.0 else 'less'} varied ({low} to {high})"

        clear = np.where(abs(wider) > log(_WIDER), _WIDE * abs(wider), 0.0)
        found.append(_Differences(clear, varied))
    return found


def _width(about: About) -> float:
    """Return the range of most values, of logarithms where these are compared; 0 if not known."""
    low, high = about.get("low", 0.0), about.get("high", 0.0)
    if "variance" in about:
        return float(high - low)
    return log(high / low) if 0.0 < low < high else 0.0


def _deviation(about: About) -> float:
    """Return half of the range of most values of a column in a cluster."""
    here = abs(location(about) or 0.0)
    if "high" in about:
        return 0.5 * float(about["high"] - about["low"])
    if "variance" in about:
        return sqrt(about["variance"])
    return sqrt(here) if "rate" in about else here  # counts; durations


def _is_ratio(about: About, here: float, there: float) -> bool:
    """Whether numbers are never negative, and so far apart that a ratio says more."""
    if "variance" in about or min(here, there) <= 0:
        return False
    return _TIMES[0] <= max(here / there, there / here) <= _TIMES[1]
