"""What bounds the scores on CoverType: settings chosen with all labels in view.

Run ``python -m benchmarks.hindsight --data FOLDER``. Random priors, concentrations and half-lives,
each run over the whole stream, tell what the model could reach if tuning saw everything; one
Gaussian for each class, learned with the labels of the batches before, what Gaussians could. With
``--early 8`` each setting is scored on the batches that tuning sees with so many seeds, which
tells whether their noise or their kind keeps tuning from the best settings; with ``--searches 3``
so many searches are run as in the comparison, and their best over the whole stream.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from benchmarks.contestants import named
from benchmarks.protocol import prepare
from benchmarks.streams import DATASETS, Opened, default_folder
from benchmarks.tuning import BATCHES, Budget, search
from scstream import Gaussian, ScStream
from scstream.evaluate import PrequentialResult, prequential

DATASET = "covtype"
_RANGES = {  # from, to, added to what is drawn
    "mean_strength": (0.01, 3.0, 0.0),
    "cov_strength": (1.5, 60.0, 10.0),
    "cov": (0.2, 3.0, 0.0),
    "alpha": (1e-4, 100.0, 0.0),
    "half_life": (0.2, 10.0, 0.0),
}
_FIRST = 5  # settings that lead by the first batches
_FINALISTS = 12  # trials of a search that are run again,
_FURTHER = 6  # with so many further seeds
_PRIOR = 11.0  # points that the expected covariance of a class, 0.1 I, is worth


class LabelledGaussians:
    """One Gaussian for each class, which is told the labels of each batch that it learns."""

    def __init__(self, labels: Iterator[NDArray[np.int64]], half_life: float) -> None:
        self.labels, self.keep = labels, 0.5 ** (1.0 / half_life)
        self.sums: dict[int, tuple[float, Any, Any]] = {}

    def partial_fit(self, X: NDArray[np.float64]) -> None:
        """Forget some of the past, and take in the classes of a batch."""
        y, keep, none = next(self.labels), self.keep, (0.0, 0.0, 0.0)
        kept = {c: (keep * n, keep * s, keep * q) for c, (n, s, q) in self.sums.items()}
        for c in np.unique(y).tolist():
            Z = X[y == c]
            n, s, q = kept.get(c, none)
            kept[c] = (n + len(Z), s + Z.sum(axis=0), q + Z.T @ Z)
        self.sums = {c: sums for c, sums in kept.items() if sums[0] >= 1.0}

    def predict(self, X: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the most probable class of each row."""
        eye = np.eye(X.shape[1])
        levels = []
        for n, s, q in self.sums.values():
            m = s / n
            cov = (q - n * np.outer(m, m) + 0.1 * _PRIOR * eye) / (n + _PRIOR) + 1e-3 * eye
            L = np.linalg.cholesky(cov)
            far = (np.linalg.solve(L, (X - m).T) ** 2).sum(axis=0)
            levels.append(np.log(n) - 0.5 * far - np.log(np.diag(L)).sum())
        return np.array(list(self.sums))[np.argmax(levels, axis=0)]


def draw(rng: np.random.Generator) -> dict[str, float]:
    """Return settings, each drawn evenly on a logarithmic scale."""
    return {
        name: more + float(np.exp(rng.uniform(np.log(low), np.log(high))))
        for name, (low, high, more) in _RANGES.items()
    }


def run(batches: list[Any], settings: dict[str, float], seed: int) -> PrequentialResult:
    """Run a model with a given prior over the stream."""
    prior = {name: settings[name] for name in ("mean_strength", "cov", "cov_strength")}
    family = Gaussian(mean=np.zeros(batches[0][0].shape[1]), **prior)
    rest = {"alpha": settings["alpha"], "half_life": settings["half_life"]}
    return prequential(ScStream(family, **rest, random_state=seed, n_jobs=1), batches)


def row(result: PrequentialResult) -> dict[str, float]:
    """Return the scores of a stream, and those of the batches that tuning sees."""
    mean = result.mean()
    early = float(result.ari[result.batch < BATCHES].mean())
    scores = {name: mean[name] for name in ("ari", "nmi", "f", "n_clusters")}
    return {**scores, "full_nmi": result.full_nmi, "first_ten": early}


def foretold(whole: NDArray[np.float64], early: NDArray[np.float64]) -> Iterator[str]:
    """Say how well the first batches foretell the whole stream, by how many seeds are averaged.

    Parameters
    ----------
    whole : ndarray (s,)
        The score of each setting over the whole stream.
    early : ndarray (s, n)
        Its scores on the first batches, with each of n seeds.
    """
    n, k = early.shape[1], 1
    yield f"Of {len(whole)} settings the best has {whole.max():.3f}; seeds move the first batches'"
    yield f"score by {early.std(axis=1, ddof=1).mean():.3f} (standard deviation)."
    while k <= n:
        means = early[:, : n // k * k].reshape(len(early), -1, k).mean(axis=2)
        order = np.argsort(-means, axis=0)
        rho = np.mean([spearmanr(column, whole).statistic for column in means.T])
        best, first = whole[order[0]].mean(), whole[order[:_FIRST]].mean()
        yield f"{k} seeds: rank correlation {rho:.2f}, the best {best:.3f}, first five {first:.3f}"
        k *= 2


def searched(stream: Opened, batches: list[Any], seed: int, trials: int) -> str:
    """Search as the comparison does; say what its best, and its best by further seeds, reach."""
    ours = named(())["ScStream"]
    task, _ = prepare(DATASETS[DATASET], ours, stream, batches)

    def score(settings: dict[str, Any], some: list[Any], seed: int) -> float:
        return float(prequential(ours.make(task, seed, **settings), some).ari.mean())

    tried: list[dict[str, Any]] = []
    budget = Budget(trials, math.inf)
    search(ours, task, batches, budget, seed=seed, say=lambda said: tried.extend(said["trials"]))
    scored = [trial for trial in tried if trial["ari"] is not None]
    finalists = sorted(scored, key=lambda trial: -trial["ari"])[:_FINALISTS]
    seeds = range(seed + 1, seed + 1 + _FURTHER)
    again = [[score(t["settings"], batches[:BATCHES], s) for s in seeds] for t in finalists]
    means = np.mean(again, axis=1)
    ends = [
        f"{name}: {early:.3f}, {score(finalists[i]['settings'], batches, seed + 100):.3f}"
        for name, i, early in (
            ("best", 0, finalists[0]["ari"]),
            (f"best by {_FURTHER} further seeds", int(means.argmax()), means.max()),
        )
    ]
    return f"Search {seed} of {trials} trials (first batches, whole stream): {'; '.join(ends)}"


def main() -> None:
    """Print a line for each setting, the best last; then what else was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1, help="of the settings")
    parser.add_argument("--seeds", type=int, default=1, help="of the model, for each setting")
    parser.add_argument("--early", type=int, default=0, help="seeds for the first batches alone")
    parser.add_argument("--searches", type=int, default=0, help="of 100 trials, as in tuning")
    parser.add_argument("--data", type=Path, help="folder of files (default: SCSTREAM_DATA)")
    args = parser.parse_args()
    stream = DATASETS[DATASET].open(0, "full", args.data or default_folder())
    batches = list(stream.batches)
    rng = np.random.default_rng(args.seed)
    found, early = [], []
    for _ in range(args.trials):
        settings = draw(rng)
        rows = [row(run(batches, settings, seed)) for seed in range(args.seeds)]
        mean = {name: float(np.mean([r[name] for r in rows])) for name in rows[0]}
        found.append({**settings, **mean})
        start = batches[:BATCHES]
        early.append([run(start, settings, seed).ari.mean() for seed in range(args.early)])
        print(json.dumps({k: round(v, 4) for k, v in found[-1].items()}), flush=True)
    print("Best by the whole stream:")
    for best in sorted(found, key=lambda r: r["ari"])[-5:]:
        print(json.dumps({k: round(v, 4) for k, v in best.items()}))
    if args.early > 1:
        print(*foretold(np.array([r["ari"] for r in found]), np.array(early)), sep="\n")
    for seed in range(args.searches):
        print(searched(stream, batches, seed, trials=100), flush=True)
    for half_life in (0.5, 1.0, 5.0):
        taught = LabelledGaussians((y for _, y in batches), half_life)
        scores = prequential(taught, batches).mean()
        print(f"Labelled Gaussians, half-life {half_life}: {scores['ari']:.3f} {scores['nmi']:.3f}")


if __name__ == "__main__":
    main()
