"""Streams on which the package and the reference must agree: clusters move, come, go and meet.

Each case is a family, what the stream is learned with, and how many rows a batch has. The reference
runs once for all engines that are compared with it.

Seeds are such that nothing hangs on rounding. It does, in one stream of some hundreds, where a
division of a cluster is found again with its sides changed about, which is no better, or where a
cluster has one row only, which lies on every cut through its middle. Counts do not: those that
differ in the last place are equal (`scstream.sampler.clusters.ONE`, `heavier`).
"""

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from evolving_rows import family_of, parting, plain_family_of, rows, slow_rows
from numpy.testing import assert_allclose, assert_array_equal
from reference.model import Model

from scstream import Rules, ScStream


@dataclass(frozen=True)
class Case:
    """A stream and what it is learned with.

    Attributes
    ----------
    given : bool
        Whether the first batch starts from labels, of two clusters to one; if not, it starts from
        an over-clustering.
    uneven : bool
        Whether rows have weights and batches come at odd times.
    noise : int
        The first so many rows of each batch are anywhere.
    noisy_from : int or None
        The number of the first of two batches that have noise; None if all have.
    parts : bool
        Whether the stream is one of a cluster that becomes two.
    sample_rows : int
        How many rows the first sample of a large first batch has.
    drawn_rows : int
        From how many rows on clusters that overlap learn from draws.
    left_out : float
        Up to how many rows, for each number that describes a cluster, none counts in its own.
    dormant : int
        How many clusters are remembered after they were forgotten.
    order : tuple of int
        The numbers of the batches whose places the stream's batches have; in their order if empty.
    passes : int
        After so many batches the same rows come again; 0 if none do.
    pause : int or None
        The number of a batch before which nothing came for long.
    units_from : int or None
        The number of the first batch in units a thousand times as small.
    away_from : int or None
        The number of the first batch that is 1e13 deviations from 0.
    slow_from : int or None
        The number of the first batch whose rows resemble the row before.
    wide_at : int or None
        The number of a batch of noise that is far wider than all clusters.
    tails_from : int or None
        The number of the first batch whose rows have heavy tails.
    """

    kind: str
    options: dict[str, Any]
    n: int = 70
    seed: int = 0
    batches: int = 8
    given: bool = True
    uneven: bool = False
    noise: int = 0
    noisy_from: int | None = None
    parts: bool = False
    sample_rows: int = 4096
    drawn_rows: int = 300
    left_out: float = 0.15
    dormant: int = 0
    order: tuple[int, ...] = ()
    passes: int = 0
    pause: int | None = None
    units_from: int | None = None
    away_from: int | None = None
    slow_from: int | None = None
    wide_at: int | None = None
    tails_from: int | None = None

    def stream(self):
        """Yield each batch's rows, and what `partial_fit` is given besides."""
        for b in range(self.batches):
            own = b % self.passes if self.passes else b
            at = self.order[own] if self.order else own
            X, y = (
                parting(own, self.n, self.seed)
                if self.parts
                else rows(self.kind, own, self.n, self.seed, at)
            )
            rng = np.random.default_rng([self.seed, b, 1])
            more: dict[str, Any] = {}
            if self.noisy_from is None or self.noisy_from <= b < self.noisy_from + 2:
                X[: self.noise] = rng.uniform(-25.0, 25.0, (self.noise, X.shape[1]))
            if self.units_from is not None and b >= self.units_from:
                X = 1000.0 * X
            if self.away_from is not None and b >= self.away_from:
                X = X + 1e13
            if self.slow_from is not None and b >= self.slow_from:
                X = slow_rows(own, self.n, self.seed)
            if b == self.wide_at:
                X = 300.0 * rng.normal(size=X.shape)
            if self.tails_from is not None and b >= self.tails_from:
                centre = np.stack([X[y == c].mean(axis=0) for c in y])
                X = centre + (X - centre) / np.sqrt(rng.chisquare(2.0, (self.n, 1)) / 2.0)
            if self.given and b == 0:
                more["labels"] = y // 2
            if self.pause is not None:
                more["time"] = b + 100.0 * (b >= self.pause)
            if self.uneven:
                more["time"] = 1.3 * b + 0.5 * rng.random()
                more["weight"] = rng.uniform(0.4, 1.6, self.n)
            yield X, more


def fading(age: float) -> float:
    return 1.0 / (1.0 + age) ** 2


def faint(age: float) -> float:
    """Return so little that nothing of a batch of some rows is left when the next one comes."""
    return 0.004


def _cases() -> dict[str, Case]:
    out = {}
    kinds = ["gaussian-2", "gaussian-5", "diagonal", "poisson", "multinomial", "product"]
    for i, kind in enumerate(kinds):
        out[f"{kind}, half-life"] = Case(kind, {"alpha": 0.3, "half_life": 1.0}, seed=i)
        out[f"{kind}, kernel"] = Case(kind, {"alpha": 4.0, "kernel": fading}, seed=41 + i)
    for i, kind in enumerate(["gaussian-2", "gaussian-5", "multinomial"]):
        out[f"{kind}, outliers"] = Case(kind, {"alpha": 0.3, "outlier_weight": 0.03}, seed=53 + i)
    for i, kind in enumerate(["gaussian-2", "diagonal"]):
        out[f"{kind}, background"] = Case(
            kind, {"alpha": 0.3, "outlier_weight": "auto"}, n=80, seed=61 + i, noise=15, batches=6
        )
        out[f"{kind}, background for a while"] = Case(
            kind, {"alpha": 0.3, "outlier_weight": "auto", "half_life": 0.5}, n=80, seed=61 + i,
            noise=15, noisy_from=2,
        )  # fmt: skip
    for kind, seed in [("gaussian-2", 49), ("gaussian-5", 53), ("poisson", 44)]:  # some merge
        out[f"{kind}, weights"] = Case(
            kind, {"alpha": 4.0, "half_life": 2.0}, seed=seed, uneven=True
        )
    two = "gaussian-2"
    out["three sweeps, nothing forgotten"] = Case(
        two, {"alpha": 0.3, "sweeps": 3, "half_life": None}, seed=4
    )
    out["one that becomes two"] = Case(two, {"alpha": 0.3, "half_life": None}, parts=True)
    out["at most four clusters"] = Case(two, {"alpha": 4.0, "max_clusters": 4}, seed=3)
    out["no splits"] = Case(two, {"alpha": 4.0, "splits": False}, seed=5)
    out["no merges"] = Case(two, {"alpha": 4.0, "merges": False}, seed=43, batches=6)
    out["few rows"] = Case(two, {"alpha": 0.3}, n=25, seed=41)
    out["over-clustered"] = Case(two, {"alpha": 0.3, "kernel": fading}, n=130, seed=3, given=False)
    out["over-clustered, held wide"] = Case(
        "product, wide counts",
        {"alpha": 0.3, "half_life": 2.0},
        n=60,
        seed=3,
        given=False,
        batches=2,
    )
    out["over-clustered, two starts"] = Case(
        "gaussian-5", {"alpha": 4.0, "outlier_weight": 0.05}, n=130, seed=3, given=False
    )
    out["over-clustered, turned"] = Case(
        "gaussian-5", {"alpha": 0.3}, n=130, seed=3, given=False, batches=2
    )
    out["first rows kept"] = Case(
        "multinomial", {"alpha": 0.3, "half_life": None}, n=20, seed=1, given=False
    )
    out["begun anew"] = Case(
        "multinomial", {"alpha": 4.0, "kernel": faint}, n=30, seed=42, given=False, batches=5
    )
    out["lines of a log"] = Case("lines", {"alpha": 1.0}, n=120, seed=1, given=False, batches=1)
    out["founders"] = Case(
        "gaussian-16", {"alpha": 4.0, "kernel": fading}, n=60, seed=1, given=False
    )
    for seed in (11, 12):  # the same clusters come of founders, but for their ids
        out[f"founders in vain, {seed}"] = Case(
            "gaussian-16", {"alpha": 4.0, "kernel": fading}, n=60, seed=seed, given=False, batches=5
        )
    for i, kind in enumerate(["gaussian-2", "diagonal", "multinomial"]):
        out[f"{kind}, from samples"] = Case(
            kind,
            {"alpha": 0.3, "half_life": 2.0},
            n=150,
            seed=i,
            given=False,
            batches=2,
            uneven=True,
            sample_rows=9,
        )
    for i, kind in enumerate(["gaussian-2", "diagonal"]):
        out[f"{kind}, noise in samples"] = Case(
            kind,
            {"alpha": 0.3, "half_life": 2.0, "outlier_weight": "auto"},
            n=240,
            seed=30 + i,
            given=False,
            batches=2,
            noise=24,
            sample_rows=60,
        )
    for i, kind in enumerate(["gaussian-2", "gaussian-5", "diagonal", "poisson"]):
        out[f"{kind}, learned from draws"] = Case(
            kind, {"alpha": 0.3, "half_life": 2.0}, seed=21 + i, drawn_rows=8
        )
    for i, kind in enumerate([*kinds, "gaussian-16"]):
        out[f"{kind}, left out"] = Case(
            kind, {"alpha": 4.0, "half_life": 2.0}, n=50, seed=70 + i, batches=5, uneven=i % 2 == 0,
            left_out=50.0,
        )  # fmt: skip
    out["left out, outliers"] = Case(
        "gaussian-5", {"alpha": 0.3, "outlier_weight": 0.05}, n=60, seed=1097, noise=9, batches=5,
        left_out=50.0,
    )  # fmt: skip
    out["one column"] = Case("gaussian-1", {"alpha": 0.3}, n=60, given=False, batches=1, order=(7,))
    for i, kind in enumerate(["gaussian-2", "poisson"]):
        out[f"{kind}, come back"] = Case(
            kind, {"alpha": 0.3, "half_life": 0.5}, seed=30 + i, dormant=9,
            order=(0, 0, 5, 5, 5, 5, 0, 0, 0), batches=9,
        )  # fmt: skip
    out["passes"] = Case(
        "gaussian-2", {"alpha": 0.3, "half_life": 2.0}, seed=1, passes=2, batches=5
    )
    out["after a pause"] = Case(
        "gaussian-2",
        {"alpha": 0.3},
        seed=1,
        dormant=9,
        order=(0, 0, 6, 6),
        batches=4,
        pause=2,
    )
    out["other units"] = Case(
        "gaussian-5", {"alpha": 0.3, "half_life": 2.0, "max_sweeps": 5}, n=90, seed=1, dormant=9,
        batches=4, units_from=2,
    )  # fmt: skip
    for name, first in [("far from 0", 0), ("gone far", 2)]:
        out[name] = Case(
            "gaussian-2", {"alpha": 0.3, "half_life": 2.0}, seed=1, batches=4, away_from=first,
        )  # fmt: skip
    for name, n, first in [
        ("begun slow", 240, 0),
        ("small and slow", 90, 0),
        ("slow later", 500, 1),
    ]:
        out[name] = Case(
            "gaussian-2", {"alpha": 0.3, "half_life": 2.0}, n=n, seed=1, given=False, batches=5,
            slow_from=first,
        )  # fmt: skip
    out["a wide batch"] = Case(
        "gaussian-5", {"alpha": 0.3, "half_life": 4.0, "max_sweeps": 5}, n=90, seed=1, dormant=9,
        batches=5, wide_at=2, given=False,
    )  # fmt: skip
    out["topics"] = Case("topics", {"alpha": 0.3, "kernel": fading}, n=60, seed=2, given=False)
    out["topics, outliers"] = Case(
        "topics",
        {"alpha": 4.0, "outlier_weight": 0.01, "half_life": 2.0},
        n=60,
        seed=2,
        given=False,
        batches=6,
    )
    out["bursts"] = Case(
        "bursts", {"alpha": 0.3, "kernel": fading}, n=60, seed=1, given=False, batches=2
    )
    return {**out, **_cases_of_tails()}


def _cases_of_tails() -> dict[str, Case]:
    out = {}
    for i, kind in enumerate(["heavy-2", "heavy-3", "student-2"]):
        out[f"{kind}, half-life"] = Case(
            kind, {"alpha": 0.3, "half_life": 2.0}, n=60, seed=i, batches=6
        )
    out["heavy-2, kernel"] = Case(
        "heavy-2", {"alpha": 4.0, "kernel": fading}, n=50, seed=43, batches=4
    )
    out["heavy-3, weights"] = Case(
        "heavy-3", {"alpha": 4.0, "half_life": 2.0}, seed=52, uneven=True
    )
    out["tails learned, over-clustered"] = Case(
        "student-2", {"alpha": 0.3, "half_life": 2.0}, n=40, seed=3, given=False, batches=2
    )
    out["tails that come"] = Case(
        "light-2", {"alpha": 0.3, "half_life": 2.0, "max_sweeps": 5}, n=250, seed=5, batches=5,
        tails_from=3,
    )  # fmt: skip
    out["no tails, learned"] = Case("light-2", {"alpha": 0.3, "half_life": 2.0}, seed=5, batches=6)
    return out


CASES = _cases()
SLOW = [
    name for name in _cases_of_tails() if name not in ("student-2, half-life", "heavy-2, kernel")
]
SLOW += ["founders in vain, 12"]
GAUSSIAN = [name for name, case in CASES.items() if case.kind in ("gaussian-2", "gaussian-5")]


@dataclass(frozen=True)
class Outcome:
    """What a batch came to."""

    labels: np.ndarray
    sublabels: np.ndarray
    ids: list[int]
    counts: np.ndarray
    predicted: np.ndarray  # what it says of the next batch's rows
    log_posterior: float
    events: dict[str, tuple[Any, ...]] = field(default_factory=dict)


def _next_rows(case: Case, b: int) -> np.ndarray:
    return rows(case.kind, b + 1, 30, case.seed)[0]


@cache
def expected(name: str) -> list[Outcome]:
    """Return what the reference makes of each batch."""
    case, out = CASES[name], []
    model = Model(
        plain_family_of(case.kind),
        random_state=case.seed,
        sample_rows=case.sample_rows,
        drawn_rows=case.drawn_rows,
        left_out=case.left_out,
        dormant=case.dormant,
        **case.options,
    )
    for b, (X, more) in enumerate(case.stream()):
        model.partial_fit(X, **more)
        clusters = model.clusters
        events = {e: getattr(model, e) for e in ("births", "deaths", "splits", "merges", "returns")}
        out.append(
            Outcome(
                model.labels,
                model.sublabels,
                list(clusters.ids),
                clusters.totals()[:, 0],
                model.predict(_next_rows(case, b)),
                model.log_posterior,
                events,
            )
        )
    return out


def check_against_reference(name: str, *, family: Any = None, engine: Any = "cpu") -> None:
    """Learn a case's stream, and compare every batch with what the reference makes of it."""
    case = CASES[name]
    family = family_of(case.kind) if family is None else family
    rules = Rules(
        dormant=case.dormant,
        sample_rows=case.sample_rows,
        drawn_rows=case.drawn_rows,
        left_out=case.left_out,
    )
    model = ScStream(family, random_state=case.seed, engine=engine, rules=rules, **case.options)
    for b, ((X, more), outcome) in enumerate(zip(case.stream(), expected(name), strict=True)):
        if "weight" in more:
            more["sample_weight"] = more.pop("weight")
        model.partial_fit(X, **more)
        where, record, clusters = f"batch {b}", model.history_[-1], model.clusters_
        assert_array_equal(model.labels_, outcome.labels, where)
        assert_array_equal(model.sublabels_, outcome.sublabels, where)
        assert [cluster.id for cluster in clusters] == outcome.ids, where
        weight = model._learner.alike.weight
        counts = [weight * c.count for c in clusters]
        assert_allclose(counts, outcome.counts, rtol=1e-9, err_msg=where)
        assert {e: getattr(record, e) for e in outcome.events} == outcome.events, where
        assert_allclose(record.log_posterior, outcome.log_posterior, rtol=1e-9, err_msg=where)
        assert_array_equal(model.predict(_next_rows(case, b)), outcome.predicted, where)
