"""Labels of a block of rows by any score: drawn, or the best."""

from __future__ import annotations

import numpy as np

from scstream.families.contract import Array
from scstream.families.scores import Labels, Points, Score, near, unfinished, unfinished_sums
from scstream.kernels import labelling, summed_labels

_NOTHING, _NO_LABELS = np.zeros(0), np.zeros(0, dtype=np.int64)


def draw_labels(score: Score, T: Points, u: Array, z: Labels, second: Labels, doubt: Array) -> None:
    """Draw labels (n,) by uniforms, and find the best others and the doubts."""
    sums = unfinished_sums(score, T)
    if sums:
        summed_labels.draw_rows(*sums, u, z, second, doubt)
    else:
        labelling.draw(near(score, T), u, z, second, doubt)


def best_labels(score: Score, T: Points, z: Labels, second: Labels, doubt: Array) -> None:
    """Take the best labels (n,), and find the best others and the doubts."""
    sums = unfinished_sums(score, T)
    if sums:
        summed_labels.best_rows(*sums, z, second, doubt)
    else:
        labelling.best(*unfinished(score, T), z, second, doubt)


def best_alone(score: Score, T: Points) -> Labels:
    """Return the best labels (n,), and mind nothing else."""
    z = np.empty(T.shape[0], dtype=np.int64)
    sums = unfinished_sums(score, T)
    if sums:
        summed_labels.best_rows(*sums, z, _NO_LABELS, _NOTHING)
    else:
        best_labels(score, T, z, np.empty_like(z), np.empty(len(z)))
    return z
