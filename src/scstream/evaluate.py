"""Prequential evaluation: each batch is predicted first, then scored, then learned."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scstream.datasets import Batch
from scstream.metrics import Contingency

__all__ = ["PrequentialResult", "StreamClusterer", "prequential"]

_SCORES = ("ari", "nmi", "purity", "f")
_ORACLE_SCORES = tuple(f"oracle_{name}" for name in _SCORES)
_COLUMNS = (*_SCORES, "n_clusters", "n_true", "seconds_predict", "seconds_update")

_Floats = NDArray[np.float64]


class StreamClusterer(Protocol):
    """A model that can be evaluated: it predicts labels and learns batch by batch."""

    @property
    def predict(self) -> Callable[..., Any]:
        """Gives labels of shape (n,) to points of shape (n, d)."""

    @property
    def partial_fit(self) -> Callable[..., Any]:
        """Learns from points of shape (n, d)."""


@dataclass(frozen=True, eq=False)
class PrequentialResult:
    """Scores of each batch and of the stream as a whole.

    All arrays have shape (b,), one value for each scored batch: every batch but the first.

    Parameters
    ----------
    batch : ndarray
        Position of each scored batch in the stream, from 1.
    ari, nmi, purity, f : ndarray
        Scores of the predictions of each batch (see :mod:`scstream.metrics`).
    n_clusters, n_true : ndarray
        How many different labels were predicted, and how many were true.
    seconds_predict, seconds_update : ndarray
        Time taken to predict and to learn each batch.
    seconds_first : float
        Time taken to learn the first batch.
    oracle_ari, oracle_nmi, oracle_purity, oracle_f : ndarray
        Scores of the labels of an oracle that knows the truth; NaN where a batch has none.
    contingency : Contingency
        All predictions of the stream against the truth.
    """

    batch: NDArray[np.int64]
    ari: _Floats
    nmi: _Floats
    purity: _Floats
    f: _Floats
    n_clusters: NDArray[np.int64]
    n_true: NDArray[np.int64]
    seconds_predict: _Floats
    seconds_update: _Floats
    seconds_first: float
    oracle_ari: _Floats
    oracle_nmi: _Floats
    oracle_purity: _Floats
    oracle_f: _Floats
    contingency: Contingency = field(repr=False)

    @property
    def full_ari(self) -> float:
        """Adjusted Rand index of the whole stream's labels: falls when ids do not persist."""
        return self.contingency.ari

    @property
    def full_nmi(self) -> float:
        """Mutual information of the whole stream's labels: falls when ids do not persist."""
        return self.contingency.nmi

    @property
    def relative_ari(self) -> float:
        """Mean ARI over the oracle's, on the batches that have one; NaN if none has."""
        known = np.isfinite(self.oracle_ari)
        if not known.any():
            return float("nan")
        return float(self.ari[known].mean() / self.oracle_ari[known].mean())

    def mean(self) -> dict[str, float]:
        """Mean of each array, NaN if no batch was scored; the oracle's where there is one."""
        means = {name: _mean(getattr(self, name)) for name in _COLUMNS}
        oracle = {name: _mean(getattr(self, name)) for name in _ORACLE_SCORES}
        return means | {name: mean for name, mean in oracle.items() if not np.isnan(mean)}

    def table(self, every: int = 1) -> str:
        """Markdown table of the scores.

        Parameters
        ----------
        every : int
            Show every n-th batch; the last row holds the means over all of them.

        Returns
        -------
        str
        """
        if every < 1:
            raise ValueError(f"every must be at least 1, got {every!r}")
        means = self.mean()
        names = [name for name in (*_COLUMNS, "oracle_ari") if name in means]
        rows = [("batch", *names), ("---:",) * (len(names) + 1)]
        for row in range(0, self.batch.size, every):
            values = (_cell(getattr(self, name)[row]) for name in names)
            rows.append((str(self.batch[row]), *values))
        rows.append(("mean", *(_cell(means[name]) for name in names)))
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def prequential(
    model: StreamClusterer,
    batches: Iterable[Batch | Sequence[Any]],
    *,
    classes: ArrayLike | None = None,
    progress: Callable[[int, dict[str, float]], object] | None = None,
    oracle: bool = True,
    parts: bool = False,
    clock: Callable[[], float] = perf_counter,
) -> PrequentialResult:
    """Run a model over a stream: predict each batch, score the labels, then learn it.

    The first batch is only learned, since there is nothing to predict it from: scores start
    with the second. Memory does not grow with the stream, except for a few numbers a batch.

    Parameters
    ----------
    model : object with ``predict`` and ``partial_fit``
        If its ``partial_fit`` takes a ``time`` and the batch has one, it is given.
    batches : iterable of Batch, of (X, y) or of (X, y, time)
        The stream, with true labels ``y`` of shape (n,).
    classes : array-like of int, optional
        Score only points with these true labels, for data in which some are unlabelled or noise.
        All points are predicted and learned. A batch without any such point is not scored.
    progress : callable, optional
        Called after each scored batch with its position in the stream and its scores.
    oracle : bool
        Whether to score the oracle's labels too, for batches that have them.
    parts : bool, default=False
        Whether clusters are parts of classes, as superpixels are of things: each is then scored
        as the class that most of its points in the batch have, so that only points on the wrong
        side of a boundary count against it. The number of clusters is that before joining.
    clock : callable, default=time.perf_counter
        Measures the seconds that a model takes. On a busy machine `time.process_time` is fairer
        to a model with one thread.

    Returns
    -------
    PrequentialResult

    Examples
    --------
    >>> from sklearn.cluster import MiniBatchKMeans
    >>> from scstream.datasets import gaussian_stream
    >>> from scstream.evaluate import prequential
    >>> stream = gaussian_stream(n_batches=4, n_clusters=3, speed=1, random_state=0)
    >>> result = prequential(MiniBatchKMeans(3, random_state=0), stream)
    >>> result.batch
    array([1, 2, 3])
    >>> bool(result.relative_ari > 0.9)
    True
    """
    takes_time = "time" in inspect.signature(model.partial_fit).parameters
    rows: list[dict[str, float]] = []
    total, seconds_first = Contingency(), 0.0
    for position, item in enumerate(batches):
        X, y, time = _unpack(item, position)
        options = {"time": time} if takes_time and time is not None else {}
        if position == 0:
            _, seconds_first = _timed(clock, model.partial_fit, X, **options)
            continue
        labels, seconds_predict = _timed(clock, model.predict, X)
        table = _compare(y, labels, classes)
        scored = table.joined() if parts else table
        _, seconds_update = _timed(clock, model.partial_fit, X, **options)
        if table.n_points == 0:
            continue
        total += scored
        row = {
            "batch": position,
            **_scores(scored),
            "n_clusters": table.n_pred,
            "n_true": table.n_true,
            "seconds_predict": seconds_predict,
            "seconds_update": seconds_update,
        }
        if oracle and isinstance(item, Batch):
            best = _scores(_compare(y, item.oracle, classes))
            row |= {f"oracle_{name}": score for name, score in best.items()}
        rows.append(row)
        if progress is not None:
            progress(position, row)
    return _collect(rows, total, seconds_first)


def _unpack(item: Batch | Sequence[Any], position: int) -> tuple[Any, Any, float | None]:
    """Return the points, labels and time, if any, of whatever stands for a batch."""
    if isinstance(item, Batch):
        return item.X, item.y, item.time
    if isinstance(item, (tuple, list)) and len(item) in (2, 3):
        return item[0], np.asarray(item[1]), item[2] if len(item) == 3 else None
    raise ValueError(
        f"batch {position} must be a Batch, a pair (X, y) or a triple (X, y, time); "
        f"got {type(item).__name__}"
    )


def _timed(
    clock: Callable[[], float], call: Callable[..., Any], *args: Any, **options: Any
) -> tuple[Any, float]:
    """Return a call's result and the seconds it took."""
    start = clock()
    result = call(*args, **options)
    return result, clock() - start


def _compare(y: ArrayLike, labels: ArrayLike, classes: ArrayLike | None) -> Contingency:
    """Table of true and predicted labels, of points whose true one is among ``classes``."""
    table = Contingency.from_labels(y, labels)
    return table if classes is None else table.only_true(classes)


def _scores(table: Contingency) -> dict[str, float]:
    return {name: getattr(table, name) for name in _SCORES}


def _collect(
    rows: list[dict[str, float]], total: Contingency, seconds_first: float
) -> PrequentialResult:
    """Turn the batches' rows into arrays."""

    def column(name: str) -> _Floats:
        return np.array([row.get(name, np.nan) for row in rows], dtype=np.float64)

    names = (*_COLUMNS, *_ORACLE_SCORES)
    columns: dict[str, Any] = {name: column(name) for name in ("batch", *names)}
    for name in ("batch", "n_clusters", "n_true"):
        columns[name] = columns[name].astype(np.int64)
    return PrequentialResult(**columns, seconds_first=seconds_first, contingency=total)


def _mean(values: NDArray[Any]) -> float:
    """Mean of the values that are not NaN; NaN if there are none."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else float("nan")


def _cell(value: float | np.integer[Any]) -> str:
    """Write a number for a table: counts as they are, the rest to three significant digits."""
    return str(value) if isinstance(value, np.integer) else f"{value:.3g}"
