"""The pass over rows whose statistics are (1, z, z z'): labels, sub-labels, entropies and sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from scstream.core.plain.randomness import uniforms

if TYPE_CHECKING:
    from scstream.core import Cut, Floats, Ints, Rows, Scores

CERTAIN = 25.0  # nats by which a label leads that is taken for certain
_ROWS = 4096  # that are taken at a time


def sweep(
    rows: Rows, weight: Floats, scores: Scores, pairs: Scores,
    key: tuple[int, int, int, int] | None, z: Ints, sub: Ints, cut: Cut,
    sums: tuple[np.ndarray, ...],
) -> None:  # fmt: skip
    """Label rows, divide them among sub-clusters, and add up."""
    k = len(pairs.eta) // 2

    def add(at: slice, sums: tuple[np.ndarray, ...]) -> None:
        T = statistics(rows, at)
        u = None if key is None else uniforms(key, at.start, len(T))
        label, second, entropy = choose(scored(T, scores), None if u is None else u[0])
        inside = label < k
        z[at], sub[at] = np.where(inside, label, -1), 0
        T, w, entropy = T[inside], weight[at][inside], entropy[inside]
        c, second = label[inside], second[inside]
        own = scored_pairs(T, pairs, c)
        gap = own[:, 1] - own[:, 0]
        side, share, own_entropy = _shared(gap) if u is None else _drawn(gap, u[1][inside])
        sub[at][inside] = side
        np.add.at(sums[0][:, 0], c, (w - w * share)[:, None] * T)
        np.add.at(sums[0][:, 1], c, (w * share)[:, None] * T)
        np.add.at(sums[1], (c, side), 1)
        near = (second >= 0) & (second < k)
        np.add.at(sums[2], (c[near], second[near]), 1)
        np.add.at(sums[3], (c[near], second[near]), (w * entropy)[near])
        np.add.at(sums[3], (c, c), w * own_entropy)

    _add_up(add, len(z), cut, sums)


def _add_up(
    add: Callable[[slice, tuple[np.ndarray, ...]], None], n: int, cut: Cut,
    sums: tuple[np.ndarray, ...],
) -> None:  # fmt: skip
    """Fill stacks of sums with those of runs of chunks, added up in pairs."""

    def node(first: int, chunks: int) -> tuple[np.ndarray, ...]:
        if chunks > 1:
            both = node(first, chunks // 2), node(first + chunks // 2, chunks // 2)
            return tuple(left + right for left, right in zip(*both, strict=True))
        out = tuple(np.zeros(total.shape[1:], total.dtype) for total in sums)
        begin = (first - cut.first) * cut.rows
        end = min(begin + cut.rows, n)
        for start in range(begin, end, _ROWS):
            add(slice(start, min(start + _ROWS, end)), out)
        return out

    for i, run in enumerate(cut.runs(n)):
        for total, found in zip(sums, node(*run), strict=True):
            total[i] = found


def best_labels(rows: Rows, scores: Scores, out: Ints, threads: int) -> None:
    """Find the best component of each row."""
    for start in range(0, len(out), _ROWS):
        at = slice(start, min(start + _ROWS, len(out)))
        out[at] = np.argmax(scored(statistics(rows, at), scores), axis=1)


def label_rows(
    T: Floats, scores: Scores, u: Floats, z: Ints, second: Ints, entropy: Floats
) -> None:
    """Find labels of rows with given statistics, their second choices and the entropies."""
    label_scores(scored(T, scores), u, z, second, entropy)


def label_scores(scores: Floats, u: Floats, z: Ints, second: Ints, entropy: Floats) -> None:
    """Find labels of rows with given scores, their second choices and the entropies."""
    z[:], others, between = choose(np.nan_to_num(scores, nan=-np.inf), u if len(u) else None)
    if len(second):
        second[:], entropy[:] = others, between


def try_sublabels(
    rows: Rows, weight: Floats, pairs: Scores, chosen: np.ndarray, z: Ints,
    trial: Ints, cut: Cut, sums: tuple[np.ndarray, ...],
) -> None:  # fmt: skip
    """Find the better sub-labels of the chosen clusters' rows, and add up."""

    def add(at: slice, sums: tuple[np.ndarray, ...]) -> None:
        mine = at.start + np.flatnonzero((z[at] >= 0) & chosen[z[at]])
        T, c, w = statistics(rows, mine), z[mine], weight[mine]
        own = scored_pairs(T, pairs, c)
        gap = own[:, 1] - own[:, 0]
        trial[mine] = gap > 0.0
        np.add.at(sums[0], (c, trial[mine]), w[:, None] * T)
        np.add.at(sums[1], c, w * certainty(-np.abs(gap)))

    _add_up(add, len(z), cut, sums)


def score_rows(T: Floats, scores: Scores, out: Floats) -> None:
    """Fill scores of rows; a row's bits must not depend on others, as those of a product may."""
    products = np.empty(out.shape)
    for c, eta in enumerate(scores.eta):
        products[:, c] = np.einsum("ip,p->i", T, eta)
    out[:] = _finished(products, scores.level, scores.power)


def score_pairs(T: Floats, pairs: Scores, z: Ints, out: Floats) -> None:
    """Fill scores of rows under the sub-clusters of their labels."""
    for start in range(0, len(z), 256):
        at = slice(start, start + 256)
        out[at] = scored_pairs(T[at], pairs, np.maximum(z[at], 0))


def choose_sublabels(scores: Floats, u: Floats, sub: Ints, share: Floats, entropy: Floats) -> None:
    """Choose one of two sub-labels of each row."""
    gap = scores[:, 1] - scores[:, 0]
    sub[:], share[:], entropy[:] = _drawn(gap, u) if len(u) else _shared(gap)


def statistics(rows: Rows, at: slice | Ints) -> Floats:
    """Return the statistics (m, p) of some rows."""
    z = (rows.X[at] - rows.shift) / rows.scale
    i, j = np.triu_indices(z.shape[1])
    return np.column_stack([np.ones(len(z)), z, z[:, i] * z[:, j]])


def fill_statistics(rows: Rows, out: Floats) -> None:
    """Fill the statistics (n, p) of rows."""
    for start in range(0, len(out), 4096):
        at = slice(start, start + 4096)
        out[at] = statistics(rows, at)


def scored(T: Floats, by: Scores) -> Floats:
    """Return the scores (m, k) of statistics (m, p)."""
    return _finished(T @ by.eta.T, by.level, by.power)


def scored_pairs(T: Floats, by: Scores, c: Ints) -> Floats:
    """Return the scores (m, 2) of rows under the two parts of their clusters (m,)."""
    own = np.column_stack([2 * c, 2 * c + 1])
    products = np.einsum("ip,ijp->ij", T, by.eta[own])
    return _finished(products, by.level[own] if len(by.level) else by.level,
                     by.power[own] if len(by.power) else by.power)  # fmt: skip


def _finished(products: Floats, level: Floats, power: Floats) -> Floats:
    if len(power) == 0:
        return products
    students = level - power * np.log(np.maximum(products, 1.0))
    return np.where(power > 0.0, students, products)


def choose(scores: Floats, u: Floats | None) -> tuple[Ints, Ints, Floats]:
    """Return labels drawn by uniforms, or the best; the best others, -1 for none; and entropies.

    What is less probable than the best by 25 nats is never drawn.
    """
    m, k = scores.shape
    here = np.arange(m)
    if u is None:
        z = np.argmax(scores, axis=1)
    else:
        gap = scores - scores.max(axis=1, keepdims=True)
        run = np.cumsum(np.where(gap > -CERTAIN, np.exp(gap), 0.0), axis=1)
        z = np.minimum((run <= (u * run[:, -1])[:, None]).sum(axis=1), k - 1)
    if k == 1:
        return z, np.full(m, -1), np.zeros(m)
    others = scores.copy()
    others[here, z] = -np.inf
    second = np.argmax(others, axis=1)
    return z, second, certainty(others[here, second] - scores[here, z])


def certainty(gap: Floats) -> Floats:
    """Return minus the log-probability of a label against another that scores so much more."""
    return np.where(gap > -CERTAIN, np.logaddexp(0.0, gap), 0.0)


def _drawn(gap: Floats, u: Floats) -> tuple[Ints, Floats, Floats]:
    """Return sub-labels drawn by what the second scores more, shares of it, and the entropies."""
    open_ = np.abs(gap) < CERTAIN
    odds = np.exp(np.where(open_, gap, 0.0))
    side = np.where(open_, u * (1.0 + odds) < odds, gap > 0.0).astype(np.int64)
    entropy = np.where(open_, np.log1p(np.where(side == 1, 1.0 / odds, odds)), 0.0)
    return side, side.astype(np.float64), entropy


def _shared(gap: Floats) -> tuple[Ints, Floats, Floats]:
    """Return the better sub-labels, the probabilities of the second, and the entropies."""
    open_ = np.abs(gap) < CERTAIN
    odds = np.where(open_, np.exp(-np.abs(gap)), 0.0)
    less = odds / (1.0 + odds)
    side = gap > 0.0
    entropy = np.log1p(odds) + np.where(open_, less * np.abs(gap), 0.0)
    return side.astype(np.int64), np.where(side, 1.0 - less, less), entropy


def widen_ends(X: np.ndarray, ends: Floats) -> None:
    """Widen the least and the largest number of each column."""
    if len(X):
        ends[0] = np.fmin(ends[0], np.fmin.reduce(X))
        ends[1] = np.fmax(ends[1], np.fmax.reduce(X))
