"""Large batches, against the bare matrix product."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np
from sklearn.cluster import MiniBatchKMeans

from benchmarks.speed.jobs import product
from benchmarks.speed.tables import Result, Table, digits, holds, ms
from benchmarks.speed.timing import Job, Options, alternate, say
from scstream import Gaussian
from scstream.datasets import gaussian_stream
from scstream.engines import CpuEngine
from scstream.sampler.clusters import State
from scstream.sampler.context import Context
from scstream.sampler.sweep import deterministic_sweep, restricted_sweep
from scstream.sampler.window import Forgetting
from scstream.support.blas import single_threaded


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
        jobs[f"product {threads}"] = Job(partial(product, T, eta), threads)
    return alternate(jobs, options.turns(9))


def _large_rows(name: str, took: Mapping[str, float]) -> Iterator[list[str]]:
    for kind, asked in (("sampled", 2.0), ("deterministic", 2.5)):
        for threads in (1, 2):
            # on a machine that is not quiet two threads are slower than one: no excuse for us
            bare = min(took[f"product {t}"] for t in range(1, threads + 1))
            sweep = took[f"{kind} {threads}"]
            verdict = holds(sweep / bare, asked, at_least=False)
            yield [name, kind, str(threads), ms(sweep), ms(bare), digits(sweep / bare),
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
