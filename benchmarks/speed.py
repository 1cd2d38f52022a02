"""Speed: ratios to Mini-Batch K-Means, to the bare matrix product, to what others measured.

Run ``python benchmarks/speed.py`` (or ``make bench-speed``) on a quiet machine. Contestants take
turns in one process, and what is reported are medians and their ratios; no absolute time is
judged. ``--only small high`` runs some of the sections, ``--docs`` writes their tables into
``docs/performance.md``, ``--json FILE`` every figure into a file. A frame of a video and 20
newsgroups are taken from the folder that ``--data`` or the variable SCSTREAM_DATA names, the
figures of another implementation from ``--anchors FILE.json`` (default: ``anchors.json`` in that
folder or beside it). A section that fails says so, and the others go on.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from scipy import sparse
from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from scstream import Gaussian, Multinomial, ScStream, learner
from scstream._blas import single_threaded
from scstream.datasets import gaussian_stream, multinomial_stream
from scstream.engines import CpuEngine
from scstream.engines.cpu import block_rows
from scstream.state import State
from scstream.sweep import Context, deterministic_sweep, restricted_sweep
from scstream.window import Forgetting

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "performance.md"
OURS, KMEANS = "ScStream", "MiniBatchKMeans"


@dataclass(frozen=True)
class Options:
    """What is run, and how large. The sizes are those of the page unless ``--quick``."""

    repeat: int | None = None  # turns of each measurement; every section has its own number
    data: Path | None = None
    anchors: Path | None = None
    points: int = 10_000_000  # of the long stream
    quick: bool = False  # small sizes, to see that everything runs

    def turns(self, usual: int) -> int:
        return self.repeat if self.repeat is not None else 2 if self.quick else usual

    def size(self, usual: int, quick: int) -> int:
        return quick if self.quick else usual


@dataclass(frozen=True)
class Table:
    """Rows to be printed, and a sentence below them."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    def __str__(self) -> str:
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return f"{text}\n\n{self.note}" if self.note else text


@dataclass(frozen=True)
class Result:
    """What a section found: its tables, and all figures behind them."""

    tables: list[Table]
    figures: dict[str, Any] = field(default_factory=dict)


# -- how time is taken -------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """Something to be timed, given the number of the turn; libraries may be held to threads."""

    run: Callable[[int], object]
    threads: int | None = None

    def limits(self) -> AbstractContextManager[object]:
        return nullcontext() if self.threads is None else threadpool_limits(self.threads)


def alternate(jobs: Mapping[str, Job], turns: int) -> dict[str, float]:
    """Return the median seconds of each job.

    They take turns, each turn in another order, after two turns that do not count.
    """
    names, seconds = list(jobs), {name: [] for name in jobs}
    for turn in range(turns + 2):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            with jobs[name].limits():
                begin = time.perf_counter()
                jobs[name].run(turn)
                took = time.perf_counter() - begin
            if turn >= 2:
                seconds[name].append(took)
    return {name: float(np.median(values)) for name, values in seconds.items()}


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def ms(seconds: float) -> str:
    return f"{digits(1e3 * seconds)} ms"


def digits(value: float) -> str:
    """Write a quantity with three digits, without an exponent."""
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.3g}"


def holds(reached: float, asked: float, *, at_least: bool) -> str:
    return "yes" if (reached >= asked if at_least else reached <= asked) else "no"


def cycled(items: Sequence[Any]) -> Callable[[int], Any]:
    return lambda turn: items[turn % len(items)]


def started(stream: Any, family: Any = "gaussian", **options: Any) -> ScStream:
    """Return a model that learned a first batch in its true clusters, so that it has as many."""
    model = ScStream(
        family, random_state=0, max_sweeps=3, splits=False, merges=False, half_life=None, **options
    )
    first = stream[0]
    model.partial_fit(first.X, labels=first.y)
    return model.set_params(splits=True, merges=True)


# -- Mini-Batch K-Means, at its fastest ----------------------------------------------------------

# A process that never loads scstream. Its times are the yardstick if they are the shorter ones.
_ALONE = """
import sys, time
import numpy as np
from sklearn.cluster import MiniBatchKMeans
batches, k = np.load(sys.argv[1]), int(sys.argv[2])
model, seconds = MiniBatchKMeans(k, random_state=0).partial_fit(batches[0]), []
for X in batches[1:]:
    begin = time.perf_counter()
    model.predict(X)
    model.partial_fit(X)
    seconds.append(time.perf_counter() - begin)
print(np.median(seconds[2:]))
"""


def kmeans_alone(batches: Sequence[np.ndarray], k: int, threads: int | None) -> float:
    """Return the median seconds of predict and partial_fit in a process of its own."""
    environment = dict(os.environ)
    if threads is not None:
        environment["OMP_NUM_THREADS"] = str(threads)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "batches.npy"
        np.save(file, np.stack(batches))
        command = [sys.executable, "-c", _ALONE, str(file), str(k)]
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, env=environment, cwd=folder
        )
    return float(done.stdout)


def learn_and_predict(
    model: Any, batches: Sequence[Any], parts: list[tuple[float, float]] | None = None
) -> Callable[[int], None]:
    """Return the job of one batch after the other; ``parts`` gets the seconds of either step."""

    def run(turn: int) -> None:
        X = batches[turn % len(batches)]
        begin = time.perf_counter()
        model.predict(X)
        middle = time.perf_counter()
        model.partial_fit(X)
        if parts is not None:
            parts.append((middle - begin, time.perf_counter() - middle))

    return run


# -- the sections --------------------------------------------------------------------------------


def small(options: Options) -> Result:
    """Time small batches against Mini-Batch K-Means told the number of clusters."""
    turns = options.turns(300)
    batches = [batch.X for batch in gaussian_stream(turns + 3, random_state=0)]
    first, rest = batches[0], batches[1:]
    ours = ScStream(random_state=0).partial_fit(first)
    free = MiniBatchKMeans(20, random_state=0).partial_fit(first)
    with threadpool_limits(1):  # it keeps the number of threads of its first batch
        single = MiniBatchKMeans(20, random_state=0).partial_fit(first)
    each: list[tuple[float, float]] = []
    took = alternate(
        {
            OURS: Job(learn_and_predict(ours, rest, each)),
            "here": Job(learn_and_predict(free, rest)),
            "here, 1 thread": Job(learn_and_predict(single, rest), threads=1),
        },
        turns,
    )
    # caches are cold after a turn of another's: like is compared with like
    by_itself = ScStream(random_state=0).partial_fit(first)
    ours_alone = alternate({OURS: Job(learn_and_predict(by_itself, rest))}, turns)[OURS]
    alone = {"alone": kmeans_alone(batches, 20, None),
             "alone, 1 thread": kmeans_alone(batches, 20, 1)}  # fmt: skip
    here = {name: seconds for name, seconds in took.items() if name != OURS}
    parts = dict(zip(("predict", "partial_fit"), np.median(each[2:], axis=0), strict=True))
    in_turns = min(here.values()) / took[OURS]
    apart = min(alone.values()) / ours_alone
    rows = [[f"**{OURS}**", f"in turns, {ours.n_clusters_} clusters found", ms(took[OURS])]]
    rows += [["", f"of which {name}", ms(seconds)] for name, seconds in parts.items()]
    rows += [[f"**{OURS}**", "alone", ms(ours_alone)]]
    rows += [[KMEANS, name.replace("here", "in turns"), ms(seconds)]
             for name, seconds in {**here, **alone}.items()]  # fmt: skip
    note = (
        f"Times as fast as the fastest {KMEANS}: **{digits(in_turns)}** in turns, "
        f"**{digits(apart)}** alone (asked: 1, hoped for: 2; "
        f"{holds(min(in_turns, apart), 1.0, at_least=True)})."
    )
    figures = {"seconds": {**took, **alone, "ours alone": ours_alone}, "parts": parts,
               "in_turns": in_turns, "alone": apart}  # fmt: skip
    return Result([Table(("method", "how", "a batch"), rows, note)], figures)


def river(options: Options) -> Result:
    """Time small batches against river's clusterers, which take a row at a time."""
    from river import cluster

    turns = options.turns(5)
    size = options.size(1000, 50)
    batches = [batch.X for batch in gaussian_stream(turns + 3, size, random_state=0)]
    rows = [[dict(enumerate(row)) for row in X.tolist()] for X in batches]
    ours = ScStream(random_state=0).partial_fit(batches[0])

    def one_by_one(model: Any, turn: int) -> None:
        for row in rows[turn + 1]:
            model.learn_one(row)
            model.predict_one(row)

    def by_batch(model: Any, turn: int) -> None:
        for row in rows[turn + 1]:
            model.predict_one(row)
        for row in rows[turn + 1]:
            model.learn_one(row)

    asked = {"DBSTREAM": 60.0, "CluStream": 250.0}
    jobs = {OURS: Job(learn_and_predict(ours, batches[1:]))}
    for name in asked:
        for how, step in (("row by row", one_by_one), ("batch by batch", by_batch)):
            model = getattr(cluster, name)()
            for row in rows[0]:
                model.learn_one(row)
            jobs[f"{name}, {how}"] = Job(partial(step, model))
    took = alternate(jobs, turns)
    lines = [[f"**{OURS}**", ms(took[OURS]), "1", "", ""]]
    for name in list(jobs)[1:]:
        factor, goal = took[name] / took[OURS], asked[name.split(",")[0]]
        judged = name.endswith("row by row")
        verdict = [f"{goal:.0f}", holds(factor, goal, at_least=True)] if judged else ["", ""]
        lines.append([f"river's {name}", ms(took[name]), digits(factor), *verdict])
    table = Table(("method", "a batch", f"times {OURS}'s", "asked", "holds"), lines)
    return Result([table], {"seconds": took})


def high(options: Options) -> Result:
    """Time sweeps in many dimensions against the work that they cannot avoid."""
    shapes = ((8, 5), (16, 4)) if options.quick else ((64, 100), (128, 500))
    found = [_high(options, d, k) for d, k in shapes]
    rows = [
        [f"{f['d']}-D, {f['k']} clusters ({f['found']} at the end)", ms(f["update"]),
         ms(f["sweep"]), ms(f["product"]), ms(f["cholesky"]), digits(f["ratio"]), "2",
         holds(f["ratio"], 2.0, at_least=False)]
        for f in found
    ]  # fmt: skip
    columns = ("1,000 points", "update", "half of it: a sweep", "product", "Cholesky factors",
               "sweep / (product + factors)", "asked", "holds")  # fmt: skip
    return Result([Table(columns, rows)], {"shapes": found})


def _high(options: Options, d: int, k: int) -> dict[str, float]:
    n, turns = options.size(1000, 200), options.turns(15 if d < 100 else 5)
    stream = gaussian_stream(turns + 3, n, k, d, box=20.0, drift="none", random_state=0)
    model = started(stream)
    T = model.family_.statistics(stream[0].X)
    rng = np.random.default_rng(0)
    eta = rng.standard_normal((k, T.shape[1]))
    stack = np.broadcast_to(np.eye(d) + 0.1, (3 * k, d, d)).copy()
    rest = [stream[b].X for b in range(1, turns + 3)]
    jobs = {"update": Job(lambda turn: model.partial_fit(rest[turn]))}
    for threads in (None, 1):  # a machine that is not quiet is slower on several
        jobs[f"product {threads}"] = Job(partial(_product, T, eta), threads)
        jobs[f"cholesky {threads}"] = Job(lambda turn: np.linalg.cholesky(stack), threads)
    took = alternate(jobs, turns)
    product = min(took["product None"], took["product 1"])
    cholesky = min(took["cholesky None"], took["cholesky 1"])
    sweep = took["update"] / 2.0
    return {
        "d": d, "k": k, "found": model.n_clusters_, "update": took["update"], "sweep": sweep,
        "product": product, "cholesky": cholesky, "ratio": sweep / (product + cholesky),
    }  # fmt: skip


def large(options: Options) -> Result:
    """Time sweeps of a large batch against the bare product, on 1 and 2 threads."""
    n = options.size(409_600, 20_000)
    stream = gaussian_stream(1, n, 80, 5, box=8.0, drift="none", random_state=0)
    problems = {"Gaussian mixture": (stream[0].X, stream[0].y)}
    frame = _frame(options, n)
    if frame is not None:
        problems["frame of kite-surf"] = frame
    rows, figures = [], {}
    for name, (X, labels) in problems.items():
        took = _large(options, X, labels)
        figures[name] = took
        rows += _large_rows(name, took)
    columns = ("data", "sweep", "threads", "sweep takes", "bare product", "sweep / product",
               "asked", "holds")  # fmt: skip
    return Result([Table(columns, rows), _threads_table(figures)], {"seconds": figures})


def _large(options: Options, X: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Return the median seconds of sampled and deterministic sweeps and of the product."""
    family = Gaussian().prepare(X[:: max(1, len(X) // 10_000)])
    T, k = family.statistics(X), int(labels.max()) + 1
    clusters = np.stack([T[labels == i].sum(axis=0) for i in range(k)])
    state = State.start(Forgetting(None), clusters, 0.0, 0)
    eta = np.random.default_rng(0).standard_normal((k, T.shape[1]))
    jobs = {}
    for threads in (1, 2):
        engine = CpuEngine(threads)
        engine.load(family, X, np.ones(len(X)))
        ctx = Context(family, engine, np.random.default_rng(1), 1.0, 0, 0)

        def sweep(kind: Callable[..., State], turn: int, ctx: Context = ctx) -> None:
            with single_threaded():
                kind(ctx, state)

        jobs[f"sampled {threads}"] = Job(partial(sweep, restricted_sweep))
        jobs[f"deterministic {threads}"] = Job(partial(sweep, deterministic_sweep))
        jobs[f"product {threads}"] = Job(partial(_product, T, eta), threads)
    return alternate(jobs, options.turns(9))


def _large_rows(name: str, took: Mapping[str, float]) -> Iterator[list[str]]:
    for kind, asked in (("sampled", 2.0), ("deterministic", 2.5)):
        for threads in (1, 2):
            # on a machine that is not quiet two threads are slower than one: no excuse for us
            product = min(took[f"product {t}"] for t in range(1, threads + 1))
            sweep = took[f"{kind} {threads}"]
            verdict = holds(sweep / product, asked, at_least=False)
            yield [name, kind, str(threads), ms(sweep), ms(product), digits(sweep / product),
                   f"{asked:g}", verdict]  # fmt: skip


def _threads_table(figures: Mapping[str, Mapping[str, float]]) -> Table:
    rows = []
    for name, took in figures.items():
        for kind in ("sampled", "deterministic", "product"):
            gain = took[f"{kind} 1"] / took[f"{kind} 2"]
            verdict = ["", ""] if kind == "product" else ["1.7", holds(gain, 1.7, at_least=True)]
            rows.append([name, kind, digits(gain), *verdict])
    return Table(("data", "what", "2 threads: times as fast as 1", "asked", "holds"), rows)


def _frame(options: Options, n: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the pixels of a frame, colours and places in [0, 1], in 80 clusters by K-means."""
    files = [] if options.data is None else sorted(
        (options.data / "davis" / "kite-surf" / "JPEGImages").glob("*.jpg")
    )  # fmt: skip
    if not files:
        say("  no frame of kite-surf in the folder of data: left out")
        return None
    from PIL import Image

    with Image.open(files[0]) as picture:
        colours = np.asarray(picture.convert("RGB")) / 255.0
    height, width, _ = colours.shape
    down, right = np.mgrid[0:height, 0:width]
    place = np.stack([right / width, down / height], axis=-1)
    X = np.concatenate([colours, place], axis=-1).reshape(-1, 5)[:n]
    labels = MiniBatchKMeans(80, random_state=0, n_init=1).fit(X).labels_
    return X, np.unique(labels, return_inverse=True)[1]


def counts(options: Options) -> Result:
    """Time updates by rows of counts against their non-zeros."""
    n, turns = options.size(1000, 200), options.turns(15)
    k = options.size(100, 5)
    rows = []
    dense = multinomial_stream(turns + 3, n, k, 100, drift="none", random_state=0)
    nonzeros = int(np.count_nonzero(dense[1].X))
    model, rest = started(dense, "multinomial"), [dense[b].X for b in range(1, turns + 3)]
    took = alternate({"dense": Job(lambda turn: model.partial_fit(rest[turn]))}, turns)["dense"]
    rows.append(_count_row(f"{n:,} x 100, dense", nonzeros, model, took))
    width, densities = options.size(2000, 200), (10, 20, 40, 80, 160, 320)
    models, jobs, sizes = {}, {}, {}
    for trials in densities[:3] if options.quick else densities:
        stream = multinomial_stream(
            4, n, k, width, n_trials=trials, concentration=0.2, drift="none", sparse=True,
            random_state=0,
        )  # fmt: skip
        name = f"{n:,} x {width:,} CSR, rows of {trials}"
        sizes[name] = int(stream[1].X.nnz)
        models[name] = started(stream, "multinomial")
        jobs[name] = Job(_updates(models[name], [b.X for b in stream[1:]]))
    seconds = alternate(jobs, turns)
    rows += [_count_row(name, sizes[name], models[name], seconds[name]) for name in jobs]
    news = _newsgroups(options)
    if news is not None:
        took = alternate({"news": Job(_updates(*news))}, turns)["news"]
        rows.append(_count_row("20 newsgroups", news[1][0].nnz, news[0], took))
    whole = exponent(list(sizes.values()), list(seconds.values()))
    last = exponent(list(sizes.values())[-2:], list(seconds.values())[-2:])
    note = (
        f"The CSR rows have one shape and a growing number of non-zeros: fitted exponent "
        f"{whole:.2f}, {last:.2f} between the last two (asked: at most 1; "
        f"{holds(max(whole, last), 1.05, at_least=False)}, with 0.05 for noise)."
    )
    columns = ("counts", "non-zeros", "clusters", "update", "ns per non-zero and cluster")
    figures = {"nonzeros": sizes, "seconds": seconds, "exponent": whole, "last": last}
    return Result([Table(columns, rows, note)], figures)


def _count_row(name: str, nonzeros: int, model: ScStream, seconds: float) -> list[str]:
    k = model.n_clusters_
    return [name, f"{nonzeros:,}", str(k), ms(seconds), digits(1e9 * seconds / (nonzeros * k))]


def _updates(model: ScStream, batches: Sequence[Any]) -> Callable[[int], None]:
    batch = cycled(batches)

    def run(turn: int) -> None:
        model.partial_fit(batch(turn))

    return run


def _newsgroups(options: Options) -> tuple[ScStream, list[Any]] | None:
    file = None if options.data is None else options.data / "20news.npz"
    if file is None or not file.exists():
        say("  20news.npz is not in the folder of data: left out")
        return None
    with np.load(file) as held:
        parts = (held["data"].astype(np.float64), held["indices"], held["indptr"])
        X = sparse.csr_array(parts, shape=tuple(held["shape"]))
    batches = [X[start : start + 1000] for start in range(0, 6000, 1000)]
    sweeps = options.size(100, 1)
    model = ScStream("multinomial", random_state=0, max_sweeps=sweeps).partial_fit(batches[0])
    return model, batches[1:]


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Return the slope on log-log axes."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def growth(options: Options) -> Result:
    """Fit the growth of an update's time with n, D, K and T; measure its memory."""
    quick = options.quick
    axes: dict[str, tuple[Sequence[int], Callable[[int], tuple[int, int, int, int]]]] = {
        "n": ((500, 1000) if quick else (1000, 4000, 16_000, 64_000), lambda n: (n, 5, 20, 1)),
        "D": ((2, 4) if quick else (2, 4, 8, 16, 32, 64), lambda d: (1000, d, 20, 1)),
        "K": ((5, 10) if quick else (20, 40, 80, 160, 320), lambda k: (8000, 5, k, 1)),
        "T": ((1, 2) if quick else (1, 2, 4, 8, 16), lambda t: (1000, 5, 20, t)),
    }
    rows, figures = [], {}
    for axis, (sizes, shape) in axes.items():
        say(f"  against {axis}")
        seconds, products = _grown(options, [shape(size) for size in sizes])
        figures[axis] = {"sizes": list(sizes), "seconds": seconds, "products": products}
        rows.append(_growth_row(axis, sizes, seconds))
        if axis == "K":
            outside = [s - p for s, p in zip(seconds, products, strict=True)]
            if min(outside) > 0.0:
                rows.append(_growth_row("K, without the products", sizes, outside))
            else:
                say("  the products took longer than the updates: the machine is too busy")
    columns = ("against", "sizes", "update", "exponent", "between the last two", "asked", "holds")
    memory = _memory(options)
    figures["memory"] = memory
    return Result([Table(columns, rows), _memory_table(memory)], figures)


def _grown(
    options: Options, shapes: Sequence[tuple[int, int, int, int]]
) -> tuple[list[float], list[float]]:
    """Return the seconds of updates of so many rows, columns, clusters and sweeps.

    Beside them, the seconds of the products of those sweeps, and of the deterministic one.
    """
    jobs, models = {}, []
    for i, (n, d, k, t) in enumerate(shapes):
        stream = gaussian_stream(4, n, k, d, box=40.0, drift="none", random_state=0)
        models.append(started(stream, sweeps=t))
        T = models[-1].family_.statistics(stream[0].X)
        eta = np.ones((k, T.shape[1]))
        jobs[f"update {i}"] = Job(_updates(models[-1], [b.X for b in stream[1:]]))
        for threads in (None, 1):
            run = partial(_product, T, eta)
            jobs[f"product {i} {threads}"] = Job(run, threads)
    took = alternate(jobs, options.turns(9))
    for (_, _, k, _), model in zip(shapes, models, strict=True):
        if not 0.9 * k <= model.n_clusters_ <= 1.1 * k:
            say(f"  {model.n_clusters_} clusters were found where {k} were meant")
    products = [
        (t + 1) * min(took[f"product {i} None"], took[f"product {i} 1"])
        for i, (_, _, _, t) in enumerate(shapes)
    ]
    return [took[f"update {i}"] for i in range(len(shapes))], products


def _product(T: np.ndarray, eta: np.ndarray, turn: int) -> None:
    T @ eta.T


def _growth_row(axis: str, sizes: Sequence[int], seconds: Sequence[float]) -> list[str]:
    whole, last = exponent(sizes, seconds), exponent(sizes[-2:], seconds[-2:])
    asked = {"n": 1.0, "T": 1.0}.get(axis)
    if axis == "K, without the products":
        asked = exponent(sizes[-2:], [k * np.log(k) for k in sizes[-2:]])
    verdict = ["", ""]
    if asked is not None:  # overheads flatter the small sizes: the last two are judged
        verdict = [f"{asked:.2f}", holds(last, asked + 0.1, at_least=False)]
    return [axis, ", ".join(f"{size:,}" for size in sizes), ", ".join(map(ms, seconds)),
            f"{whole:.2f}", f"{last:.2f}", *verdict]  # fmt: skip


def _memory(options: Options) -> list[dict[str, float]]:
    """Return what an update holds and what its sweeps and moves add, for ever more rows."""
    d, k = 5, 20
    sizes = (1000, 2000) if options.quick else (20_000, 80_000, 320_000, 1_280_000)
    shape = {"n_clusters": k, "n_features": d, "drift": "none", "random_state": 0}
    out = []
    for n in sizes:
        stream = gaussian_stream(2, n, **shape)
        X = stream[1].X
        model = started(stream, n_jobs=1).partial_fit(X)  # so that all is compiled
        held, added = traced_update(model, X)
        chunk = 8 * k * block_rows(len(model.family_.prior), k)
        out.append({"n": n, "batch": X.nbytes, "held": held, "added": added, "chunk_x_k": chunk})
    return out


def traced_update(model: ScStream, X: Any) -> tuple[int, int]:
    """Return the bytes that an update holds once the batch is loaded, and those added at most.

    The first are labels, doubts, weights and, of a batch that is not too large, the statistics
    of its rows; the second are what sweeps and moves need on top.
    """
    seen = []

    def traced(*arguments: Any) -> Any:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        out = later_batch(*arguments)
        seen.append((before, tracemalloc.get_traced_memory()[1] - before))
        return out

    later_batch = learner.later_batch
    tracemalloc.start()
    try:
        with mock.patch.object(learner, "later_batch", traced):
            model.partial_fit(X)
    finally:
        tracemalloc.stop()
    return seen[0]


def _memory_table(memory: Sequence[Mapping[str, float]]) -> Table:
    rows = [
        [f"{m['n']:,}", f"{m['batch'] / 2**20:.1f}", digits(m["held"] / m["n"]),
         f"{m['added'] / 2**20:.2f}", digits(m["added"] / m["chunk_x_k"]), "3",
         holds(m["added"] / m["chunk_x_k"], 3.0, at_least=False)]
        for m in memory
    ]  # fmt: skip
    columns = ("rows", "the batch, MiB", "held beside it, bytes a row", "sweeps and moves, MiB",
               "times chunk x K", "asked", "holds")  # fmt: skip
    return Table(columns, rows)


def first(options: Options) -> Result:
    """Time the first batch against a fit of Mini-Batch K-Means."""
    turns = options.turns(9)
    batches = [
        gaussian_stream(1, options.size(1000, 200), random_state=seed)[0].X
        for seed in range(turns + 2)
    ]

    def ours(turn: int) -> None:
        ScStream(random_state=0).partial_fit(batches[turn])

    def kmeans(turn: int) -> None:
        MiniBatchKMeans(20, random_state=0).fit(batches[turn])

    took = alternate(
        {OURS: Job(ours), KMEANS: Job(kmeans), f"{KMEANS}, 1 thread": Job(kmeans, 1)}, turns
    )
    fastest = min(took[KMEANS], took[f"{KMEANS}, 1 thread"])
    rows = [[name, f"{seconds:.3g} s", digits(seconds / fastest)] for name, seconds in took.items()]
    note = (
        f"Asked: at most 0.5 s on a machine of 2 Neoverse-N1 cores; it is {took[OURS]:.2g} s here, "
        f"{digits(took[OURS] / fastest)} fits of {KMEANS}."
    )
    table = Table(("first batch", "seconds", f"times a fit of {KMEANS}"), rows, note)
    return Result([table], {"seconds": took})


def anchors(options: Options) -> Result:
    """Time the files that the authors' Julia package was measured on."""
    path = options.anchors
    if path is None:
        raise FileNotFoundError("no anchors.json: name it with --anchors, or its folder by --data")
    held = json.loads(path.read_text())
    rows, figures = [], {}
    for name, anchor in held.items():
        if not isinstance(anchor, dict) or "file" not in anchor:
            continue
        say(f"  {name}")
        with np.load(path.parent / anchor["file"]) as data:
            X, y = data["X"], data["y"]
        big = "fed again" in str(anchor["batches"])
        run = _big_anchor if big else _anchor
        predict, update, ari, k = run(options, _anchored(anchor["settings"], X.shape[1]), X, y)
        theirs = anchor["predict_s"] + _least(anchor["update_s"])
        factor, asked = theirs / (predict + update), anchor["factor_to_reach"]
        figures[name] = {"predict": predict, "update": update, "ari": ari, "factor": factor}
        rows.append(
            [name, ms(predict), ms(update), ms(anchor["predict_s"]),
             ms(_least(anchor["update_s"])), digits(factor), f"{asked:g}",
             holds(factor, asked, at_least=True), f"{ari:.3f}, {k}", _their_ari(anchor["quality"])]
        )  # fmt: skip
    columns = ("file", "predict", "update", "Julia: predict", "Julia: update", "times as fast",
               "asked", "holds", "ARI and K", "Julia: ARI")  # fmt: skip
    note = (
        "Where the Julia package slows down with its history, its figure for the early batches is "
        "taken, the faster one. ARI is the mean over the predictions of all timed batches."
    )
    return Result([Table(columns, rows, note)], figures)


def _anchored(settings: Mapping[str, float], d: int) -> ScStream:
    """Return the model with the settings of an anchor; lambda is one over the half-life."""
    family: Gaussian | Multinomial
    if "dirichlet" in settings:
        family = Multinomial(concentration=settings["dirichlet"])
    else:
        family = Gaussian(
            mean=np.full(d, float(settings["m"])),
            mean_strength=settings["kappa"],
            cov=settings["Psi"],
            cov_strength=settings["nu"],
        )
    half_life = 1.0 / settings["lambda"]
    return ScStream(family, alpha=settings["alpha"], half_life=half_life, random_state=0)


def _anchor(
    options: Options, model: ScStream, X: np.ndarray, y: np.ndarray
) -> tuple[float, float, float, int]:
    """Return median seconds of predict and update, mean ARI, and the clusters at the end."""
    starts = range(1000, len(X), 1000)[: options.turns(len(X))]
    model.partial_fit(X[:1000])
    times, scores = [], []
    for start in starts:
        batch = X[start : start + 1000]
        begin = time.perf_counter()
        labels = model.predict(batch)
        middle = time.perf_counter()
        model.partial_fit(batch)
        times.append((middle - begin, time.perf_counter() - middle))
        scores.append(adjusted_rand_score(y[start : start + 1000], labels))
    predict, update = np.median(times, axis=0)
    return float(predict), float(update), float(np.mean(scores)), model.n_clusters_


def _big_anchor(
    options: Options, model: ScStream, X: np.ndarray, y: np.ndarray
) -> tuple[float, float, float, int]:
    """Return the same for one large batch that is fed again and again."""
    if options.quick:
        X, y = X[:40_000], y[:40_000]
    model.partial_fit(X[:20_480]).partial_fit(X)
    took = alternate(
        {
            "predict": Job(lambda turn: model.predict(X)),
            "update": Job(lambda turn: model.partial_fit(X)),
        },
        options.turns(7),
    )
    ari = float(adjusted_rand_score(y, model.predict(X)))
    return took["predict"], took["update"], ari, model.n_clusters_


def _least(seconds: float | Mapping[str, float]) -> float:
    return min(seconds.values()) if isinstance(seconds, Mapping) else seconds


def _their_ari(quality: Mapping[str, Any]) -> str:
    """Return the ARI of the first setting named, which is the one that was timed."""
    told = quality.get("ari")
    if told is None:
        told = next(iter(quality.values()))["ari"]
    return ", ".join(f"{value:.3f}" for value in (told if isinstance(told, list) else [told]))


def stream(options: Options) -> Result:
    """Learn one long stream from an array: points a second, and memory."""
    n_batches = max(10, options.points // 1000) if not options.quick else 20
    X = np.empty((1000 * n_batches, 2))
    for b, batch in enumerate(gaussian_stream(n_batches, random_state=0)):
        X[1000 * b : 1000 * (b + 1)] = batch.X
    model, early = ScStream(random_state=0).partial_fit(X[:1000]), 0.0
    begin = time.perf_counter()
    for b in range(1, n_batches):
        model.partial_fit(X[1000 * b : 1000 * (b + 1)])
        if b == n_batches // 10:
            early = resident()
        if b % 1000 == 0:
            say(f"  {b:,} of {n_batches:,} batches")
    seconds, late = time.perf_counter() - begin, resident()
    rate = 1000 * (n_batches - 1) / seconds
    row = [f"{len(X):,}", f"{rate:,.0f}", f"{early:.0f}", f"{late:.0f}", str(model.n_clusters_)]
    columns = ("points", "points a second", "MiB after a tenth", "MiB at the end", "clusters")
    note = "The array itself is part of the memory, from the beginning."
    figures = {"points": len(X), "rate": rate, "early_mib": early, "late_mib": late}
    return Result([Table(columns, [row], note)], figures)


def resident() -> float:
    """Return the resident memory in MiB; where the system does not tell, its peak so far."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(s for s in status.read_text().splitlines() if s.startswith("VmRSS"))
        return int(line.split()[1]) / 2**10
    import resource

    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


SECTIONS: dict[str, tuple[str, Callable[[Options], Result]]] = {
    "small": ("1,000 points, 2-D, 20 clusters, against Mini-Batch K-Means", small),
    "river": ("the same stream against river's clusterers", river),
    "high": ("1,000 points in many dimensions", high),
    "large": ("409,600 points, 5-D, 80 clusters", large),
    "counts": ("rows of counts", counts),
    "growth": ("time against n, D, K and T, and memory against n", growth),
    "first": ("the first batch, to convergence", first),
    "anchors": ("the files that the authors' Julia package was measured on", anchors),
    "stream": ("one long stream from an array", stream),
}


# -- the program ---------------------------------------------------------------------------------


def marks(section: str) -> tuple[str, str]:
    """Return the lines of the page between which the tables of a section are."""
    return f"<!-- {section} -->", f"<!-- end of {section} -->"


def written(page: str, section: str, text: str) -> str:
    """Return the page with the tables of a section replaced."""
    begin, end = marks(section)
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(begin) > page.index(end):
        raise ValueError(f"the page must hold the lines {begin!r} and {end!r} once each, in order")
    before, rest = page.split(begin)
    return f"{before}{begin}\n\n{text}\n\n{end}{rest.split(end)[1]}"


def circumstances() -> dict[str, Any]:
    """Return the machine and the versions."""
    sys.path.append(str(ROOT))  # this file may have been run as a script
    from benchmarks import machine

    return {**machine.circumstances(), "date": machine.now(), "load": os.getloadavg()}


def told(where: Mapping[str, Any]) -> str:
    """Return the circumstances in a line."""
    m, versions = where["machine"], where["versions"]
    names = ("python", "numpy", "scikit-learn", "numba", "river")
    with_versions = ", ".join(f"{name} {versions[name]}" for name in names if versions[name])
    return (
        f"{m['processor']}, {m['cores']} cores, {m['system']}; {with_versions}; revision "
        f"{where['revision']}; {where['date']}; load of the machine before: {where['load'][0]:.1f}."
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line says; 1 if a section failed."""
    args = _arguments(arguments)
    options = _options(args)
    where = circumstances()
    if where["load"][0] > 0.7:
        say(f"The machine is busy (load {where['load'][0]:.1f}): ratios will be unreliable.")
    results, failed = {}, []
    for name in args.only or SECTIONS:
        title, run = SECTIONS[name]
        say(f"{name}: {title}")
        try:
            results[name] = run(options)
        except Exception as error:
            failed.append(name)
            say("".join(traceback.format_exception(error)))
            print(f"\n## {name}\n\nfailed: {type(error).__name__}: {error}", flush=True)
            continue
        tables = "\n\n".join(map(str, results[name].tables))
        print(f"\n## {name}: {title}\n\n{tables}", flush=True)
        if args.docs:
            page = written(PAGE.read_text(), name, f"{tables}\n\n*{told(where)}*")
            PAGE.write_text(page)
    print(f"\n{told(where)}")
    if args.json is not None:
        held = {"where": where, "failed": failed,
                "sections": {name: asdict(result) for name, result in results.items()}}  # fmt: skip
        args.json.write_text(json.dumps(held, indent=1, default=float))
    if failed:
        say(f"Failed: {', '.join(failed)}.")
    return 1 if failed else 0


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=list(SECTIONS), metavar="SECTION",
                        help=f"some of {', '.join(SECTIONS)}")  # fmt: skip
    parser.add_argument("--data", type=Path, help="folder of files (default: SCSTREAM_DATA)")
    parser.add_argument("--anchors", type=Path, help="file of another implementation's figures")
    parser.add_argument("--repeat", type=int, help="turns of every measurement, medians of which")
    parser.add_argument("--points", type=int, default=Options.points, help="of the long stream")
    parser.add_argument("--quick", action="store_true", help="small sizes: does everything run?")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure there")
    parser.add_argument("--docs", action="store_true", help="write tables into the page")
    args = parser.parse_args(arguments)
    if args.repeat is not None and args.repeat < 1:
        parser.error(f"--repeat must be at least 1, not {args.repeat}")
    if args.quick and args.docs:
        parser.error("--quick measures nothing worth publishing: leave out --docs")
    return args


def _options(args: argparse.Namespace) -> Options:
    data = args.data
    if data is None and os.environ.get("SCSTREAM_DATA"):
        data = Path(os.environ["SCSTREAM_DATA"])
    options = Options(args.repeat, data, args.anchors, args.points, args.quick)
    if args.anchors is None and data is not None:
        places = (folder / "anchors.json" for folder in (data, data.parent))
        options = replace(options, anchors=next((p for p in places if p.exists()), None))
    return options


if __name__ == "__main__":
    sys.exit(main())
