"""Streams on which engines must agree: clusters move, come, go and meet."""

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from evolving_rows import family_of, rows
from numpy.testing import assert_allclose, assert_array_equal

from scstream import ScStream

EVENTS = ("births", "deaths", "splits", "merges", "returns")


@dataclass(frozen=True)
class Case:
    """A stream, whose first batch has labels of two clusters to one, and what it is learned with.

    Attributes
    ----------
    uneven : bool
        Whether rows have weights and batches come at odd times.
    noise : int
        The first so many rows of each batch are anywhere.
    noisy_from : int or None
        The number of the first of two batches that have noise; None if all have.
    away_from : int or None
        The number of the first batch that is 1e13 deviations from 0.
    """

    kind: str
    options: dict[str, Any]
    n: int = 70
    seed: int = 0
    batches: int = 8
    uneven: bool = False
    noise: int = 0
    noisy_from: int | None = None
    away_from: int | None = None

    def stream(self):
        """Yield each batch's rows, and what `partial_fit` is given besides."""
        for b in range(self.batches):
            X, y = rows(self.kind, b, self.n, self.seed)
            rng = np.random.default_rng([self.seed, b, 1])
            more: dict[str, Any] = {}
            if self.noisy_from is None or self.noisy_from <= b < self.noisy_from + 2:
                X[: self.noise] = rng.uniform(-25.0, 25.0, (self.noise, X.shape[1]))
            if self.away_from is not None and b >= self.away_from:
                X = X + 1e13
            if b == 0:
                more["labels"] = y // 2
            if self.uneven:
                more["time"] = 1.3 * b + 0.5 * rng.random()
                more["sample_weight"] = rng.uniform(0.4, 1.6, self.n)
            yield X, more


def fading(age: float) -> float:
    return 1.0 / (1.0 + age) ** 2


HALF = {"alpha": 0.3, "half_life": 1.0}
NOISE = {"alpha": 0.3, "outlier_weight": "auto", "half_life": 0.5}
CASES = {
    "gaussian-2, half-life": Case("gaussian-2", HALF),
    "gaussian-2, outliers": Case("gaussian-2", {"alpha": 0.3, "outlier_weight": 0.03}, seed=45),
    "gaussian-2, background for a while": Case(
        "gaussian-2", NOISE, n=80, seed=61, noise=15, noisy_from=2
    ),
    "gaussian-2, weights": Case(
        "gaussian-2", {"alpha": 4.0, "half_life": 2.0}, seed=49, uneven=True
    ),
    "gaussian-5, kernel": Case("gaussian-5", {"alpha": 4.0, "kernel": fading}, seed=42),
    "poisson, half-life": Case("poisson", HALF, seed=3),
    "multinomial, kernel": Case("multinomial", {"alpha": 4.0, "kernel": fading}, seed=45),
    "multinomial, outliers": Case("multinomial", {"alpha": 0.3, "outlier_weight": 0.03}, seed=55),
    "product, half-life": Case("product", HALF, seed=5),
    "far from 0": Case("gaussian-2", HALF, seed=1, batches=4, away_from=0),
    "gone far": Case("gaussian-2", HALF, seed=1, batches=4, away_from=2),
}


@dataclass(frozen=True)
class Outcome:
    """What a batch came to."""

    labels: np.ndarray
    sublabels: np.ndarray
    counts: list[float]
    predicted: np.ndarray  # what it says of the next batch's rows
    log_posterior: float
    events: dict[str, Any] = field(default_factory=dict)


def outcomes(name: str, engine: Any) -> list[Outcome]:
    """Return what an engine makes of each batch."""
    case, out = CASES[name], []
    model = ScStream(family_of(case.kind), random_state=case.seed, engine=engine, **case.options)
    for b, (X, more) in enumerate(case.stream()):
        model.partial_fit(X, **more)
        record = model.history_[-1]
        out.append(
            Outcome(
                model.labels_,
                model.sublabels_,
                [cluster.count for cluster in model.clusters_],
                model.predict(rows(case.kind, b + 1, 30, case.seed)[0]),
                record.log_posterior,
                {event: getattr(record, event) for event in EVENTS},
            )
        )
    return out


@cache
def expected(name: str) -> list[Outcome]:
    """Return what the engine on the CPU makes of each batch."""
    return outcomes(name, "cpu")


def check_engine(name: str, engine: Any) -> None:
    """Learn a case's stream, and compare every batch with what it is on the CPU."""
    for b, (got, told) in enumerate(zip(outcomes(name, engine), expected(name), strict=True)):
        where = f"batch {b}"
        assert_array_equal(got.labels, told.labels, where)
        assert_array_equal(got.sublabels, told.sublabels, where)
        assert_allclose(got.counts, told.counts, rtol=1e-9, err_msg=where)
        assert_array_equal(got.predicted, told.predicted, where)
        assert_allclose(got.log_posterior, told.log_posterior, rtol=1e-9, err_msg=where)
        assert got.events == told.events, where
