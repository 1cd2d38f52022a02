"""Rows one by one, learned in batches by number or by time."""

import json

import numpy as np
import pytest

from scstream import Buffer, ScStream

RNG = np.random.default_rng(0)
ROWS = [{"x": 9.0 * (i % 2) + n[0], "y": n[1]} for i, n in enumerate(RNG.normal(size=(240, 2)))]


def model() -> ScStream:
    return ScStream(random_state=0, max_sweeps=10)


def test_batches_by_rows_are_those_of_partial_fit() -> None:
    buffer, direct = Buffer(model(), batch_size=60), model()
    learned = [buffer.add(row) for row in ROWS]
    assert np.flatnonzero(learned).tolist() == [59, 119, 179, 239]
    table = np.array([[row["x"], row["y"]] for row in ROWS])
    for part in np.split(table, 4):
        direct.partial_fit(part)
    np.testing.assert_array_equal(buffer.predict(ROWS), direct.predict(table))
    assert buffer.features == ["x", "y"]


def test_batches_by_time_end_before_the_row_that_comes_later() -> None:
    buffer = Buffer(model(), batch_size=1000, span=10.0)
    learned = [buffer.add(row, time=0.5 * i) for i, row in enumerate(ROWS)]
    assert np.flatnonzero(learned).tolist() == list(range(20, 240, 20))
    assert buffer.model.n_batches_ == 11
    assert buffer.model.time_ == 0.5 * 219
    buffer.flush()
    buffer.flush()
    assert (buffer.model.n_batches_, buffer.model.time_) == (12, 0.5 * 239)
    assert [record.n_points for record in buffer.model.history_] == [20] * 12


def test_a_full_batch_does_not_wait_for_time() -> None:
    buffer = Buffer(model(), batch_size=30, span=1000.0)
    assert [buffer.add(row, time=float(i)) for i, row in enumerate(ROWS[:30])][-1]
    assert buffer.model.time_ == 29.0


@pytest.mark.parametrize(
    ("options", "match"),
    [({"batch_size": 0}, "batch_size is 0"), ({"batch_size": True}, "True"), ({"span": 0}, "span")],
)
def test_sizes_that_cannot_be_are_refused(options, match) -> None:
    with pytest.raises(ValueError, match=match):
        Buffer(model(), **options)


def test_rows_that_cannot_be_learned_change_nothing() -> None:
    buffer = Buffer(model(), batch_size=30, span=5.0)
    buffer.add(ROWS[0], 1.0)
    for row, time, match in (
        (ROWS[1], None, "no time"),
        (ROWS[1], 0.5, "before the row at 1.0"),
        ({}, 2.0, "no value"),
        ({"x": "a"}, 2.0, "not a finite number"),
    ):
        with pytest.raises(ValueError, match=match):
            buffer.add(row, time)
    assert len(buffer._buffer) == 1
    untimed = Buffer(model())
    untimed.add(ROWS[0])
    with pytest.raises(ValueError, match="Rows before this one have no time"):
        untimed.add(ROWS[1], 1.0)


def test_a_loop_over_messages_of_a_broker() -> None:
    """As docs/merge.md shows it: a consumer gives messages, offsets are stored with the model."""
    messages = [(offset, json.dumps(row).encode()) for offset, row in enumerate(ROWS)]
    buffer, stored = Buffer(model(), batch_size=100), -1
    for offset, value in messages:
        if buffer.add(json.loads(value)):
            stored = offset
    assert stored == 199
    assert len(set(buffer.predict(ROWS[:2]).tolist())) == 2
