"""A moment of a run: the clusters after a batch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.chronicle.lines import (
    Floats,
    read_event,
    read_ids,
    read_optional,
    read_table,
    read_texts,
    read_words,
    to_line,
    to_short,
)
from scstream.chronicle.outline import QUANTILES, Outline, Score
from scstream.chronicle.rows import KeptRow, SampledRows

_TABLES = (
    "weights", "counts", "means", "deviations", "lows", "highs", "places", "spreads", "speeds",
)  # fmt: skip


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
    rows : SampledRows or None
        Some rows of the batch as they are drawn, if the rows were given.
    unusual : tuple of KeptRow
        The rows that were least expected, if rows and scores were given.
    examples : tuple of KeptRow
        Some other rows of the batch, if the rows were given.
    groups : ndarray (k,) or None
        The group of each cluster, if the model forms groups after every batch.
    events : tuple of dict
        Births, deaths, splits and merges, as `Event.to_dict` says them.
    words : tuple of dict, k of them or none
        For each cluster, by column of words, its likeliest categories and their shares.
    says : tuple of str, k of them or none
        What makes each cluster different, in words; nothing of the smallest of very many.
    group_says : tuple of str
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
    rows: SampledRows | None = None
    unusual: tuple[KeptRow, ...] = ()
    examples: tuple[KeptRow, ...] = ()
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
    def wholes(self) -> list[tuple[int, list[int], str]]:
        """The id of each group, the places of its clusters, and what makes it different.

        The heaviest first; nothing where groups were not formed.
        """
        ids = () if self.groups is None else sorted(set(self.groups.tolist()))
        places = [np.flatnonzero(self.groups == one).tolist() for one in ids]
        says = self.group_says or [self.says[own[0]] if self.says else "" for own in places]
        found = zip(ids, places, says, strict=True)
        return sorted(found, key=lambda one: -self.weights[one[1]].sum())

    @property
    def outline(self) -> Outline:
        """What sums over all batches need of it."""
        lowest = None if self.score is None else self.score.quantiles[0]
        sums = self.n_points, self.n_clusters, self.time, lowest, self.events
        return Outline(*sums, self.n_batches)

    def after(self, passed: Outline | None) -> Moment:
        """Return the moment as one of several batches, this one the last of them."""
        if passed is None:
            return self
        score = self.score
        if score is not None and passed.lowest is not None:
            least, *rest = score.quantiles
            score = Score(score.mean, (min(least, passed.lowest), *rest))
        return replace(
            self,
            n_points=self.n_points + passed.n_points,
            score=score,
            events=(*passed.events, *self.events),
            n_batches=self.n_batches + passed.n_batches,
        )

    @cached_property
    def text(self) -> str:
        """The moment as JSON, which is made once: every page gets the same."""
        return self.to_line().rstrip("\n")

    def to_line(self) -> str:
        """Return the moment as one line of JSON, its end included."""
        saved: dict[str, Any] = {"batch": self.batch, "time": self.time, "n_points": self.n_points}
        if self.n_batches != 1:
            saved["n_batches"] = self.n_batches
        saved["ids"] = self.ids.tolist()
        for name in _TABLES:
            values = getattr(self, name)
            if values is not None:
                saved[name] = to_short(values)
        saved["born"] = self.born.tolist()  # times, of which dates need every digit
        if self.score is not None:
            saved["score"] = to_short([self.score.mean, *self.score.quantiles])
        if self.rows is not None:
            saved["rows"] = self.rows.to_dict()
        if self.unusual:
            saved["unusual"] = [row.to_dict() for row in self.unusual]
        if self.examples:
            saved["examples"] = [row.to_dict() for row in self.examples]
        if self.groups is not None:
            saved["groups"] = self.groups.tolist()
        if self.events:
            saved["events"] = list(self.events)
        if any(self.words):
            saved["words"] = list(self.words)
        if any(self.says):
            saved["says"] = list(self.says)
        if self.group_says:
            saved["group_says"] = list(self.group_says)
        return to_line(saved)

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Moment:
        """Return the moment that a line holds."""
        ids = np.array(saved["ids"], dtype=np.int64).reshape(-1)
        k = len(ids)
        groups = read_ids(saved.get("groups"), k)
        score = saved.get("score")
        if score is not None:
            mean, *quantiles = (float(value) for value in score)
            if len(quantiles) != len(QUANTILES):
                raise ValueError(f"{len(quantiles)} quantiles in place of {len(QUANTILES)}")
            score = Score(mean, tuple(quantiles))
        return cls(
            batch=int(saved["batch"]),
            time=float(saved["time"]),
            n_points=int(saved["n_points"]),
            ids=ids,
            weights=read_table(saved["weights"], k),
            counts=read_table(saved["counts"], k),
            born=read_table(saved["born"], k),
            means=read_optional(saved.get("means"), k),
            deviations=read_optional(saved.get("deviations"), k),
            lows=read_optional(saved.get("lows"), k),
            highs=read_optional(saved.get("highs"), k),
            places=read_optional(saved.get("places"), k, 2),
            spreads=read_optional(saved.get("spreads"), k, 3),
            speeds=None if saved.get("speeds") is None else read_table(saved["speeds"], k),
            score=score,
            rows=None if saved.get("rows") is None else SampledRows.from_dict(saved["rows"]),
            unusual=tuple(KeptRow.from_dict(row) for row in saved.get("unusual", ())),
            examples=tuple(KeptRow.from_dict(row) for row in saved.get("examples", ())),
            events=tuple(read_event(event) for event in saved.get("events", ())),
            words=read_words(saved.get("words", ()), k),
            says=read_texts(saved.get("says", ()), k),
            groups=groups,
            group_says=read_texts(saved.get("group_says", ()), len(set(saved.get("groups", ())))),
            n_batches=int(saved.get("n_batches", 1)),
        )
