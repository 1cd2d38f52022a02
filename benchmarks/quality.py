"""Quality of the untuned model on drifting streams: prequential ARI against an oracle's.

Run ``python benchmarks/quality.py`` (or ``make quality``). ``--seeds 10 --first 0`` chooses the
seeds, ``--only drift births`` some of the streams. Files of real streams (npz with ``X`` and
``y``) are taken from the folder that ``--data`` or the variable SCSTREAM_DATA names.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
from shapes import SHAPES
from sklearn.datasets import load_digits
from words import baskets, lines_of_a_log, short_rows, with_bursts

from scstream import ScStream
from scstream.datasets import gaussian_stream, multinomial_stream
from scstream.evaluate import prequential
from scstream.metrics import Contingency
from scstream.support.progress import Bar


def unlike_classes(
    seed: int, n_batches: int = 8, n_classes: int = 60, d: int = 32, points: int = 15
) -> list:
    """Many classes of few points in many columns, each with a shape and a size of its own."""
    rng = np.random.default_rng(seed)
    common = np.linalg.qr(rng.normal(size=(d, d)))[0] * np.exp(rng.uniform(-1.5, 0.5, d))
    mean = rng.normal(scale=7.0 / np.sqrt(d), size=(n_classes, d)) @ common.T
    own = rng.normal(size=(n_classes, d, 3 * d)) / np.sqrt(3 * d)
    size = np.exp(rng.normal(scale=0.5, size=n_classes))
    factor = size[:, None, None] * (common @ np.linalg.cholesky(own @ own.transpose(0, 2, 1)))
    batches = []
    for _ in range(n_batches):
        y = rng.integers(n_classes, size=n_classes * points)
        X = mean[y] + (factor[y] @ rng.normal(size=(len(y), d, 1)))[..., 0]
        batches.append((X, y))
    return batches


def low_rank(
    seed: int, d: int, n_batches: int = 12, n: int = 250, n_classes: int = 6, scaled: bool = False
) -> list:
    """Classes of five factors each and noise, few rows of many columns; their means drift."""
    rng = np.random.default_rng(seed)
    mean, factors = rng.normal(size=(n_classes, d)), rng.normal(size=(n_classes, d, 5))
    batches = []
    for _ in range(n_batches):
        y = rng.integers(n_classes, size=n)
        X = mean[y] + (factors[y] @ rng.normal(size=(n, 5, 1)))[..., 0]
        batches.append((X + rng.normal(size=(n, d)), y))
        mean = mean + 0.1 * rng.normal(size=mean.shape)
    if scaled:
        low, high = batches[0][0].min(axis=0), batches[0][0].max(axis=0)
        batches = [((X - low) / (high - low), y) for X, y in batches]
    return batches


def embeddings(seed: int, n_batches: int = 4, n_classes: int = 30, d: int = 384) -> list:
    """Rows of unit length about many centres, as embeddings of text are."""
    rng = np.random.default_rng(seed)
    mean = rng.normal(size=(n_classes, d)) / np.sqrt(d)
    batches = []
    for _ in range(n_batches):
        y = rng.integers(n_classes, size=1000)
        X = mean[y] + 0.5 / np.sqrt(d) * rng.normal(size=(1000, d))
        batches.append((X / np.linalg.norm(X, axis=1, keepdims=True), y))
    return batches


def few_tell(seed: int, others: Callable, n_batches: int = 6, n: int = 500) -> list:
    """Four clusters far apart in two columns, beside others that tell nothing."""
    rng = np.random.default_rng(seed)
    batches = []
    for _ in range(n_batches):
        y = rng.integers(4, size=n)
        told = 6.0 * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])[y] + rng.normal(size=(n, 2))
        batches.append((np.column_stack([told, others(rng, n)]), y))
    return batches


def still(seed: int, sizes: Iterable[int], k: int = 12, d: int = 3) -> list:
    """Batches of the given sizes of round clusters that stay where they are, far apart."""
    rng = np.random.default_rng(seed)
    centres = 9.0 * np.array(np.unravel_index(rng.permutation(4**d)[:k], (4,) * d)).T
    batches = []
    for n in sizes:
        y = rng.integers(k, size=n)
        batches.append((centres[y] + rng.normal(size=(n, d)), y))
    return batches


def overlapping(seed: int, n: int = 10_000, n_batches: int = 12) -> list:
    """Return three clusters side by side in one column, three deviations apart, which stay."""
    rng = np.random.default_rng(seed)
    batches = []
    for _ in range(n_batches):
        y = rng.integers(3, size=n)
        batches.append(((3.0 * y + rng.normal(size=n))[:, None], y))
    return batches


def jumping_sizes(seed: int) -> list:
    """Between 30 and 20,000 rows in any order."""
    sizes = 30.0 * 10.0 ** np.random.default_rng(seed).uniform(0.0, 2.8, size=20)
    return still(seed, [1000, *sizes.astype(int)])


def in_seconds(seed: int) -> list:
    """Return the drifting stream with a batch a day, times in seconds."""
    days = enumerate(gaussian_stream(random_state=seed))
    return [(b.X, b.y, 1.7e9 + 86_400.0 * day) for day, b in days]


def returning(seed: int) -> list:
    """Six clusters, of which three are away for twelve half-lives."""
    rng = np.random.default_rng(seed)
    centres = 15.0 * np.array([[i, j] for i in range(3) for j in range(2)], dtype=float)
    batches = []
    for alive in [6] * 10 + [3] * 60 + [6] * 15:
        y = rng.integers(alive, size=300)
        batches.append((centres[y] + rng.normal(size=(300, 2)), y))
    return batches


def sensors(
    seed: int, size: int, d: int = 3, r: float = 0.98, n: int = 20_000, length: int = 300
) -> list:
    """Return readings of a machine of four states, each of which lasts; they follow slowly.

    The deviation of a row has a correlation r with that of the next.
    """
    rng = np.random.default_rng(seed)
    centres = 8.0 * np.array([[i == j for j in range(d)] for i in range(4)], dtype=float)
    centres[:, 0] += 8.0 * np.arange(4)
    y, state = np.empty(n, dtype=int), 0
    for first in range(0, n, length):
        state = (state + rng.integers(1, 4)) % 4
        y[first : first + length] = state
    X, away = centres[y], rng.normal(size=d)
    for i, step in enumerate(np.sqrt(1.0 - r**2) * rng.normal(size=(n, d))):
        away = r * away + step
        X[i] += away
    return [(X[i : i + size], y[i : i + size]) for i in range(0, n, size)]


def ten_passes(seed: int) -> list:
    """Return the same 360 rows of six clusters again and again, in three batches."""
    stream = gaussian_stream(3, 120, 6, 5, drift="none", random_state=seed)
    return 10 * [(batch.X, batch.y) for batch in stream]


def flags(rng: np.random.Generator, n: int) -> np.ndarray:
    """Six columns of flags that few rows have, and three that never change."""
    return np.column_stack([rng.random((n, 6)) < 0.01, np.full((n, 3), 2.0)])


def often_none(seed: int, n_batches: int = 8, n: int = 1000) -> list:
    """Four clusters of three amounts, 0 in .2 to .65 of the rows, beside a real column."""
    rng = np.random.default_rng(seed)
    level, none = rng.normal(3.0, 1.5, size=(4, 3)), rng.uniform(0.2, 0.65, size=(4, 3))
    batches = []
    for _ in range(n_batches):
        y = rng.integers(4, size=n)
        amount = np.exp(level[y] + 0.4 * rng.normal(size=(n, 3)))
        amount[rng.random((n, 3)) < none[y]] = 0.0
        batches.append((np.column_stack([4.0 * y + rng.normal(size=n), amount]), y))
    return batches


def hosts(seed: int, n_batches: int = 10, n: int = 500, k: int = 7, d: int = 15) -> list:
    """Events of hosts of seven kinds, which are active for minutes or all day, and never alike."""
    rng = np.random.default_rng(seed)
    share = rng.dirichlet(np.full(d, 0.7), size=k)
    batches = []
    for _ in range(n_batches):
        y = rng.integers(k, size=n)
        active = 10.0 ** rng.uniform(1.5, 3.5, size=(n, 1))
        rate = active * share[y] * rng.gamma(6.0, 1.0 / 6.0, size=(n, d))
        batches.append((rng.poisson(rate).astype(float), y))
    return batches


def with_gaps(stream: Iterable, seed: int, share: float = 0.3) -> list:
    """Return a stream some of whose entries are missing, for the oracle too."""
    rng = np.random.default_rng(seed)
    batches = []
    for batch in stream:
        X = batch.X.copy()
        X[rng.random(X.shape) < share] = np.nan
        batches.append(replace(batch, X=X))
    return batches


def with_noise(stream: Iterable, share: float, seed: int, width: float = 50.0) -> list:
    """Rows of a stream, some of them noise anywhere in a box; they are a class of their own."""
    rng, batches = np.random.default_rng(seed + 1000), []
    for batch in stream:
        X, y = batch.X.copy(), batch.y.copy()
        m = int(share * len(X))
        X[:m], y[:m] = rng.uniform(-width / 2, width / 2, (m, X.shape[1])), -1
        order = rng.permutation(len(X))
        batches.append((X[order], y[order]))
    return batches


def with_faults(stream: Iterable, seed: int, share: float = 0.02) -> list:
    """Rows of a stream, some with one number ten to a million times too large: another class."""
    rng, batches = np.random.default_rng(seed + 2000), []
    for batch in stream:
        X, y = batch.X.copy(), batch.y.copy()
        rows = np.flatnonzero(rng.random(len(X)) < share)
        column = rng.integers(X.shape[1], size=len(rows))
        X[rows, column] *= 10.0 ** rng.uniform(1.0, 6.0, size=len(rows))
        y[rows] = -1
        batches.append((X, y))
    return batches


def with_total(stream: Iterable) -> list:
    """Return a stream with two columns more: what the others add up to, and a copy of the first."""
    batches = []
    for batch in stream:
        X = np.column_stack([batch.X, batch.X.sum(axis=1), batch.X[:, 0]])
        batches.append((X, batch.y))
    return batches


def whole_numbers(seed: int, n: int = 1000, n_batches: int = 15) -> list:
    """Return narrow clusters far apart whose numbers are rounded."""
    rng = np.random.default_rng(seed)
    places, batches = 20.0 * rng.permutation(25)[:8], []
    centres = np.column_stack([places // 100 * 20.0, places % 100])
    for _ in range(n_batches):
        y = rng.integers(8, size=n)
        batches.append((np.round(centres[y] + rng.normal(size=(n, 2))), y))
    return batches


def wide_counts(rng: np.random.Generator, n: int) -> np.ndarray:
    """Three columns of counts, two of them far wider than Poisson counts."""
    rate = np.column_stack(
        [9.0 * rng.gamma(1.0, 1.0, n), 19.0 * rng.gamma(0.5, 1.0, n), np.full(n, 2.0)]
    )
    return rng.poisson(rate)


def digits(seed: int) -> list:
    """Images of digits, 64 columns of whole numbers, in a random order."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(X))
    return [(X[rows], y[rows]) for rows in np.array_split(order, 6)]


SYNTHETIC: dict[str, Callable[[int], Iterable]] = {
    "drift": lambda s: gaussian_stream(random_state=s),
    "births": lambda s: gaussian_stream(births=1 / 3, random_state=s),
    "multinomial": lambda s: multinomial_stream(random_state=s),
    "short rows, 10 words": lambda s: short_rows(s, 10, 10),
    "short rows, 20 words": lambda s: short_rows(s, 30, 20),
    "short rows with bursts": with_bursts,
    "lines of a log": lines_of_a_log,
    "baskets": baskets,
    "slow": lambda s: gaussian_stream(speed=1.0, random_state=s),
    "fast": lambda s: gaussian_stream(speed=15.0, random_state=s),
    "unit variance": lambda s: gaussian_stream(size=1.47, random_state=s),
    "gradual": lambda s: gaussian_stream(drift="gradual", random_state=s),
    "sudden": lambda s: gaussian_stream(drift="sudden", random_state=s),
    "recurring": lambda s: gaussian_stream(drift="recurring", random_state=s),
    "uneven": lambda s: gaussian_stream(weights="dirichlet", random_state=s),
    "small batches": lambda s: gaussian_stream(batch_size=200, n_clusters=8, random_state=s),
    "batches of 20": lambda s: gaussian_stream(300, 20, n_clusters=8, random_state=s),
    "batches of 5": lambda s: gaussian_stream(600, 5, n_clusters=5, random_state=s),
    "5-D, 40 clusters": lambda s: gaussian_stream(
        n_features=5, n_clusters=40, box=20, random_state=s
    ),
    "16-D": lambda s: gaussian_stream(20, n_features=16, n_clusters=30, box=8, random_state=s),
    "64-D, 500 points": lambda s: gaussian_stream(
        10, 500, n_features=64, n_clusters=10, box=6, random_state=s
    ),
    "32-D, unlike classes": unlike_classes,
    "noise columns": lambda s: few_tell(s, lambda rng, n: rng.normal(size=(n, 20))),
    "flags": lambda s: few_tell(s, flags),
    "wide counts": lambda s: few_tell(s, wide_counts),
    "amounts, often 0": often_none,
    "events of hosts": hosts,
    "digits, auto": digits,
    "2-D, gaps": lambda s: with_gaps(gaussian_stream(30, n_clusters=6, random_state=s), s),
    "5-D, gaps": lambda s: with_gaps(
        gaussian_stream(30, n_features=5, n_clusters=10, random_state=s), s
    ),
    "10-D, gaps": lambda s: with_gaps(
        gaussian_stream(15, n_features=10, n_clusters=10, box=20, random_state=s), s
    ),
    "digits": digits,
    "jumping sizes": jumping_sizes,
    "ten passes": ten_passes,
    "1-D, overlapping": overlapping,
    "times in seconds": in_seconds,
    "returning clusters": returning,
    "sensors": lambda s: sensors(s, 1000),
    "sensors, batches of 100": lambda s: sensors(s, 100, n=10_000),
    "sensors, 8 columns": lambda s: sensors(s, 1000, d=8, r=0.95),
    "sensors, auto": lambda s: sensors(s, 1000),
    "64-D, low rank": lambda s: low_rank(s, 64),
    "128-D, low rank, min-max": lambda s: low_rank(s, 128, scaled=True),
    "256-D, low rank": lambda s: low_rank(s, 256),
    "384-D embeddings": embeddings,
    "whole numbers": whole_numbers,
    "a total and a copy": lambda s: with_total(
        gaussian_stream(20, 600, n_clusters=5, n_features=3, box=10, random_state=s)
    ),
    "2 % faulty readings": lambda s: with_faults(
        gaussian_stream(20, n_clusters=10, n_features=5, box=20, random_state=s), s
    ),
    "5 % noise, 2-D": lambda s: with_noise(
        gaussian_stream(20, n_clusters=10, random_state=s), 0.05, s
    ),
    "20 % noise, 10-D": lambda s: with_noise(
        gaussian_stream(20, n_clusters=10, n_features=10, random_state=s), 0.2, s
    ),
}
SYNTHETIC |= SHAPES
COUNTS = (
    "multinomial", "short rows, 10 words", "short rows, 20 words", "short rows with bursts",
    "lines of a log", "baskets",
)  # fmt: skip
AUTO = "wide counts", "amounts, often 0", "events of hosts", "digits, auto", "sensors, auto"
FAMILY = dict.fromkeys(COUNTS, "multinomial") | dict.fromkeys(AUTO, "auto")
OPTIONS = {name: {"outlier_weight": "auto"} for name in ("5 % noise, 2-D", "20 % noise, 10-D")}

# file: batch size, batches, whether the order is shuffled first
REAL = {
    "gauss2d": (1000, 200, False),
    "gauss64d": (1000, 30, False),
    "letter": (1000, 20, False),
    "covtype": (1000, 40, False),
    "deepdpm_umap10_mnist": (1000, 30, True),
    "interchanging_rbf_artificial": (1000, 60, False),
    "elec2": (1000, 45, False),
    "powersupply": (1000, 29, False),
    "outdoor": (200, 20, False),
    "imagenet100_features": (1000, 15, False),
}


HEADER = (
    "| stream | ARI | of the oracle's | least | least ARI | NMI | full NMI / NMI "
    "| K found / true | groups' ARI | full NMI / NMI | groups | ms update + predict | s |\n|"
    + " --- |"
    * 13
)


def real_stream(path: Path, size: int, n: int, shuffle: bool) -> list:
    with np.load(path) as data:
        X, y = data["X"].astype(float), data["y"]
    if path.stem == "imagenet100_features":
        X = X[:, :64]
    if shuffle:
        order = np.random.default_rng(0).permutation(len(X))
        X, y = X[order], y[order]
    starts = range(0, min(len(X), n * size), size)
    return [(X[a : a + size], y[a : a + size]) for a in starts]


class Groups:
    """Hands batches on, and takes note of the groups that a model predicts for each."""

    def __init__(self, model: ScStream) -> None:
        self.model = model
        self.tables: list[Contingency] = []

    def watched(self, batches: Iterable) -> Iterable:
        """Yield the batches; the groups are predicted before the model learns them."""
        for batch in batches:
            if self.model.n_batches_:
                X, y = (batch[0], batch[1]) if isinstance(batch, tuple) else (batch.X, batch.y)
                self.tables.append(Contingency.from_labels(y, self.model.predict_group(X)))
            yield batch

    def scores(self) -> tuple[float, float, float]:
        """Return mean ARI, NMI of the whole stream over the mean NMI, and the number of groups."""
        nmi = float(np.mean([table.nmi for table in self.tables]))
        number = float(np.mean([table.n_pred for table in self.tables]))
        ari = float(np.mean([table.ari for table in self.tables]))
        whole = sum(self.tables[1:], start=self.tables[0]).nmi
        return ari, whole / nmi if nmi > 0 else np.nan, number


def run(
    name: str,
    make: Callable[[int], Iterable],
    seeds: range,
    params: dict,
    title: str | None = None,
) -> None:
    rows = []
    began = time.perf_counter()
    bar = Bar(name, len(seeds), shown=True)
    for seed in seeds:
        options = {"family": FAMILY.get(name, "gaussian"), **OPTIONS.get(name, {}), **params}
        model = ScStream(random_state=seed, **options)
        groups = Groups(model)
        result = prequential(model, groups.watched(make(seed)))
        mean = result.mean()
        rows.append(
            (
                mean["ari"],
                mean.get("oracle_ari", np.nan),
                mean["nmi"],
                result.full_nmi,
                mean["n_clusters"],
                mean["n_true"],
                1e3 * np.median(result.seconds_update),
                1e3 * np.median(result.seconds_predict),
                *groups.scores(),
            )
        )
        bar.show(len(rows), f"seed {seed}, ARI {mean['ari']:.3f}")
    bar.close()
    r = np.array(rows)
    m = r.mean(axis=0)
    print(
        f"| {title or name} | {m[0]:.3f} | {m[0] / m[1]:.3f} | {(r[:, 0] / r[:, 1]).min():.3f} "
        f"| {r[:, 0].min():.3f} | {m[2]:.3f} | {m[3] / m[2]:.3f} | {m[4]:.1f} / {m[5]:.1f} "
        f"| {m[8]:.3f} | {m[9]:.3f} | {m[10]:.1f} "
        f"| {m[6]:.1f} + {m[7]:.1f} | {time.perf_counter() - began:.0f} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10, help="how many seeds")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--only", nargs="+", help="names of streams")
    parser.add_argument("--data", default=os.environ.get("SCSTREAM_DATA"), help="folder of files")
    parser.add_argument("--real-seeds", type=int, default=3, help="seeds on the files")
    parser.add_argument("--half-life", type=float, help="in place of the default")
    parser.add_argument("--family", help="in place of the one that suits a stream")
    parser.add_argument("--outlier-weight", help="in place of the default; a number or auto")
    args = parser.parse_args()
    weight = args.outlier_weight
    weight = weight if weight in (None, "auto") else float(weight)
    given = {"half_life": args.half_life, "family": args.family, "outlier_weight": weight}
    params = {name: value for name, value in given.items() if value is not None}
    print(HEADER)
    for name, make in SYNTHETIC.items():
        if not args.only or name in args.only:
            run(name, make, range(args.first, args.first + args.seeds), params)
    for name, (size, n, shuffle) in REAL.items():
        found = sorted(Path(args.data).rglob(f"{name}.npz")) if args.data else []
        if found and (not args.only or name in args.only):
            batches = real_stream(found[0], size, n, shuffle)
            run(name, lambda _, b=batches: b, range(args.real_seeds), params)


if __name__ == "__main__":
    main()
