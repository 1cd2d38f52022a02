"""Rows with a wrong clock do not carry the stream's clock along; one that goes back is none."""

import numpy as np
import pytest

from scstream.sources import SourceOptions, open_source
from scstream.sources.batch_times import BatchTimes, latest
from scstream.sources.schema import Schema

N = 600
CLEAN = np.datetime64("2026-03-01T00:00:00") + 60 * np.arange(N)
AHEAD = np.datetime64("2099-01-01T00:00:00")


def read(path, when, **options):
    """Return the rows and the time of each batch of a table with these times."""
    lines = [f"{t},{i % 7}.5" for i, t in enumerate(when)]
    path.write_text("when,x\n" + "\n".join(lines) + "\n")
    with open_source(path, SourceOptions(time_column="when", **options)) as source:
        return [(len(batch.X.values[0]), float(batch.time)) for batch in source]


def with_row(place, time=AHEAD):
    when = CLEAN.copy()
    when[place] = time
    return when


@pytest.fixture
def path(tmp_path):
    return tmp_path / "rows.csv"


@pytest.mark.parametrize("place", [0, 1, 59, 60, 61, 300, 598])
def test_one_row_from_the_future_ends_no_period(path, place, caplog):
    expected = read(path, CLEAN, period=3600)
    assert [n for n, _ in expected] == [60] * 10
    assert not caplog.records
    found = read(path, with_row(place), period=3600)
    assert [time for _, time in found] == [time for _, time in expected]
    # The first of an hour counts with the hour before, as a late row would with the one after.
    assert sum(abs(n - 60) for n, _ in found) == 2 * (place in (60, 300))
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 1
    assert f"rows.csv, line {place + 2}: its time, 2099-01-01 00:00:00, is far ahead" in told[0]


@pytest.mark.parametrize("place", [0, 99, 100, 342, 499])
def test_one_row_from_the_future_does_not_move_the_time_of_a_batch(path, place, caplog):
    expected = read(path, CLEAN, batch_size=100)
    assert not caplog.records
    found = read(path, with_row(place), batch_size=100)
    assert len(found) == 6
    for (n, time), (_, right) in zip(found, expected, strict=True):
        assert n == 100
        assert 0 <= right - time <= 60  # a batch whose last row is wrong has the time of the other
    assert ["far ahead" in record.getMessage() for record in caplog.records] == [True]


def test_rows_that_are_wrong_again_and_again_end_no_period(path):
    when = CLEAN.copy()
    when[7::50] = AHEAD
    assert [n for n, _ in read(path, when, period=3600)] == [60] * 10


def test_gaps_begin_periods_and_move_the_clock(path, caplog):
    days = [CLEAN[:100], CLEAN[:100] + 86400, CLEAN[:3] + 10 * 86400]
    when = np.concatenate(days)
    by_day = read(path, when, period=86400)
    assert [n for n, _ in by_day] == [100, 100, 3]
    assert np.diff([time for _, time in by_day]).tolist() == [86400, 9 * 86400]
    last = [float((t - np.datetime64(0, "s")) // np.timedelta64(1, "s")) for t in when]
    found = read(path, when, batch_size=101)
    # One row of the next day does not make the first batch one of the next day.
    assert [time for _, time in found] == [last[99], last[201], last[202]]
    assert not caplog.records


def test_single_rows_with_gaps_between_them_are_periods(path):
    assert [n for n, _ in read(path, CLEAN[:20], period=7)] == [1] * 20


@pytest.mark.parametrize(("n", "final", "found"), [
    (4, False, (None, False)), (5, False, (None, False)), (6, False, (0, True)),
    (2, True, (0, True)), (4, True, (0, True)),
])  # fmt: skip
def test_a_gap_is_settled_once_there_are_rows_to_judge_it_by(n, final, found):
    lots = [np.array([5.0]), *(np.array([t]) for t in (1000.0, 7.0, 1001.0, 8.0, 1002.0))]
    lines = [np.array([i]) for i in range(6)]
    times = BatchTimes("rows, line", Schema(["t"], [0], ["number"], 0), 10.0, 1000, {"period": -1})
    assert times.next_period(lots[:n], lines, 0, final=final) == (None, True)
    assert times.next_period(lots[:n], lines, 1, final=final) == found


def test_the_latest_time_is_that_of_the_latest_row_where_none_is_far_ahead():
    rng = np.random.default_rng(0)
    for _ in range(100):
        times = np.cumsum(rng.exponential(size=50)) + rng.normal(size=50)
        assert latest(times) == times.max()
    assert latest(np.array([1.0, 2.0, 1e9])) == 1e9  # too few rows to judge by
    assert latest(np.append(np.arange(500.0), [2000.0, 2001.0])) == 499.0
    assert latest(np.append(np.arange(500.0), 2000.0 + np.arange(9))) == 2008.0
    assert latest(np.append([-1e9], np.append(np.arange(99.0), 1e6))) == 98.0


def minutes(n, start="2026-03-01"):
    return np.datetime64(f"{start}T00:00:00") + 60 * np.arange(n)


RNG = np.random.default_rng(0)
MONTHS = "01", "10", "02"
NO_CLOCKS = {
    "stations": np.concatenate([minutes(3000)] * 3),
    "months as 1, 10, 2": np.concatenate(
        [minutes(3000, f"2026-{m}-01") for m in ("01", "10", "02")]
    ),
    "another order": np.concatenate([minutes(1000), RNG.permutation(minutes(8000))]),
    "seconds of the day": np.tile(np.arange(0, 86400, 30), 4),
    "restarts": 60 * np.concatenate([np.arange(3500), np.arange(2500), np.arange(4000)]),
    "newest first": minutes(5000)[::-1],
    "1970": np.concatenate([minutes(3000), minutes(4000, "1970-01-01")]),
    "the largest number": np.where(np.arange(6000) // 2000 == 1, 1.7e308, 60 * np.arange(6000)),
    "a batch of 2099": np.concatenate(
        [minutes(3000), np.full(1000, AHEAD), minutes(4000, "2026-03-04")]
    ),
}


@pytest.mark.parametrize("options", [{"batch_size": 1000}, {"batch_size": 100}, {"period": 3600.0}])
@pytest.mark.parametrize("when", NO_CLOCKS.values(), ids=NO_CLOCKS)
def test_time_goes_on_where_the_clock_does_not(path, when, options, caplog):
    def batches(place=None):
        lines = [f"{t},{i % 7}.5" for i, t in enumerate(when)]
        path.write_text("when,x\n" + "\n".join(lines) + "\n")
        with open_source(path, SourceOptions(time_column="when", **options)) as source:
            if place is not None:
                source.seek(place)
            found = list(source)
        return found, [(b.n, b.time, b.clock, b.place) for b in found]

    found, told = batches()
    assert sum(batch.n for batch in found) == len(when)
    gaps = np.diff([batch.time for batch in found])
    lost = next(i for i, batch in enumerate(found) if batch.clock is not None)
    before = max(lost - 1, 0)
    said = [r.getMessage() for r in caplog.records if "not used as a clock" in r.getMessage()]
    assert len(said) == sum(batch.clock is not None for batch in found) == 1
    # From there on time never waits.
    assert gaps[before:].min() >= 0.3 * np.median(gaps[gaps > 0.01])
    assert found[lost].clock.column == "when"
    assert "steps of" in found[lost].clock.now
    for at in (before, lost, len(found) - 2):
        assert batches(found[at].place)[1] == told[at + 1 :]


@pytest.mark.parametrize("units", [(1, 1000, 1), (1000, 10**9)])
def test_times_in_another_unit_are_converted_with_a_word(path, units, caplog):
    t = int(1.77e9) + np.arange(2500 * len(units))
    when = [int(v) * units[i // 2500] for i, v in enumerate(t)]
    path.write_text("when,x\n" + "".join(f"{t},{i % 7}.5\n" for i, t in enumerate(when)))
    with open_source(path, SourceOptions(100, time_column="when")) as source:
        times = np.array([float(batch.time) for batch in source])
    assert np.allclose(np.diff(times), np.diff(times)[0], atol=0)
    assert any("unit" in record.getMessage() for record in caplog.records)


def test_some_late_rows_are_no_matter(path, caplog):
    late = np.datetime64("2025-03-01T00:00:00") + 60 * np.arange(150)
    for options in ({"batch_size": 100}, {"period": 3600}):
        read(path, np.concatenate([CLEAN, late, CLEAN + 86400, late]), **options)
    days = np.datetime64("2026-03-01") + np.arange(4000) // 2000
    assert len({time for _, time in read(path, days, batch_size=100)}) == 40
    assert not caplog.records


@pytest.mark.parametrize("options", [{"batch_size": 1000}, {"period": 3600.0}])
def test_rows_without_a_time_count_with_their_batch_where_nobody_named_the_clock(
    path, options, caplog
):
    when = [str(t) if i % 300 != 7 else "" for i, t in enumerate(minutes(6000))]
    when[4000:] = [""] * 2000
    path.write_text("when,x\n" + "".join(f"{t},{i % 7}.5\n" for i, t in enumerate(when)))
    with open_source(path, SourceOptions(**options)) as source:
        found = list(source)
    assert sum(batch.n for batch in found) == 6000
    step = options.get("period", 60_000)
    assert np.allclose(np.diff([float(batch.time) for batch in found]), step, rtol=0.01)
    assert sum("no time" in record.getMessage() for record in caplog.records) == 1
    with (
        open_source(path, SourceOptions(time_column="when")) as source,
        pytest.raises(ValueError, match="column 'when' holds nothing"),
    ):
        list(source)
