"""Rows that resemble the row before, as readings of a sensor do: how much less they say.

A mixture takes rows for independent. Rows that follow each other slowly gather in one place of
their cluster, then in another, and each of these places looks like a cluster. Independent rows that
say the same are fewer by ``(1 - r) / (1 + r)``, r being the correlation of a row's deviation from
the centre of its cluster with that of the cluster's next row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scstream.families.contract import Array

FEWEST = 200  # rows, to know the correlation to less than .1
_MOST = 40_000  # numbers, the first of a batch, that are looked at: more would say the same
_ALIKE = 0.6  # a correlation from which rows say a quarter or less
_SORTED = 0.95  # a share of steps in one direction from which a column is a trend, or was sorted


def warning_of_likeness(X: Any, labels: Any) -> str:
    """Return a warning if successive rows are much alike."""
    if not isinstance(X, np.ndarray) or len(X) < FEWEST:
        return ""
    some = max(_MOST // X.shape[1], FEWEST)
    X, labels = X[:some], np.asarray(labels[:some])
    if not np.isfinite(X).all():
        return ""
    alike = correlation(X, labels)
    if alike < _ALIKE:
        return ""
    less = (1.0 - min(alike, 0.99)) / (1.0 + alike)
    return (
        f"Successive rows are alike: within a cluster the deviation of a row has a correlation of "
        f"{alike:.2f} with that of the next. So many rows say as much as {less:.2g} times as many "
        "independent ones, and the model finds more clusters than there are. Give each batch with "
        f"sample_weight=numpy.full(len(X), {less:.2g}), or only every {round(1.0 / less)}th row."
    )


def joined_rows(
    before: tuple[Array, Array] | tuple[()], X: Array, labels: Any
) -> tuple[Array, Array]:
    """Return rows and labels behind those of the batches before; few of them as copies.

    What is one cluster in each batch may move between them: so it has another label in each.
    """
    labels = np.unique(np.asarray(labels), return_inverse=True)[1]
    if not before or before[0].shape[1] != X.shape[1]:
        return X.copy() if len(X) < FEWEST else X, labels
    after = before[1].max(initial=-1) + 1
    return np.concatenate([before[0], X]), np.concatenate([before[1], after + labels])


def correlation(X: Array, labels: Array) -> float:
    """Return the middle correlation, over columns, of deviations with those of the next row.

    The next row is that of the same cluster. Columns that only rise or fall, such as times, are
    left out, and what of the others goes with them: rows may have been sorted by such a column.
    """
    order = np.argsort(labels, kind="stable")
    z, X = labels[order], X[order]
    same = z[1:] == z[:-1]
    starts = np.flatnonzero(np.concatenate([[True], ~same]))
    count = np.diff(np.append(starts, len(z)))
    R = X - np.repeat(np.add.reduceat(X, starts) / count[:, None], count, axis=0)
    step = np.sign(np.diff(R, axis=0)[same])
    moving = np.abs(step).sum(axis=0)
    if not same.any() or not moving.any():
        return 0.0
    trend = np.abs(step.sum(axis=0)) > (2.0 * _SORTED - 1.0) * np.maximum(moving, 1.0)
    rest = R[:, ~trend & (moving > 0)]
    if trend.any():
        scale = np.maximum(np.abs(R[:, trend]).max(axis=0), 1e-300)
        guide = R[:, trend] / scale
        rest = rest - guide @ np.linalg.lstsq(guide, rest, rcond=None)[0]
    if rest.shape[1] == 0:
        return 0.0
    rest = rest / np.maximum(np.abs(rest).max(axis=0), 1e-300)
    lag = (rest[1:] * rest[:-1])[same].sum(axis=0) / (rest**2).sum(axis=0)
    return float(np.median(lag))
