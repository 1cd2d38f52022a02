"""A day of a stream in compressed time: memory stays flat."""

import os

import numpy as np
import pytest

from scstream import ScStream
from scstream.pipeline import run
from scstream.sinks import open_sink
from scstream.sinks.journals import ChronicleJournal, EventJournal
from scstream.sources import SourceOptions, open_source

BATCHES, SIZE = 20_000, 12
DAY = 86_400.0
WARM = 4_000  # batches, by when all that is bounded has reached its bound


def write_day(path):
    """Write rows of three clusters that wander about; one of them comes and goes by the hour."""
    rng = np.random.default_rng(0)
    n = BATCHES * SIZE
    time = (np.arange(n) + 0.5) * (DAY / n)
    hour = time / 3600.0
    third = (hour.astype(int) % 2 == 0) & (rng.random(n) < 0.3)
    y = np.where(third, 2, rng.integers(2, size=n))
    turn = 2.0 * np.pi * (hour / 6.0 + y / 3.0)
    X = 8.0 * np.column_stack([np.cos(turn), np.sin(turn)]) + rng.normal(size=(n, 2))
    np.savetxt(path, np.column_stack([time, X]), "%.4f", ",", header="t,x,y", comments="")


def resident():
    """Return the memory of this process, in MB."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc to see memory")
def test_a_day_of_a_stream_with_flat_memory(tmp_path):
    write_day(tmp_path / "day.csv")
    outputs = {
        "labels": open_sink(tmp_path / "labels.csv"),
        "events": EventJournal(tmp_path / "events.jsonl"),
        "chronicle": ChronicleJournal(tmp_path / "chronicle.jsonl"),
    }
    memory = []

    def look(result):
        if result.totals.batches % 500 == 0:
            memory.append(resident())

    options = SourceOptions(time_column="t", period=DAY / BATCHES)
    model = ScStream(half_life=60.0, random_state=0, n_jobs=1)
    with open_source(tmp_path / "day.csv", options) as source:
        result = run(
            source, model, outputs, checkpoint=tmp_path / "state", every=200, progress=look
        )
    assert result.totals.batches == BATCHES
    assert result.model.time_ == pytest.approx(DAY)
    assert result.totals.births > 3  # something happened
    warm, later = memory[WARM // 500 - 1], memory[WARM // 500 :]
    print("memory in MB:", [round(m, 1) for m in memory], "totals:", result.totals)
    assert max(later) < 1.03 * warm
    assert len((tmp_path / "labels.csv").read_bytes().splitlines()) == BATCHES * SIZE + 1
