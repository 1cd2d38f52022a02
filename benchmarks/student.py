"""Heavy tails: the families "student" and "gaussian" on streams of both kinds of clusters.

Run ``python benchmarks/student.py``. ``--seeds 5 --first 0`` chooses the seeds, ``--only "3-D"``
streams by a part of their names, ``--batches 40`` a length. The oracle knows the true densities at
every moment. Labels are those predicted before a batch is learned. Times of the two families are
taken in turns, batch by batch.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln
from sklearn.metrics import adjusted_rand_score

from scstream import ScStream

FAMILIES = ("gaussian", "student")


@dataclass(frozen=True)
class Heavy:
    """Clusters with tails of some degrees of freedom, none for Gaussian ones, that drift slowly.

    Two centres are at least ``apart`` from each other at the start.
    """

    d: int
    df: float | None
    k: int = 8
    apart: float = 20.0
    size: int = 1000
    speed: float = 2.0

    def batches(self, seed: int, n_batches: int) -> list:
        """Return rows, labels and the oracle's labels of each batch."""
        rng = np.random.default_rng(seed)
        centre = self._centres(rng)
        way = self.speed * rng.normal(size=centre.shape)
        mix = [
            np.linalg.qr(rng.normal(size=(self.d, self.d)))[0] * rng.uniform(0.5, 1.5, self.d)
            for _ in range(self.k)
        ]
        out = []
        for b in range(n_batches):
            here = centre + way * b / max(n_batches - 1, 1)
            y = rng.integers(self.k, size=self.size)
            X = rng.normal(size=(self.size, self.d))
            if self.df is not None:
                X /= np.sqrt(rng.chisquare(self.df, size=(self.size, 1)) / self.df)
            for c in range(self.k):
                X[y == c] = X[y == c] @ mix[c].T + here[c]
            out.append((X, y, self._oracle(X, here, mix)))
        return out

    def _centres(self, rng: np.random.Generator) -> np.ndarray:
        width, out = self.apart, np.zeros((0, self.d))
        while len(out) < self.k:
            width *= 1.01
            one = rng.uniform(-width, width, self.d)
            if len(out) == 0 or np.linalg.norm(out - one, axis=1).min() >= self.apart:
                out = np.vstack([out, one])
        return out

    def _oracle(self, X: np.ndarray, centre: np.ndarray, mix: list) -> np.ndarray:
        density = []
        for c in range(self.k):
            far = (np.linalg.solve(mix[c], (X - centre[c]).T) ** 2).sum(axis=0)
            level = -np.linalg.slogdet(mix[c])[1]
            if self.df is None:
                density.append(level - 0.5 * far)
                continue
            v, d = self.df, self.d
            level += gammaln(0.5 * (v + d)) - gammaln(0.5 * v) - 0.5 * d * np.log(v)
            density.append(level - 0.5 * (v + d) * np.log1p(far / v))
        return np.argmax(density, axis=0)


STREAMS = {
    "t with 3, 2-D": Heavy(2, 3.0),
    "t with 3, 3-D": Heavy(3, 3.0),
    "t with 3, 2-D, closer": Heavy(2, 3.0, apart=8.0),
    "t with 1.5, 2-D": Heavy(2, 1.5, apart=20.0),
    "t with 10, 5-D": Heavy(5, 10.0, apart=8.0),
    "t with 3, 10-D": Heavy(10, 3.0, apart=20.0),
    "t with 3, 1-D": Heavy(1, 3.0, k=5, apart=30.0),
    "t with 3, 2-D, 100 rows": Heavy(2, 3.0, size=100),
    "t with 3, 2-D, fast": Heavy(2, 3.0, speed=40.0),
    "t with 3, 3-D, fast": Heavy(3, 3.0, speed=40.0),
    "Gaussian, 2-D": Heavy(2, None, apart=8.0),
    "Gaussian, 2-D, overlapping": Heavy(2, None, k=12, apart=4.0),
    "Gaussian, 5-D": Heavy(5, None, apart=6.0),
}


def run(stream: Heavy, seed: int, n_batches: int) -> np.ndarray:
    """Return for each family the ARI, the oracle's, clusters and seconds an update."""
    models = {name: ScStream(name, random_state=seed, n_jobs=1) for name in FAMILIES}
    score: dict[str, list] = {name: [] for name in FAMILIES}
    for b, (X, y, best) in enumerate(stream.batches(seed, n_batches)):
        for name in FAMILIES if b % 2 else FAMILIES[::-1]:
            model = models[name]
            z = model.predict(X) if b else y
            began = time.thread_time()
            model.partial_fit(X)
            took = time.thread_time() - began
            if b:
                ari = adjusted_rand_score(y, z)
                score[name].append((ari, adjusted_rand_score(y, best), model.n_clusters_, took))
    means = [np.append(np.mean(s, axis=0)[:3], np.median(s, axis=0)[3]) for s in score.values()]
    return np.array(means)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5, help="how many seeds")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--batches", type=int, default=40, help="length of the streams")
    parser.add_argument("--only", help="a part of the names of streams")
    args = parser.parse_args()
    print(
        "| stream | the oracle's ARI | gaussian: share of it | clusters "
        "| student: share of it | least of a seed | clusters | most of a seed | time, ratio |\n|"
        + " --- |"
        * 9
    )
    for name, stream in STREAMS.items():
        if args.only and args.only not in name:
            continue
        seeds = range(args.first, args.first + args.seeds)
        r = np.array([run(stream, seed, args.batches) for seed in seeds])
        share, m = r[..., 0] / r[..., 1], r.mean(axis=0)
        ratio = np.median(r[:, 1, 3] / r[:, 0, 3])
        print(
            f"| {name} | {m[0, 1]:.3f} | {share[:, 0].mean():.3f} | {m[0, 2]:.1f} "
            f"| {share[:, 1].mean():.3f} | {share[:, 1].min():.3f} | {m[1, 2]:.1f} / {stream.k} "
            f"| {r[:, 1, 2].max():.1f} | {ratio:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
