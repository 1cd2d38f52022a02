"""Who is joined to whom, by what rows showed at the boundaries."""

import numpy as np
import pytest
from scipy.stats import norm

from scstream.groups.judging import judge
from scstream.groups.near import NO_LINKS
from scstream.groups.shapes import Shapes
from scstream.sampler.rules import RULES

HALF_GAUSSIAN, STRIP, EXPONENTIAL = np.pi / 2.0, 4.0 / 3.0, 2.0


def seam(valley=1.0, rows=1000.0, sides=(HALF_GAUSSIAN, HALF_GAUSSIAN), n=400.0):
    """Return the sums of a seam whose valley has a share of the peaks' rows."""
    return np.array([
        valley * rows, rows, rows, valley * rows, rows, rows, valley, 1.0, 1.0,
        n, n, n * sides[0], n, n, n * sides[1],
    ])  # fmt: skip


def formed(sums, count=(100.0, 100.0), mean=((0.0, 0.0), (3.0, 0.0)), size=(1.0, 1.0),
           whole=(-1, -1), rules=RULES, pairs=((0, 1),), cov=None, links=None):  # fmt: skip
    """Return merges, heights and the whole of each cluster."""
    k, sums = len(count), np.array(sums).reshape(-1, 15)
    cov = np.array([s * np.eye(2) for s in size]) if cov is None else cov
    links = NO_LINKS if links is None else links
    table = np.array(pairs)[: len(sums)].reshape(-1, 2)
    shapes = Shapes(np.arange(k), np.array(count), np.array(mean), cov, (np.zeros(2), np.ones(2)))
    square = np.array([squared_distance(shapes.mean, cov, *pair) for pair in table])
    joined = judge((table, sums, square), shapes, np.array(whole), links, rules)
    return joined.merges, joined.heights, joined.part.tolist()


def squared_distance(mean, cov, a, b):
    """Return the squared distance of two clusters in the deviations of their mean shape."""
    way = mean[b] - mean[a]
    return way @ np.linalg.solve((cov[a] + cov[b]) / 2, way)


def bell(side):
    """Return by how many deviations a far side is more like a Gaussian's."""
    n, t, t2 = side
    r = (n * t2 / t**2 * n + 1.45 * 4.0) / (n + 4.0)
    return min(r - 1.45, 1.75 - r) * np.sqrt(n + 4.0) / 0.62


def usual(all_sums):
    """Return what the far sides at all seams say on the two of a pair."""
    sides = [side for sums in all_sums for side in (sums[9:12], sums[12:15])]
    total = sum(np.clip(bell(side), -2.0, 2.0) for side in sides)
    return 1.6 * np.sqrt(2.0) * total / (sum(n / (n + 4.0) for n, _, _ in sides) + 8.0)


def plain_height(sums, whole=(-1, -1)):
    """Return the height of the merge of two like clusters three deviations apart."""
    seen = sums[1] + sums[2]
    z = (bell(sums[9:12]) + bell(sums[12:15])) / np.sqrt(2.0) + usual([sums])
    z -= (seen - 5.0) / (seen + 5.0)
    if whole[0] >= 0:
        z += 1.8 if whole[0] != whole[1] else -1.8
    apart = norm.cdf(z) ** (np.log(0.3) / np.log(0.5))
    level = sums[6:9] * (sums[:3] + 2.0) / (sums[3:6] + 2.0)
    low = 1 if level[1] < level[2] else 2
    noise = np.sqrt(1.0 / (sums[0] + 1.0) + 1.0 / (sums[low] + 1.0))
    deviations = 0.3 + 1.3 * min(max(-0.5 * z, 0.0), 1.0)
    return 1.0 - min(level[0] / level[low] * np.exp(deviations * noise), 1.0, 1.0 - apart)


@pytest.mark.parametrize("whole", [(-1, -1), (0, 0), (0, 1)])
def test_heights_are_those_of_plain_numpy(whole):
    rng = np.random.default_rng(0)
    for _ in range(50):
        sums = seam(
            rng.uniform(), rng.uniform(5, 500), rng.uniform(1.3, 1.8, 2), rng.uniform(1, 500)
        )
        sums[:3] *= rng.uniform(0.5, 2.0, 3)
        assert formed(sums, whole=whole)[1][0] == pytest.approx(plain_height(sums, whole), abs=1e-6)


def test_far_sides_tell_gaussians_from_pieces():
    assert formed(seam(sides=(HALF_GAUSSIAN, HALF_GAUSSIAN)))[2] == [0, 1]
    assert formed(seam(sides=(STRIP, STRIP)))[2] == [0, 0]
    assert formed(seam(sides=(HALF_GAUSSIAN, STRIP)))[2] == [0, 0]
    assert formed(seam(sides=(HALF_GAUSSIAN, EXPONENTIAL)))[2] == [0, 0]
