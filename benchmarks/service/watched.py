"""What a page costs a run: ``scstream run`` with two pages open against the same run without."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from statistics import median
from urllib.request import urlopen

import numpy as np

_PAGES = 2
_SETTINGS = ((400_000, 10, 1000), (200_000, 2, 200))  # rows, columns, rows a batch

# A run in a process of its own that says how long its loop took, by the clock and of the processor.
_RUN = """
import sys, time
import scstream.pipeline, scstream.service
from scstream.cli import main

inner = scstream.pipeline.run

def timed(*args, **more):
    begun = time.perf_counter(), time.process_time()
    result = inner(*args, **more)
    print("TOOK", time.perf_counter() - begun[0], time.process_time() - begun[1], file=sys.stderr)
    return result

scstream.pipeline.run = timed
sys.exit(main(sys.argv[1:]))
"""


def measure(rounds: int) -> str:
    """Return a table of seconds with and without pages, the two taking turns."""
    lines = [
        "| run of | alone | with two pages | processor time | rows a second |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for rows, columns, size in _SETTINGS:
            path = Path(folder) / f"{columns}.csv"
            _write_csv(_rows(rows, columns), path)
            found: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
            _run(path, size, watched=False)  # compiles what is not compiled yet
            for _ in range(rounds):
                for watched in (False, True):
                    found[watched].append(_run(path, size, watched))
            pairs = list(zip(found[True], found[False], strict=True))
            clock = median(without[0] / with_[0] for with_, without in pairs)
            processor = median(with_[1] / without[1] for with_, without in pairs)
            alone, shown = (median(s[1] for s in found[w]) for w in (False, True))
            lines.append(
                f"| {rows:,} rows of {columns} columns, {size:,} a batch | {alone:.2f} s "
                f"| {shown:.2f} s | {processor - 1:+.1%} | {clock - 1:+.1%} |"
            )
    return "\n".join(lines)


def _run(path: Path, size: int, watched: bool) -> tuple[float, float]:
    """Return the seconds of a run, by the clock and of the processor."""
    words = [sys.executable, "-c", _RUN, "run", str(path), "-o", str(path.with_suffix(".out"))]
    words += ["--output-format", "csv", "--overwrite", "--family", "gaussian", "--quiet"]
    words += ["--batch-size", str(size), "--random-state", "0", "--n-jobs", "1"]
    words += ["--serve"] * watched
    pages: list[threading.Thread] = []
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = ""
        for line in process.stderr:
            said += line
            if "page is at" in line:
                link = re.findall(r"http://\S+", line)[0]
                pages = [threading.Thread(target=_follow, args=(link,)) for _ in range(_PAGES)]
                for page in pages:
                    page.start()
    for page in pages:
        page.join()
    if process.returncode:
        raise RuntimeError(said)
    clock, processor = said.rpartition("TOOK")[2].split()[:2]
    return float(clock), float(processor)


def _follow(link: str) -> None:
    """Be a page: load the run so far, and read every update."""
    import json
    from contextlib import suppress

    with suppress(OSError):
        after = json.loads(urlopen(link + "api/chronicle").read())["next"]
        with urlopen(f"{link}api/updates?after={after}") as updates:
            while updates.read1(1 << 16):
                pass


def _rows(n: int, d: int, clusters: int = 15) -> np.ndarray:
    """Return rows of clusters that drift slowly."""
    rng = np.random.default_rng(0)
    y = rng.integers(clusters, size=n)
    start, way = rng.normal(scale=8.0, size=(2, clusters, d))
    drift = np.linspace(0.0, 0.5, n)[:, None]
    return start[y] + drift * way[y] + rng.normal(size=(n, d))


def _write_csv(X: np.ndarray, path: Path) -> None:
    header = ",".join(f"x{j}" for j in range(X.shape[1]))
    np.savetxt(path, X, "%.6g", ",", header=header, comments="")
