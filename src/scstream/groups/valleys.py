"""Valleys between Gaussian clusters: where the fitted density has one, and the rows show it too.

A mixture describes a square by several Gaussians, with valleys between them that the rows do not
have. So the fitted valley between two clusters is corrected by the rows seen there: how many lie in
the valley and on the lower of the two peaks, each over what the fit expects. They are looked at in
two views, and the one with the shallower valley counts. In the first all rows of the two clusters
are projected on Fisher's direction; where clusters tile an area their common border is short, which
looks like a valley. In the second only rows near the line between the two means count, whosever
they are; where a shape is bent the line leaves it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.families.contract import Array
from scstream.groups.mixture import Normals, log_total
from scstream.groups.tree import Links
from scstream.sampler.rules import Rules

_BINS = 48  # of the profile between two clusters
_ALONG = np.linspace(0.0, 1.0, 13)  # where the ridge between two clusters is looked at
_TUBE = 0.5  # the share of a cluster's rows that the second view keeps, about
_NO_VALLEY = 0.9  # a profile whose valley is less deep in a view says nothing there
_TRIMMED = 0.05  # the share of worst rows that do not count in how well a batch fits

Ints = NDArray[np.int64]


def valley_links(normals: Normals, batches: list[Array], rules: Rules) -> Links:
    """Return which clusters touch, and the valleys between them, by rows of the latest batches."""
    X, share = _of_today(normals, [B / normals.scale for B in batches], rules.group_stale)
    pairs = touching(share, rules)
    peak = log_total(normals.log_joint(normals.mean))
    lower = np.minimum(peak[pairs[:, 0]], peak[pairs[:, 1]])
    ratio = np.exp(np.minimum(_saddles(normals, pairs) - lower, 0.0))
    for m, (a, b) in enumerate(pairs):
        if ratio[m] < 1.0 - 1e-3:
            ratio[m] = _corrected(normals, X, share, int(a), int(b), float(ratio[m]), rules)
    few = _of_few_points(normals, rules.group_points)
    pairs, ratio = np.concatenate([pairs, few]), np.append(ratio, np.ones(len(few)))
    gap = normals.mean[:, None] - normals.mean
    return Links(pairs, ratio, peak, (gap**2).sum(axis=2))


def touching(share: Array, rules: Rules) -> Ints:
    """Return the pairs (m, 2) of clusters that share rows, by the rows' probabilities (n, k)."""
    both = share.T @ share
    np.fill_diagonal(both, 0.0)
    own = np.maximum(share.sum(axis=0), 1e-9)
    enough = both >= rules.group_overlap * np.minimum(own[:, None], own)
    order = np.argsort(-both, axis=1, kind="stable")[:, : rules.group_neighbours]
    near = np.zeros_like(enough)
    np.put_along_axis(near, order, True, axis=1)
    return np.argwhere(np.triu((near | near.T) & enough & (both > 0)))


def _of_few_points(normals: Normals, least: float) -> Ints:
    """Return pairs (m, 2) of clusters of too few points to stand alone, each with who is nearest.

    Nearest is the larger cluster that its place is most probable under.
    """
    small = normals.count < least
    if small.all() or not small.any():
        return np.zeros((0, 2), dtype=np.int64)
    level = normals.log_joint(normals.mean[small])
    level[:, small] = -np.inf
    return np.column_stack([np.flatnonzero(small), np.argmax(level, axis=1)])


def _of_today(normals: Normals, batches: list[Array], stale: float) -> tuple[Array, Array]:
    """Return the rows (n, d) of the latest batches, and their probabilities (n, k).

    They go as far back as rows fit about as well as those of the last batch.
    """
    kept: list[Array] = []
    share: list[Array] = []
    best = np.inf
    for X in reversed(batches):
        joint = normals.log_joint(X)
        score = log_total(joint)
        fit = float(np.maximum(score, np.quantile(score, _TRIMMED)).mean())
        if kept and fit < best - stale:
            break
        best = fit if not kept else best
        kept.append(X)
        share.append(np.exp(joint - score[:, None]))
    return np.concatenate(kept), np.concatenate(share)


def _saddles(normals: Normals, pairs: Ints) -> Array:
    """Return the lowest log density (m,) on the ridge between the two of each pair."""
    if not len(pairs):
        return np.zeros(0)
    points = np.concatenate([normals.ridges(int(a), int(b), _ALONG) for a, b in pairs])
    level = log_total(normals.log_joint(points))
    out: Array = level.reshape(len(pairs), -1).min(axis=1)
    return out


def _corrected(
    normals: Normals, X: Array, share: Array, a: int, b: int, fitted: float, rules: Rules
) -> float:
    """Return the ratio of valley to lower peak between two clusters, as the rows have it."""
    pooled = np.linalg.cholesky(0.5 * (normals.cov[a] + normals.cov[b]))
    step = np.linalg.solve(pooled, normals.mean[b] - normals.mean[a])
    length = float(np.linalg.norm(step))
    if length < 1e-6:
        return fitted
    turn = _basis(step / length).T @ np.linalg.inv(pooled)  # the first row is Fisher's direction
    mean, cov = (normals.mean - normals.mean[a]) @ turn.T, turn @ normals.cov @ turn.T
    spread = np.sqrt(cov[[a, b], 0, 0])
    low, high = -2.0 * spread[0], length + 2.0 * spread[1]
    along = (X - normals.mean[a]) @ turn[0]
    inside = (along > low) & (along < high)
    place = ((along[inside] - low) / (high - low) * _BINS).astype(np.int64)
    place = np.minimum(place, _BINS - 1)
    at = low + (high - low) * (np.arange(_BINS) + 0.5) / _BINS
    ends = (0.0, length, spread[0], spread[1])
    found = []
    own = [a, b]
    expected = _profile(at, normals.weight[own], mean[own, 0], cov[own, 0, 0])
    seen = np.bincount(place, share[inside][:, own].sum(axis=1), _BINS)
    found.append(_against(at, expected, seen, ends, rules))
    if X.shape[1] > 1:
        wide = 1.0 / (_TUBE ** (-2.0 / (X.shape[1] - 1)) - 1.0)
        off = (X[inside] - normals.mean[a]) @ turn[1:].T
        seen = np.bincount(place, np.exp(-0.5 * (off**2).sum(axis=1) / wide), _BINS)
        found.append(_against(at, _in_tube(at, normals.weight, mean, cov, wide), seen, ends, rules))
    factors = [factor for factor in found if factor is not None]
    return min(1.0, fitted * max(factors)) if factors else fitted


def _basis(u: Array) -> Array:
    """Return an orthonormal basis (d, d), by columns, whose first vector is u."""
    basis = np.linalg.qr(np.column_stack([u, np.eye(len(u))]))[0][:, : len(u)]
    if basis[:, 0] @ u < 0:
        basis[:, 0] *= -1.0
    return basis


def _profile(at: Array, weight: Array, mean: Array, variance: Array) -> Array:
    """Return the density of Gaussians (k,) in one dimension, but for a factor."""
    z = (at - mean[:, None]) ** 2 / variance[:, None]
    out: Array = np.exp(np.log(weight / np.sqrt(variance))[:, None] - 0.5 * z).sum(axis=0)
    return out


def _in_tube(at: Array, weight: Array, mean: Array, cov: Array, wide: float) -> Array:
    """Return the density along the first axis, rows off it weighted by a Gaussian of that width."""
    d = mean.shape[1]
    across = cov[:, 1:, 1:] + wide * np.eye(d - 1)
    both = np.concatenate([mean[:, 1:, None], cov[:, 1:, :1]], axis=2)
    solved = np.linalg.solve(across, both)
    bent = np.einsum("kv,kvj->kj", cov[:, 0, 1:], solved)
    lost = -0.5 * np.einsum("kv,kv->k", mean[:, 1:], solved[:, :, 0])
    lost -= 0.5 * np.linalg.slogdet(across)[1]
    share = weight * np.exp(lost - lost.max())
    variance = np.maximum(cov[:, 0, 0] - bent[:, 1], 1e-12)
    return _profile(at, np.maximum(share, 1e-300), mean[:, 0] - bent[:, 0], variance)


def _against(
    at: Array,
    expected: Array,
    seen: NDArray[Any],
    ends: tuple[float, float, float, float],
    rules: Rules,
) -> float | None:
    """Return by what factor rows seen (bins,) fill a valley, None where the profile has none.

    ``ends`` are the places of the two clusters and their deviations along the profile. A valley
    counts as shallower by as many deviations as the rules say.
    """
    i, j = (int(np.argmin(np.abs(at - end))) for end in ends[:2])
    v = i + int(np.argmin(expected[i : j + 1]))
    if j - i < 4 or v in (i, j) or expected.sum() <= 0:
        return None
    expected = expected * (seen.sum() / expected.sum())
    width = at[1] - at[0]
    around = max(1, round((j - i) / 8))
    reach = [max(1, round(0.6 * deviation / width)) for deviation in ends[2:]]
    valley = slice(max(v - around, i), min(v + around, j) + 1)
    first = slice(max(i - reach[0], 0), min(i + reach[0], v - 1) + 1)
    second = slice(max(j - reach[1], v + 1), min(j + reach[1], _BINS - 1) + 1)
    hoped = [float(expected[s].mean()) for s in (valley, first, second)]
    rows = [float(seen[s].sum()) for s in (valley, first, second)]
    n = rules.group_prior_rows
    level = [
        e * (r + n) / (e * (s.stop - s.start) + n)
        for e, r, s in zip(hoped, rows, (valley, first, second), strict=True)
    ]
    lower = 1 if level[1] < level[2] else 2
    fitted = hoped[0] / max(min(hoped[1:]), 1e-300)
    if fitted >= _NO_VALLEY:
        return None
    noise = np.sqrt(1.0 / (rows[0] + 1.0) + 1.0 / (rows[lower] + 1.0))
    observed = min(level[0] / max(level[lower], 1e-300), 1.0)
    return float(observed / max(fitted, 1e-300) * np.exp(rules.group_deviations * noise))
