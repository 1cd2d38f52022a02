"""Figures of a run for Prometheus."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from scstream.chronicle import QUANTILES, Outline, Score
from scstream.sources.base import Unread

TYPE = CONTENT_TYPE_LATEST
_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)
_BEHIND = {
    "bytes": ("scstream_unread_bytes", "Bytes of the source that are not learned yet"),
    "rows": ("scstream_unread_rows", "Rows of the source that are not learned yet"),
    "messages": ("scstream_unread_messages", "Messages of the source that are not learned yet"),
    "seconds": ("scstream_lag_seconds", "Seconds from the last row learned to the newest sent"),
}


@dataclass
class Metrics:
    """What `GET /metrics` shows, in a registry of its own."""

    registry: CollectorRegistry = field(default_factory=CollectorRegistry)

    def __post_init__(self) -> None:
        r = self.registry
        counter, gauge = partial(Counter, registry=r), partial(Gauge, registry=r)
        ProcessCollector(registry=r)  # memory, processor time and open files
        self.rows = counter("scstream_rows", "Rows learned")
        self.batches = counter("scstream_batches", "Batches learned")
        self.clusters = gauge("scstream_clusters", "Clusters after the last batch")
        self.events = counter("scstream_events", "What happened to clusters, by kind", ["kind"])
        self.seconds = Histogram(
            "scstream_batch_seconds", "Seconds a batch took", buckets=_SECONDS, registry=r
        )
        what = "Quantiles of the scores (log densities) of the last batch's rows"
        self.score = gauge("scstream_score", what, ["quantile"])
        self.age = gauge("scstream_batch_age_seconds", "Seconds since the last batch was learned")
        self.checkpoint = gauge(
            "scstream_checkpoint_age_seconds", "Seconds since the last checkpoint"
        )
        self.pages = gauge("scstream_pages", "Pages that follow the stream")
        what = "Requests answered, by path and status"
        self.requests = counter("scstream_requests", what, ["path", "status"])
        self.look: Callable[[], Unread | None] | None = None  # at what the source has not yet given
        self._unread: dict[str, Gauge] = {}
        for kind in ("birth", "death", "split", "merge", "return"):
            self.events.labels(kind)
        self._last = self._saved = math.nan
        self._checkpoint: Path | None = None

    def learned(self, batch: Outline, seconds: float) -> None:
        """Count a batch, and the seconds that it took."""
        self._last = time.time()
        self.rows.inc(batch.n_points)
        self.batches.inc(batch.n_batches)
        self.clusters.set(batch.n_clusters)
        self.seconds.observe(seconds)
        for event in batch.events:
            self.events.labels(event["kind"]).inc()

    def scored(self, score: Score | None) -> None:
        """Note how unusual the last rows were."""
        if score is not None:
            for quantile, value in zip(QUANTILES, score.quantiles, strict=True):
                self.score.labels(f"{quantile:g}").set(value)

    def _tell_unread(self) -> None:
        """Say how far the run lies behind its source, in whatever the source counts."""
        for gauge in self._unread.values():
            gauge.set(math.nan)
        try:
            left = None if self.look is None else self.look()
        except (OSError, RuntimeError, ValueError):  # the run closes or changes what it reads
            return
        if left is not None:
            if left.unit not in self._unread:
                name, what = _BEHIND[left.unit]
                self._unread[left.unit] = Gauge(name, what, registry=self.registry)
            self._unread[left.unit].set(left.amount)

    def saved(self, path: Path) -> None:
        """Note when the last checkpoint was written."""
        if path is not self._checkpoint:
            self._checkpoint = path
            try:
                self._saved = path.stat().st_mtime
            except OSError:
                self._saved = math.nan

    def text(self, n_pages: int) -> bytes:
        """Return all figures as Prometheus reads them."""
        self.age.set(time.time() - self._last)
        self.checkpoint.set(time.time() - self._saved)
        self._tell_unread()
        self.pages.set(n_pages)
        return generate_latest(self.registry)
