"""What a family costs that is written in NumPy alone, against the fused one: diagonal Gaussian.

Run ``python benchmarks/generic.py``. Both learn the same stream with the same seed, in turns; the
medians over the batches after the first, and the ratio, are printed. *generic* is the built-in
family with everything fused taken away, *plain* is one that a user might write, without missing
values.
"""

from __future__ import annotations

import argparse
import copy
import time
from typing import Any

import numpy as np
from scipy.special import gammaln

from scstream import Diagonal, Family, ScStream
from scstream.datasets import mixed_stream


class Generic(Diagonal):
    """The built-in family with the scores of any family."""

    predictive_score = Family.predictive_score


class Plain(Family):
    """A diagonal Gaussian in a page: the prior is that of the standardised first batch."""

    name = "plain-diagonal"

    def prepare(self, X: Any) -> Any:
        new = copy.copy(self)
        new.shift, new.scale = X.mean(axis=0), X.std(axis=0)
        return new

    def statistics(self, X: Any) -> Any:
        Z = (X - self.shift) / self.scale
        return np.concatenate([np.ones((len(Z), 1)), Z, Z * Z], axis=1)

    def log_base(self, X: Any) -> Any:
        return np.full(len(X), -0.5 * X.shape[1] * np.log(2 * np.pi) - np.log(self.scale).sum())

    @property
    def prior(self) -> Any:
        d = len(self.scale)
        return np.concatenate([[0.01], np.zeros(d), np.full(d, 0.02)])

    def log_partition(self, tau: Any) -> Any:
        d = len(self.scale)
        kappa, z, zz = tau[..., 0], tau[..., 1 : 1 + d], tau[..., 1 + d :]
        nu = kappa + 2.99
        log_scatter = np.log(0.5 * (zz - z * z / kappa[..., None])).sum(axis=-1)
        return d * (gammaln(0.5 * nu) - 0.5 * np.log(kappa)) - 0.5 * nu * log_scatter

    def draw(self, rng: np.random.Generator, tau: Any) -> Any:
        d = len(self.scale)
        kappa, z, zz = tau[:, :1], tau[:, 1 : 1 + d], tau[:, 1 + d :]
        precision = rng.chisquare(kappa + 2.99, z.shape) / (zz - z * z / kappa)
        mean = z / kappa + rng.standard_normal(z.shape) / np.sqrt(kappa * precision)
        each = 0.5 * (np.log(precision) - precision * mean**2)
        level = each.sum(axis=1, keepdims=True)
        return np.concatenate([level, precision * mean, -0.5 * precision], axis=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--columns", type=int, nargs="+", default=[2, 8, 32])
    parser.add_argument("--clusters", type=int, default=10)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--batches", type=int, default=12)
    args = parser.parse_args()
    families = {"fused": Diagonal, "generic": Generic, "plain": Plain}
    print("| columns | " + " | ".join(f"{n}, ms a batch" for n in families) + " | ratios |")
    print("|" + " --- |" * (len(families) + 2))
    for d in args.columns:
        stream = mixed_stream(
            {"diagonal": d}, args.batches, args.rows, args.clusters, random_state=0
        )
        models = {n: ScStream(f(), random_state=0, n_jobs=1) for n, f in families.items()}
        spent: dict[str, list[float]] = {name: [] for name in families}
        for batch in stream:
            for name, model in models.items():
                began = time.perf_counter()
                model.partial_fit(batch.X)
                model.predict(batch.X)
                spent[name].append(1e3 * (time.perf_counter() - began))
        median = {name: float(np.median(times[2:])) for name, times in spent.items()}
        cells = " | ".join(f"{ms:.1f}" for ms in median.values())
        ratios = ", ".join(f"{median[n] / median['fused']:.1f}" for n in ("generic", "plain"))
        found = ", ".join(str(model.n_clusters_) for model in models.values())
        print(f"| {d} | {cells} | {ratios} ({found} clusters) |", flush=True)


if __name__ == "__main__":
    main()
