"""The page in Chromium: time to open, size, and frames a second of a long run with many clusters.

The browser has no window and draws in software: a screen and a graphics card are faster.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from scstream.chronicle import Chronicle, Moment, Score
from scstream.plot.projection import Projection
from scstream.service.live import Live
from scstream.service.settings import Settings
from scstream.service.watching import Watcher

BATCHES, CLUSTERS, COLUMNS = 20_000, 200, 5
_GLIDES = 30  # moves from one moment to the next, of which frames are counted


def write_run(path: Path, batches: int = BATCHES, clusters: int = CLUSTERS) -> None:
    """Write the chronicle of a run: clusters that wander, are born and die."""
    rng = np.random.default_rng(0)
    centre, way = rng.normal(scale=20.0, size=(2, clusters, COLUMNS))
    names = [f"sensor {j + 1}" for j in range(COLUMNS)]
    chronicle = Chronicle(columns=names)
    chronicle.columns = chronicle.fields = names
    chronicle.projection = Projection.between(centre, None, np.ones(clusters), names)
    with path.open("w") as file:
        file.write(chronicle._head())
        for b in range(batches):
            file.write(_moment(b, centre + way * b / batches, chronicle.projection, rng).to_line())


def _moment(b: int, centre: Any, view: Projection, rng: np.random.Generator) -> Moment:
    k = len(centre)
    weights = 1.0 + np.sin(np.arange(k) + b / 900.0)
    weights /= weights.sum()
    labels = rng.integers(k, size=50)
    rows = view(centre[labels] + rng.normal(size=(50, COLUMNS)))
    event = {"kind": "birth", "batch": b, "time": float(b), "cluster": int(labels[0])}
    return Moment(
        batch=b,
        time=60.0 * b,
        n_points=1000,
        ids=np.arange(k),
        weights=weights,
        counts=1e4 * weights,
        born=np.zeros(k),
        means=centre,
        deviations=np.ones((k, COLUMNS)),
        places=view(centre),
        spreads=np.tile(view.covariances(np.eye(COLUMNS)[None])[0][[0, 0, 1], [0, 1, 1]], (k, 1)),
        speeds=rng.random(k),
        score=Score(3.0, (1.0, 2.0, 3.0, 4.0, 6.0, 9.0 + rng.random())),
        rows={"places": rows.tolist(), "labels": labels.tolist()},
        unusual=({"score": 9.5, "label": int(labels[0]), "values": centre[0].tolist()},),
        events=(event,) if b % 40 == 0 else (),
    )


def measure(rounds: int, run: Path | None = None) -> str:
    """Return a table of what a reader of the page waits for; of a run that was written, if any."""
    with tempfile.TemporaryDirectory() as folder:
        path = run or Path(folder) / "run.jsonl"
        if run is None:
            write_run(path)
        begun = time.perf_counter()
        watcher = Watcher(path)
        read = time.perf_counter() - begun
        try:
            with Live(watcher.served, Settings()) as live:
                found = [_open(live) for _ in range(rounds)]
        finally:
            watcher.close()
        size = path.stat().st_size
    middle = {name: sorted(one[name] for one in found)[rounds // 2] for name in found[0]}
    rows = {
        f"file of {BATCHES:,} batches and {CLUSTERS} clusters": f"{size / 2**20:,.0f} MB",
        "`scstream watch` reads the file in": f"{read:.1f} s",
        "sent to the page": f"{middle['bytes'] / 2**20:.1f} MB",
        "the page shows it after": f"{middle['open']:.1f} s",
        "rows on the map": f"{middle['rows']:,.0f}",
        "frames a second while clusters glide": f"{middle['frames']:.0f}",
    }
    return "\n".join(
        ["| what | how much |", "| --- | ---: |", *(f"| {a} | {b} |" for a, b in rows.items())]
    )


def _open(live: Live) -> dict[str, float]:
    with _tab() as page:
        begun = time.perf_counter()
        page.goto(live.link)
        _wait(page, "scstream.map.frames > 0 && scstream.store.moments.length > 2")
        seconds = time.perf_counter() - begun
        page.wait_for_timeout(500)
        page.evaluate(_COUNT, _GLIDES)
        _wait(page, "window.rate > 0")
        return {
            "open": seconds,
            "bytes": float(page.evaluate(_SIZE)),
            "rows": float(page.evaluate("scstream.map.rowsDrawn")),
            "frames": float(page.evaluate("window.rate")),
        }


def _wait(page: Any, condition: str) -> None:
    """Wait until something holds on the page, whose policy lets nobody hand it a script."""
    deadline = time.monotonic() + 120
    while not page.evaluate(condition):
        if time.monotonic() > deadline:
            raise TimeoutError(condition)
        page.wait_for_timeout(20)


# What the browser has received whole: the stream of updates has no end, and no size.
_SIZE = """[...performance.getEntriesByType('navigation'),
  ...performance.getEntriesByType('resource')].reduce((sum, e) => sum + e.encodedBodySize, 0)"""

_COUNT = """(glides) => {
  const {store, map} = scstream;
  const begun = performance.now(), before = map.frames;
  let left = glides;
  const step = () => {
    if (left-- === 0) {
      window.rate = 1000 * (map.frames - before) / (performance.now() - begun);
      return;
    }
    store.goTo(store.moments.length - 1 - (left % 20));
    setTimeout(step, 450);
  };
  step();
}"""


class _tab:
    """A page of a browser."""

    def __enter__(self) -> Any:
        import shutil

        from playwright.sync_api import sync_playwright

        path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
        self._driver = sync_playwright().start()
        self._browser = self._driver.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu"]
        )
        return self._browser.new_page(viewport={"width": 1280, "height": 900})

    def __exit__(self, *_: object) -> None:
        self._browser.close()
        self._driver.stop()
