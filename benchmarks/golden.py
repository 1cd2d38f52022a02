"""Labels of forty streams, to see whether a change of the arithmetic changes any.

``python -m benchmarks.golden --write FILE`` saves the labels of this version, such as those in
``benchmarks/published/golden_labels.npz`` (x86 with AVX-512);
``python -m benchmarks.golden --compare FILE`` prints, for each stream, the share of rows whose
label differs and the agreement (ARI) of the two. ``--only gaps words`` takes some streams.
Streams with the same random state have the same labels on one machine. On another, sums may differ
in their last bits: a few streams then take another course.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from scstream import ScStream
from scstream.datasets import (
    directional_stream,
    gaussian_stream,
    mixed_stream,
    multinomial_stream,
)

Tables = list[Any]


def gaussian(n_batches: int = 6, batch_size: int = 1000, seed: int = 1, **given: Any) -> Tables:
    """Return batches of Gaussian clusters."""
    stream = gaussian_stream(n_batches, batch_size, random_state=seed, **given)
    return [batch.X for batch in stream]


def changed(batches: Tables, change: Callable[[np.ndarray, np.random.Generator], Any]) -> Tables:
    """Return batches with a change of each."""
    rng = np.random.default_rng(7)
    return [change(np.array(X, dtype=float), rng) for X in batches]


def with_gaps(share: float) -> Callable[[np.ndarray, np.random.Generator], Any]:
    """Return a change that removes a share of the entries."""
    return lambda X, rng: np.where(rng.random(X.shape) < share, np.nan, X)


def with_tails(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return rows with the deviations of Student's t with 2 degrees of freedom added."""
    return X + 0.5 * rng.standard_t(2.0, size=X.shape)


def with_clutter(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return rows of which a fifth lies anywhere."""
    anywhere = rng.uniform(X.min(axis=0), X.max(axis=0), size=X.shape)
    return np.where(rng.random(len(X))[:, None] < 0.2, anywhere, X)


def skewed(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return rows whose logarithms are normal."""
    return np.exp(X / 8.0)


def mixed(seed: int = 1, **given: Any) -> Tables:
    """Return tables with columns of several kinds."""
    n_batches, n = given.pop("n_batches", 5), given.pop("batch_size", 600)
    columns = given.pop("columns")
    return [b.X for b in mixed_stream(columns, n_batches, n, 6, random_state=seed, **given)]


def words(n_batches: int, batch_size: int, k: int, d: int, **given: Any) -> Tables:
    """Return batches of counts of words."""
    stream = multinomial_stream(n_batches, batch_size, k, d, random_state=1, **given)
    return [batch.X for batch in stream]


def jump(batches: Tables) -> Tables:
    """Return batches of which the second half lies elsewhere."""
    half = len(batches) // 2
    return batches[:half] + [X + 300.0 for X in batches[half:]]


def walks(n_batches: int = 5, n: int = 800) -> Tables:
    """Return rows that resemble the row before."""
    rng = np.random.default_rng(3)
    place = rng.normal(scale=8.0, size=(4, 3))
    out = []
    for _ in range(n_batches):
        y = np.repeat(rng.integers(4, size=n // 50), 50)
        noise = rng.normal(size=(n, 3))
        for i in range(1, n):
            noise[i] = 0.8 * noise[i - 1] + 0.6 * noise[i]
        out.append(place[y] + noise)
    return out


def sizes() -> Tables:
    """Return batches of very different sizes."""
    X = np.concatenate(gaussian(6, 2000, n_clusters=8, drift="none"))
    return np.split(X, [1000, 1010, 1011, 6000, 6300])


def plain(family: Any = "gaussian", **given: Any) -> dict[str, Any]:
    """Return the parameters of a model."""
    return {"family": family, "random_state": 0} | given


STREAMS: dict[str, tuple[Callable[[], Tables], dict[str, Any]]] = {
    "drift": (lambda: gaussian(8), plain()),
    "no drift": (lambda: gaussian(drift="none"), plain()),
    "births": (lambda: gaussian(8, births=0.3), plain()),
    "one column": (lambda: gaussian(n_features=1, n_clusters=5), plain()),
    "five columns": (lambda: gaussian(n_features=5), plain()),
    "ten columns": (lambda: gaussian(n_features=10), plain()),
    "forty columns": (lambda: gaussian(4, n_features=40), plain()),
    "100 columns": (lambda: gaussian(3, 500, n_features=100, n_clusters=8), plain()),
    "few rows": (lambda: gaussian(20, 60, n_clusters=4), plain()),
    "single rows": (lambda: gaussian(60, 1, n_clusters=3), plain()),
    "20,000 rows": (lambda: gaussian(3, 20_000, n_features=4), plain()),
    "80 clusters": (lambda: gaussian(3, 20_000, n_features=5, n_clusters=80), plain()),
    "50,000 rows": (lambda: gaussian(2, 50_000, n_features=3, n_clusters=10), plain()),
    "sizes": (sizes, plain()),
    "jump": (lambda: jump(gaussian(8, n_clusters=6)), plain()),
    "sweeps": (lambda: gaussian(5), plain(sweeps=5)),
    "never forgets": (lambda: gaussian(8), plain(half_life=None)),
    "kernel": (lambda: gaussian(8), plain(kernel=lambda dt: max(0.0, 1.0 - dt / 4.0))),
    "short memory": (lambda: gaussian(8, speed=12.0), plain(half_life=1.0)),
    "alike rows": (walks, plain()),
    "far offset": (lambda: [X + 1e6 for X in gaussian(5)], plain()),
    "gaps": (lambda: changed(gaussian(5, n_features=4), with_gaps(0.1)), plain()),
    "many gaps": (lambda: changed(gaussian(5, n_features=8), with_gaps(0.4)), plain()),
    "clutter": (lambda: changed(gaussian(5, n_clusters=8), with_clutter), plain()),
    "background": (
        lambda: changed(gaussian(5, n_clusters=8), with_clutter),
        plain(outlier_weight="auto"),
    ),
    "outliers": (
        lambda: changed(gaussian(5, n_clusters=8), with_clutter),
        plain(outlier_weight=0.05),
    ),
    "skewed": (lambda: changed(gaussian(5, n_clusters=6), skewed), plain()),
    "skewed auto": (lambda: changed(gaussian(5, n_clusters=6), skewed), plain("auto")),
    "diagonal": (lambda: gaussian(5, n_features=6), plain("diagonal")),
    "spherical": (lambda: gaussian(5, n_features=6), plain("spherical")),
    "tails": (lambda: changed(gaussian(5, n_clusters=6), with_tails), plain("student")),
    "no tails": (lambda: gaussian(5, n_features=3), plain("student")),
    "diagonal tails": (
        lambda: changed(gaussian(5, n_features=5, n_clusters=6), with_tails),
        plain("diagonal-student"),
    ),
    "directions": (
        lambda: [b.X for b in directional_stream(5, 800, random_state=1)],
        plain("directional"),
    ),
    "words": (lambda: words(5, 800, 20, 60), plain("multinomial")),
    "sparse words": (lambda: words(4, 1000, 12, 2000, sparse=True), plain("multinomial")),
    "counts": (lambda: mixed(columns={"poisson": 4}), plain("poisson")),
    "truths": (lambda: mixed(columns={"bernoulli": 12}), plain("bernoulli")),
    "mixed": (
        lambda: mixed(columns={"diagonal": 2, "categorical": 2, "poisson": 1, "bernoulli": 2}),
        plain("auto"),
    ),
    "mixed gaps": (
        lambda: mixed(columns={"diagonal": 2, "categorical": 2, "poisson": 1}, missing=0.1),
        plain("auto"),
    ),
}


def labels_of(name: str) -> np.ndarray:
    """Return the labels of a stream: of each batch, before it is learned and after."""
    make, given = STREAMS[name]
    model = ScStream(**given)
    found = []
    for X in make():
        if model.n_batches_:
            found.append(np.asarray(model.predict(X)))
        found.append(np.asarray(model.partial_fit(X).labels_))
    return np.concatenate(found).astype(np.int32)


def compared(names: list[str], saved: Any) -> Iterator[tuple[str, float, float]]:
    """Yield the name of each stream, the share of labels that differ, and the agreement."""
    for name in names:
        old, new = saved[name], labels_of(name)
        if len(old) != len(new):
            yield name, 1.0, 0.0
        else:
            yield name, float(np.mean(old != new)), adjusted_rand_score(old, new)


def main(args: list[str] | None = None) -> int:
    """Save labels, or compare them with saved ones."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--write", metavar="FILE", help="save the labels")
    which.add_argument("--compare", metavar="FILE", help="compare the labels with saved ones")
    parser.add_argument("--only", nargs="+", choices=list(STREAMS), help="some of the streams")
    given = parser.parse_args(args)
    names = given.only or list(STREAMS)
    if given.write:
        labels = {}
        for name in names:
            labels[name] = labels_of(name)
            print(f"{name:16}{len(labels[name]):9,} labels, {len(set(labels[name].tolist()))} ids")
        np.savez_compressed(given.write, **labels)
        return 0
    differ = 0
    with np.load(given.compare, allow_pickle=False) as saved:
        print(f"{'stream':16}{'differ':>9}{'ARI':>8}")
        for name, share, agreement in compared(names, saved):
            print(f"{name:16}{share:9.2%}{agreement:8.3f}", flush=True)
            differ += share > 0.0
    print(f"{differ} of {len(names)} streams differ")
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main())
