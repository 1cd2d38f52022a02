"""``scstream compile``: compile the kernels beforehand."""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any

from scstream.cli.errors import UsageError
from scstream.cli.values import add_command
from scstream.support.progress import Bar, aside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scstream.model import ScStream


def add_parser(subparsers: Any) -> None:
    """Add the subcommand."""
    parser = add_command(
        subparsers,
        "compile",
        compile_kernels,
        "Compile the kernels that the usual families need, for small and large "
        "batches, for many columns and for tables of text, and keep them on disk. The first batch "
        "then does not wait "
        "for that: useful when an image of a container is built. The folder is that of "
        "NUMBA_CACHE_DIR, or else next to the package, or else in the user's cache.",
    )
    parser.add_argument(
        "--families",
        type=lambda text: text.split(","),
        metavar="A,B,...",
        help="only these families; default: " + ",".join(USUAL),
    )
    parser.add_argument("--quiet", action="store_true", help="print nothing")


USUAL = ("gaussian", "diagonal", "multinomial", "poisson", "bernoulli", "categorical", "gamma")


def compile_kernels(args: argparse.Namespace) -> int:
    """Learn and label small streams of each family, which compiles what they need."""
    from scstream.families import BY_NAME
    from scstream.kernels import ahead, small_batch

    families = args.families or USUAL
    for name in families:
        if name not in BY_NAME:
            raise UsageError(f"Unknown family {name!r}; choose from {', '.join(sorted(BY_NAME))}.")
    place = small_batch.sweep._cache.cache_path
    if place is None:
        raise UsageError(
            "No folder for the kernels is writable. Set NUMBA_CACHE_DIR to a writable folder."
        )
    start = perf_counter()
    with Bar("compiling", len(families)) as bar:
        for done, name in enumerate(families):
            begin = perf_counter()
            bar.show(done, name)
            for part, (model, batches) in enumerate(_streams(name)):
                _use(model, batches)
                bar.show(done + (part + 1) / (part + 2), name)
            if not args.quiet:
                with aside():
                    print(f"{name}: {perf_counter() - begin:.1f} s", flush=True)
    _use_text()
    ahead.finish()
    if not args.quiet:
        print(f"Compiled in {perf_counter() - start:.1f} s. The kernels are in {place}.")
    return 0


def _use(model: ScStream, batches: list[Any]) -> None:
    """Learn, label and describe batches, which compiles what they need."""
    for X in batches:
        model.partial_fit(X)
        model.predict(X)
    model.predict_proba(X)
    model.anomaly(X)
    model.groups()


def _use_text() -> None:
    """Read a table of text, choose a family and write labels, which compiles what that needs."""
    import numpy as np

    from scstream.families.auto import choose_family
    from scstream.model import ScStream
    from scstream.pipeline import run
    from scstream.sinks import open_sink
    from scstream.sources import open_source

    with TemporaryDirectory() as folder:
        table = Path(folder, "table.csv")
        rows = np.random.default_rng(0).normal(size=(300, 2))
        np.savetxt(table, rows, delimiter=",", header="a,b", comments="")
        with open_source(table) as source:
            labels = open_sink(Path(folder, "labels.csv"))
            run(source, ScStream(random_state=0), {"labels": labels})
    choose_family(np.exp(rows))


def _streams(name: str) -> Iterator[tuple[ScStream, list[Any]]]:
    """Yield models of a family, and batches that take them through the usual kernels."""
    import numpy as np

    from scstream.families import Multinomial
    from scstream.model import ScStream

    rng, small, large = np.random.default_rng(0), 1500, 20_000

    def rows(*sizes: int) -> list[Any]:
        return [_rows(name, n, rng) for n in sizes]

    yield ScStream(name, random_state=0), rows(small, small // 2, large, large, small)
    yield ScStream(name, random_state=0), rows(large, large)
    yield ScStream(name, random_state=0, outlier_weight=0.01), rows(small, small)
    yield ScStream(name, random_state=0, kernel=_window), rows(small, small)
    if name == "multinomial":
        words = [_words(300, rng) for _ in range(3)]
        yield ScStream(Multinomial(1.0), random_state=0, max_sweeps=3), words
    if name == "gaussian":
        single = [X.astype(np.float32) for X in rows(small, small)]
        yield ScStream(name, random_state=0), single
        for n, d, apart in ((small, 20, 8.0), (5_000, 40, 8.0), (small, 40, 1.0), (300, 400, 8.0)):
            centres = apart * rng.normal(size=(8, d))
            wide = [centres[rng.integers(8, size=n)] + rng.normal(size=(n, d)) for _ in range(2)]
            yield ScStream(name, random_state=0), wide


def _words(n: int, rng: Any) -> Any:
    """Return rows of many words of three groups: clusters that many numbers describe."""
    import numpy as np
    from scipy import sparse

    words = 5000 * rng.integers(3, size=(n, 1)) + (5000 * rng.random((n, 40)) ** 3).astype(int)
    rows = np.repeat(np.arange(n), words.shape[1])
    places = rows.astype(np.int32), words.ravel().astype(np.int32)
    return sparse.csr_array((np.ones(words.size), places), shape=(n, 15_000))


def _window(age: float) -> float:
    return 1.0 if age < 3.0 else 0.0


def _rows(name: str, n: int, rng: Any) -> Any:
    """Return rows of three groups that suit a family."""
    import numpy as np

    group = rng.integers(3, size=n)
    centre = 8.0 * np.eye(3)[group]
    if name in ("multinomial", "poisson", "negative-binomial"):
        return rng.poisson(1.0 + centre).astype(float)
    if name == "bernoulli":
        return (rng.random((n, 3)) < 0.1 + 0.1 * centre).astype(float)
    if name == "categorical":
        return np.where(rng.random((n, 3)) < 0.9, group[:, None], rng.integers(3, size=(n, 3)))
    if name in ("gamma", "exponential"):
        return rng.gamma(2.0, 1.0 + centre)
    return centre + rng.normal(size=(n, 3))
