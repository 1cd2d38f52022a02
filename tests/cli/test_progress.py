"""Lines that a run prints where there is no terminal."""

import io
from itertools import count
from types import SimpleNamespace

import numpy as np

from scstream import ScStream
from scstream.cli import progress
from scstream.cli.progress import Progress


def test_each_line_has_what_is_new_since_the_line_before(monkeypatch):
    clock = count(0.0, 4.0)  # a line every third batch
    monkeypatch.setattr(progress, "monotonic", lambda: next(clock))
    out, rng, rows = io.StringIO(), np.random.default_rng(0), 0
    model, shown = ScStream(random_state=0), Progress(out)
    for batch in range(9):
        far = 50.0 * (batch >= 4) * (np.arange(200) % 2)
        model.partial_fit(rng.normal(size=(200, 2)) + far[:, None])
        rows += 200
        totals = SimpleNamespace(rows=rows)
        shown(SimpleNamespace(model=model, rows=rows, totals=totals, done=None))
    lines = out.getvalue().splitlines()
    assert len(lines) >= 3
    news = [line.rpartition("K = ")[2] for line in lines]
    assert news[:2] == ["1  0 born", "2  0 split off 1"]
    assert set(news[2:]) == {"2"}
