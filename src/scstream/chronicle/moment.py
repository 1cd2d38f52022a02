"""A moment of a run: the clusters after a batch, and its line of a chronicle's file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scstream.chronicle.outline import QUANTILES, Outline, Score

Floats = NDArray[np.float64]

_DIGITS = 7  # of the numbers in a file
_TINY, _HUGE = 1e-14, 1e21  # between them powers of ten that shift these digits are exact
# Numbers of each cluster, and how many each has: None for as many as there are columns.
_TABLES: dict[str, tuple[int | None, ...]] = {
    "weights": (), "counts": (), "means": (None,), "deviations": (None,), "lows": (None,),
    "highs": (None,), "places": (2,), "spreads": (3,), "speeds": (),
}  # fmt: skip
_PLAIN = (
    "rows",
    "unusual",
    "examples",
    "events",
    "words",
    "says",
    "group_says",
)  # as JSON has them


@dataclass(frozen=True)
class Moment:
    """The clusters after a batch, k of them: those that labelled some of the latest rows.

    Attributes
    ----------
    batch : int
        The number of the batch, from 0.
    time : float
    n_points : int
        Rows of the batch.
    ids : ndarray (k,)
    weights, counts, born : ndarray (k,)
        ``weight``, ``rows`` and ``born`` of `scstream.Cluster`.
    means : ndarray (k, d) or None
        Locations: means, rates or probabilities, one for each column that has one. None where
        there are more than 32 columns.
    deviations : ndarray (k, d) or None
        Standard deviations of the same columns, where the family knows them.
    lows, highs : ndarray (k, d) or None
        Where most values of the same columns begin and end; NaN where that is not known.
    places : ndarray (k, 2) or None
        The locations as they are drawn, in the chronicle's projection.
    spreads : ndarray (k, 3) or None
        The covariances as they are drawn: variance, covariance, variance. None where the family
        knows none.
    speeds : ndarray (k,) or None
        How fast each cluster moves, in its own standard deviations for each unit of time; NaN
        for those just born, None where nothing moved yet.
    score : Score or None
        The scores of the batch, if they were given.
    rows : dict or None
        Some rows of the batch as they are drawn, if the rows were given: ``places`` and ``labels``.
    unusual : sequence of dict
        The rows that were least expected, if rows and scores were given: ``score``, ``label`` and
        ``values``.
    examples : sequence of dict
        Some other rows of the batch, if the rows were given: ``label`` and ``values``.
    groups : ndarray (k,) or None
        The group of each cluster, if the model forms groups after every batch.
    events : sequence of dict
        Births, deaths, splits and merges, as `Event.to_dict` says them.
    words : sequence of dict, k of them or none
        For each cluster, by column of words, its likeliest categories and their shares.
    says : sequence of str, k of them or none
        What makes each cluster different, in words; nothing of the smallest of very many.
    group_says : sequence of str
        The same of each group, the lowest id first; none where each group is one cluster.
    n_batches : int
        How many batches the rows and events are of: more than one where batches come faster than
        they are shown.
    """

    batch: int
    time: float
    n_points: int
    ids: NDArray[np.int64]
    weights: Floats
    counts: Floats
    born: Floats
    means: Floats | None = None
    deviations: Floats | None = None
    lows: Floats | None = None
    highs: Floats | None = None
    places: Floats | None = None
    spreads: Floats | None = None
    speeds: Floats | None = None
    score: Score | None = None
    rows: dict[str, Any] | None = None
    unusual: tuple[dict[str, Any], ...] = ()
    examples: tuple[dict[str, Any], ...] = ()
    events: tuple[dict[str, Any], ...] = ()
    words: tuple[dict[str, dict[str, float]], ...] = ()
    says: tuple[str, ...] = ()
    groups: NDArray[np.int64] | None = None
    group_says: tuple[str, ...] = ()
    n_batches: int = 1

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return len(self.ids)

    @property
    def grouped(self) -> bool:
        """Whether groups were formed, and some have several clusters."""
        return self.groups is not None and len(np.unique(self.groups)) < len(self.ids)

    @property
    def wholes(self) -> list[tuple[int, list[int], str]]:
        """The id of each group, the places of its clusters, and what makes it different.

        The heaviest first; nothing where groups were not formed.
        """
        ids = () if self.groups is None else sorted(set(self.groups.tolist()))
        places = [np.flatnonzero(self.groups == one).tolist() for one in ids]
        alone = [self.says[own[0]] if self.says and not self.grouped else "" for own in places]
        found = zip(ids, places, self.group_says or alone, strict=True)
        return sorted(found, key=lambda one: -self.weights[one[1]].sum())

    @property
    def outline(self) -> Outline:
        """What sums over all batches need of it."""
        lowest = None if self.score is None else self.score.quantiles[0]
        sums = self.n_points, self.n_clusters, self.time, lowest, self.events
        return Outline(*sums, self.n_batches)

    def after(self, passed: Sequence[Outline]) -> Moment:
        """Return the moment as one of several batches, this one the last of them."""
        if not passed:
            return self
        whole, score = reduce(Outline.and_then, (*passed, self.outline)), self.score
        if score is not None and whole.lowest is not None:
            score = Score(score.mean, (whole.lowest, *score.quantiles[1:]))
        return replace(
            self,
            n_points=whole.n_points,
            score=score,
            events=whole.events,
            n_batches=whole.n_batches,
        )

    @cached_property
    def text(self) -> str:
        """The moment as JSON, which is made once: every page gets the same."""
        return self.to_line().rstrip("\n")

    def to_line(self) -> str:
        """Return the moment as one line of JSON, its end included; what is empty is left out."""
        saved: dict[str, Any] = {"batch": self.batch, "time": self.time, "n_points": self.n_points}
        if self.n_batches != 1:
            saved["n_batches"] = self.n_batches
        saved["ids"] = self.ids.tolist()
        saved |= {name: to_short(getattr(self, name)) for name in _TABLES}
        saved["born"] = self.born.tolist()  # times, of which dates need every digit
        if self.score is not None:
            saved["score"] = to_short([self.score.mean, *self.score.quantiles])
        saved["groups"] = None if self.groups is None else self.groups.tolist()
        plain = {name: getattr(self, name) or () for name in _PLAIN}
        saved |= {name: value for name, value in plain.items() if any(value)}
        return to_line({name: value for name, value in saved.items() if value is not None})

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Moment:
        """Return the moment that a line holds, or raise where it does not hold one."""
        ids = np.array(saved["ids"], dtype=np.int64).reshape(-1)
        k, groups, score = len(ids), saved.get("groups"), saved.get("score")
        if score is not None:
            mean, *quantiles = (float(value) for value in score)
            if len(quantiles) != len(QUANTILES):
                raise ValueError(f"{len(quantiles)} quantiles in place of {len(QUANTILES)}")
            score = Score(mean, tuple(quantiles))
        for name, n in {"words": k, "says": k, "group_says": len(set(groups or ()))}.items():
            if len(saved.get(name, ())) not in (0, n):
                raise ValueError(f"{name} of {len(saved[name])}, not of {n}")
        tables = {name: _table(saved.get(name), k, width) for name, width in _TABLES.items()}
        if tables["weights"] is None or tables["counts"] is None:
            raise ValueError("the clusters' weights or counts are missing")
        return cls(
            batch=int(saved["batch"]),
            time=float(saved["time"]),
            n_points=int(saved["n_points"]),
            ids=ids,
            born=np.array(saved["born"], dtype=float).reshape(k),
            score=score,
            groups=None if groups is None else np.array(groups, dtype=np.int64).reshape(k),
            rows=saved.get("rows"),
            unusual=tuple(saved.get("unusual", ())),
            examples=tuple(saved.get("examples", ())),
            events=tuple(_event(event) for event in saved.get("events", ())),
            words=tuple(saved.get("words", ())),
            says=tuple(map(str, saved.get("says", ()))),
            group_says=tuple(map(str, saved.get("group_says", ()))),
            n_batches=int(saved.get("n_batches", 1)),
            **tables,
        )


def _table(values: Any, k: int, width: tuple[int | None, ...]) -> Any:
    """Return numbers of k clusters, (k, *width), or None."""
    if values is None:
        return None
    table = np.array(values, dtype=float)
    if k == 0 and table.size == 0:
        return np.zeros((0, *(size or 0 for size in width)))
    fits = table.ndim == 1 + len(width) and len(table) == k
    if not fits or width not in ((None,), table.shape[1:]):
        raise ValueError(f"numbers of shape {table.shape} for {k} clusters")
    return table


def _event(saved: dict[str, Any]) -> dict[str, Any]:
    """Return an event of a file that has what every event has."""
    known: dict[str, Any] = {"kind": str(saved["kind"]), "time": float(saved["time"])}
    if known["kind"] in ("widen", "clock"):  # which are about a column
        known |= {name: str(saved[name]) for name in ("column", "was", "now")}
    else:
        known["cluster"] = int(saved["cluster"])
    return {**saved, **known}


def to_line(saved: dict[str, Any]) -> str:
    """Return plain values as a line of JSON, its end included."""
    return json.dumps(saved, separators=(",", ":"), allow_nan=False) + "\n"


def from_line(raw: bytes) -> dict[str, Any]:
    """Return what a line says, as long as it says it in JSON."""
    try:
        saved = json.loads(raw)
    except RecursionError as error:
        raise ValueError("the JSON is nested too deeply") from error
    if not isinstance(saved, dict):
        raise ValueError(f"it holds a {type(saved).__name__} in place of names and values")
    return saved


def to_short(values: ArrayLike | None) -> Any:
    """Return numbers as lists, with as many digits as a picture can use; None for no number.

    A whole number over a power of ten that is exact is the number nearest to the digits, so that
    it is written with no more of them. Numbers that are tiny or huge keep all digits.

    Examples
    --------
    >>> to_short(np.array([[1 / 3, 2.0], [np.inf, 12345678.9]]))
    [[0.3333333, 2.0], [None, 12345680.0]]
    """
    if values is None:
        return None
    x = np.asarray(values, dtype=float)
    size = np.abs(x)
    usual = (size >= _TINY) & (size < _HUGE)
    places = (_DIGITS - 1) - np.floor(np.log10(np.where(usual, size, 1.0)))
    up, down = 10.0 ** np.maximum(places, 0.0), 10.0 ** np.maximum(-places, 0.0)
    short = np.where(usual, np.rint(np.where(usual, x, 0.0) * up / down) / up * down, x)
    known = np.isfinite(short)
    if not known.all():
        short = short.astype(object)
        short[~known] = None
    return short.tolist()
