"""What rows show at the boundaries between clusters, against the same one pair at a time."""

import numpy as np
import pytest
from scipy import stats

from scstream.groups.boundaries import BINS, look, touching
from scstream.groups.shapes import Shapes


def world(seed, d=3, k=4, n=400):
    """Return clusters near each other in a frame, rows of them, and entropies that all touch."""
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(k, d, d)) + 2.0 * np.eye(d)
    mean, cov = 3.0 * rng.normal(size=(k, d)), factor @ factor.transpose(0, 2, 1)
    shift, scale = 100.0 * rng.normal(size=d), np.exp(rng.normal(size=d))
    ids = np.array([40, 7, 1_000_003, 12])[:k]
    z = rng.integers(k, size=n)
    X = shift + scale * (mean[z] + np.einsum("nij,nj->ni", factor[z], rng.normal(size=(n, d))))
    count = np.bincount(z, minlength=k).astype(float)
    return X, ids[z], (shift, scale), (ids, count, mean, cov, np.full((k, k), 1e6))


def plain(X, labels, frame, clusters, a, b):
    """Return the sums of one seam, None if there is none."""
    ids, count, mean, cov, _ = clusters
    Z = (X - frame[0]) / frame[1]
    pooled, gap = 0.5 * (cov[a] + cov[b]), mean[b] - mean[a]
    length = np.sqrt(gap @ np.linalg.solve(pooled, gap))
    u = np.linalg.solve(pooled, gap) / length
    deviation = [np.sqrt(u @ cov[c] @ u) for c in (a, b)]
    low, high = -2.0 * deviation[0], length + 2.0 * deviation[1]
    width = (high - low) / BINS
    at = low + width * (np.arange(BINS) + 0.5)
    profile = sum(
        count[c] / s * np.exp(-0.5 * ((at - middle) / s) ** 2)
        for c, s, middle in zip((a, b), deviation, (0.0, length), strict=True)
    )
    i, j = int(-low / width), int((length - low) / width)
    if j - i < 4:  # the two are at about one place
        return None
    v = i + int(np.argmin(profile[i : j + 1]))
    v = v if i < v < j else (i + j) // 2
    near = max(1, round((j - i) / 8))
    reach = [max(1, round(0.6 * s / width)) for s in deviation]
    windows = [
        slice(max(v - near, i), min(v + near, j) + 1),
        slice(max(i - reach[0], 0), min(i + reach[0], v - 1) + 1),
        slice(max(j - reach[1], v + 1), min(j + reach[1], BINS - 1) + 1),
    ]
    along = [(Z[labels == ids[c]] - mean[a]) @ u for c in (a, b)]
    seen = np.histogram(np.concatenate(along), BINS, (low, high))[0]
    expected = profile / profile.sum() * seen.sum()
    sides = [-along[0] / deviation[0], (along[1] - length) / deviation[1]]
    far = [t[t > 0] for t in sides]
    cuts = [
        cut_off(clusters, a, b, -u / deviation[0]),
        cut_off(clusters, b, a, u / deviation[1]),
    ]
    return np.array([
        *(seen[w].sum() for w in windows),
        *(expected[w].sum() for w in windows),
        *(expected[w].mean() for w in windows),
        *(value for t, end in zip(far, cuts, strict=True) for value in side(t, end)),
    ])  # fmt: skip


def cut_off(clusters, a, b, outwards):
    """Return where a far side ends: where another cluster, further out, is as dense."""
    _, count, mean, cov, entropy = clusters
    ends = [3.0]
    for c in range(len(count)):
        away = outwards @ (mean[c] - mean[a])
        if c in (a, b) or entropy[a, c] < 0.01 * min(count[a], count[c]) or away <= 1.0:
            continue
        width = np.sqrt(outwards @ cov[c] @ outwards)
        here, there = stats.norm(0.0, 1.0), stats.norm(away, width)
        x = np.linspace(0.0, 3.0, 30_001)
        more = np.log(count[c] / count[a]) + there.logpdf(x) - here.logpdf(x)
        i = int(np.argmax(more >= 0.0))
        if more[i] >= 0.0:
            ends.append(x[i] - 1e-4 * more[i] / (more[i] - more[i - 1]) if i else 0.0)
    return max(min(ends), 0.8)


def side(t, end):
    """Return rows of a far side, and sums of distances and squares, as if nobody cut it off."""
    if end == 3.0:
        return len(t), t.sum(), (t**2).sum()
    x = end * (np.arange(20_000) + 0.5) / 20_000
    height = stats.norm.pdf(x) + stats.norm.pdf(2.0 * end - x)
    one, two = (np.average(x**power, weights=height) for power in (1, 2))
    stretched = 1.0 / max((two / one**2 - 4 / 3) / (np.pi / 2 - 4 / 3), 0.1)
    ratio = 4 / 3 + stretched * ((t**2).mean() / t.mean() ** 2 - 4 / 3)
    ratio = np.clip(ratio, 1.0, 4 / 3 + np.pi / 2 - 1.0)
    rows = len(t) / stretched**4
    return rows, rows * t.mean(), rows * ratio * t.mean() ** 2


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("seed", range(4))
def test_the_sums_are_those_of_plain_numpy(d, seed):
    data = world(seed, d)
    X, labels, frame, (ids, count, mean, cov, entropy) = data
    pairs = touching(entropy, count, 0.01, 6)
    sums, _ = look((X, labels), Shapes(ids, count, mean, cov, frame), pairs)
    assert len(pairs) == 6
    shown = 0
    for (a, b), found in zip(pairs, sums, strict=True):
        wanted = plain(*data, a, b)
        if wanted is None:
            assert not found.any()
        else:
            shown += 1
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)
    assert shown >= 3
