"""Sources of brokers, each against a real server: the contract that all of them keep."""

import itertools
import json
import signal
from dataclasses import replace

import numpy as np
import pytest
from broker_readers import read_and_die
from broker_servers import BROKERS

from scstream import ScStream
from scstream.checkpoint import read
from scstream.pipeline import run
from scstream.sinks import open_sink
from scstream.sources import MalformedRow, SourceOptions, open_source

QUIET = 0.3  # seconds of silence after which a test believes that nothing comes
LONG = 30.0  # seconds of silence after which it gives up hope of what must come


@pytest.fixture(scope="module", params=list(BROKERS))
def broker(request, tmp_path_factory):
    with BROKERS[request.param](tmp_path_factory.mktemp(request.param)) as started:
        yield started


def points(n, seed=0):
    """Return rows (n, 2) of three clusters."""
    rng = np.random.default_rng(seed)
    return np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]])[rng.integers(3, size=n)] + rng.normal(
        size=(n, 2)
    )


def as_json(X):
    return [json.dumps({"x": x, "y": y}).encode() for x, y in X.tolist()]


def take(source, n):
    """Return the next n batches."""
    return list(itertools.islice(source, n))


def first(source, n):
    """Return the first n batches, and close the source."""
    with source:
        return take(source, n)


# -- batches --------------------------------------------------------------------------------------


def test_rows_come_in_order_in_batches_of_the_size(broker):
    stream, X = broker.new_stream(), points(30)
    broker.publish(stream, as_json(X))
    batches = first(broker.source(stream, batch_size=10, max_idle=LONG, keep_rows=True), 3)
    np.testing.assert_array_equal(np.vstack([batch.X for batch in batches]), X)
    assert [key for batch in batches for key in batch.keys] == [
        broker.key(stream, i) for i in range(30)
    ]
    assert [number for batch in batches for number in batch.numbers] == list(range(1, 31))
    assert batches[2].rows.dicts()[4] == {"x": X[24, 0], "y": X[24, 1]}
    assert all(batch.n == 10 for batch in batches)


def test_a_batch_is_closed_early_after_the_wait(broker):
    stream = broker.new_stream()
    broker.publish(stream, as_json(points(5)))
    with broker.source(stream, batch_size=100, wait=0.1, max_idle=LONG) as source:
        batches = iter(source)
        n = next(batches).n
        while n < 5:  # a slow server may hand out the five in more than one go
            n += next(batches).n
        broker.publish(stream, as_json(points(1)))
        assert next(batches).n == 1


def test_arrays_and_text_and_truth_and_null(broker):
    stream = broker.new_stream()
    broker.publish(stream, [b'[1, "a", true, null]', b"[2.5, null, false, 3]"])
    (batch,) = first(broker.source(stream, batch_size=2, max_idle=LONG), 1)
    assert list(batch.X.labels) == [0, 1, 2, 3]
    numbers, text, truth, sparse = batch.X.values
    assert numbers.tolist() == [1.0, 2.5]
    assert text.tolist() == ["a", None]
    assert truth.tolist() == [1.0, 0.0]
    assert np.isnan(sparse[0])
    assert sparse[1] == 3.0


def test_a_new_reader_can_begin_behind_the_last_message(broker):
    stream = broker.new_stream()
    broker.publish(stream, as_json(points(5)))
    with broker.source(stream, start="new", batch_size=2, max_idle=QUIET) as source:
        assert list(source) == []
        broker.publish(stream, as_json(points(2)))
        source.max_idle = LONG
        (batch,) = take(source, 1)
        assert batch.keys == [broker.key(stream, 5), broker.key(stream, 6)]


def test_a_loop_left_in_the_middle_of_a_batch_loses_nothing(broker):
    stream, X = broker.new_stream(), points(4)
    broker.publish(stream, [*as_json(X[:3]), b"{", *as_json(X[3:])])
    with broker.source(stream, batch_size=2, max_idle=LONG) as source:
        batches = iter(source)
        np.testing.assert_array_equal(next(batches).X, X[:2])
        with pytest.raises(MalformedRow):
            next(batches)
        source.options = replace(source.options, on_error="reject")
        (batch,) = take(source, 1)
        np.testing.assert_array_equal(batch.X, X[2:])


def test_times_are_the_servers_and_always_grow(broker):
    stream = broker.new_stream()
    broker.publish(stream, as_json(points(6)))
    batches = first(broker.source(stream, batch_size=1, timed=True, max_idle=LONG), 6)
    times = [batch.time for batch in batches]
    assert all(a < b for a, b in itertools.pairwise(times))
    with broker.source(stream, timed=True, batch_size=3, max_idle=LONG) as source:
        wrong = {"last": 4e9, "high": 4e9}
        source.seek({**batches[2].place, "clock": wrong})
        (batch,) = take(source, 1)
    assert 4e9 < batch.time < 4e9 + 1


# -- what is rejected -----------------------------------------------------------------------------

BAD = {
    b"{": "not JSON: ",
    b'{"x": "red", "y": 2}': "not a number",
    b'{"x": 1e999, "y": 2}': "not finite",
    b'{"x": [1], "y": 2}': "[1]",
    b"17": "neither",
    b"\xff": "not JSON",
}


def test_a_malformed_message_stops_the_run_and_says_where(broker):
    stream = broker.new_stream()
    broker.publish(stream, [*as_json(points(3)), b"{"])
    with broker.source(stream, max_idle=LONG) as source, pytest.raises(MalformedRow) as caught:
        list(source)
    assert broker.key(stream, 3) in str(caught.value)


def test_malformed_messages_can_be_set_aside(broker):
    stream, X = broker.new_stream(), points(22)
    rows = as_json(X)
    broker.publish(stream, [*rows[:20], *BAD, *rows[20:]])
    with broker.source(stream, batch_size=20, on_error="reject", max_idle=1.0) as source:
        batches = list(source)
    np.testing.assert_array_equal(np.vstack([batch.X for batch in batches]), X)
    assert batches[1].numbers.tolist() == [len(BAD) + 21, len(BAD) + 22]
    rejects = [reject for batch in batches for reject in batch.rejects]
    for i, (reject, (value, reason)) in enumerate(zip(rejects, BAD.items(), strict=True), 20):
        assert reject.reason.startswith(broker.key(stream, i))
        assert reject.row == i + 1
        assert reject.text == value.decode(errors="replace")
        assert reason in reject.reason


def test_rejects_behind_the_last_row_are_handed_out_too(broker):
    stream = broker.new_stream()
    broker.publish(stream, [*as_json(points(2)), b"{"])
    options = {"batch_size": 2, "on_error": "reject", "max_idle": 1.0}
    before, last = first(broker.source(stream, **options), 2)
    assert before.n == 2
    assert last.n == 0
    assert [reject.row for reject in last.rejects] == [3]
    with broker.source(stream, on_error="reject", max_idle=QUIET) as source:
        source.seek(last.place)
        assert list(source) == []


def test_rows_without_a_value_that_the_family_needs_are_malformed(broker):
    stream = broker.new_stream()
    broker.publish(stream, [b"[1, null]", b"[null, 1]", b"[2, 2]"])
    more = {"on_error": "reject", "max_idle": LONG}
    with broker.source(stream, batch_size=2, **more) as source:
        source.require([True, False])
        (batch,) = take(source, 1)
    assert batch.X[:, 0].tolist() == [1.0, 2.0]
    assert "column '0' is missing" in batch.rejects[0].reason


# -- places ---------------------------------------------------------------------------------------


def test_reading_goes_on_exactly_behind_a_place(broker):
    stream, X = broker.new_stream(), points(20)
    broker.publish(stream, as_json(X))
    batches = first(broker.source(stream, batch_size=5, max_idle=LONG), 4)
    for i, batch in enumerate(batches[:3]):
        with broker.source(stream, batch_size=5, max_idle=LONG) as source:
            source.seek(json.loads(json.dumps(batch.place)))
            left = [batch.X for batch in take(source, 3 - i)]
        np.testing.assert_array_equal(np.vstack(left), X[5 * (i + 1) :])
    with broker.source(stream, max_idle=QUIET) as source:
        source.seek(batches[3].place)
        assert list(source) == []


def test_a_place_keeps_the_columns_and_their_kinds(broker):
    stream = broker.new_stream()
    broker.publish(
        stream, [b'{"b": "word", "a": 1}', b'{"a": 2, "b": null}', b'{"a": "c", "b": 4}']
    )
    options = {"batch_size": 1, "max_idle": LONG}
    (batch,) = first(broker.source(stream, **options), 1)
    with broker.source(stream, **options) as source:
        source.seek(batch.place)
        batches = iter(source)
        assert list(next(batches).X.labels) == ["b", "a"]
        with pytest.raises(MalformedRow, match="not a number"):
            next(batches)


def test_places_of_others_are_refused(broker):
    one, other = broker.new_stream(), broker.new_stream()
    broker.publish(one, as_json(points(2)))
    (batch,) = first(broker.source(one, batch_size=2, max_idle=LONG), 1)
    with broker.source(other) as source:
        with pytest.raises(ValueError, match=one):
            source.seek(batch.place)
        with pytest.raises(ValueError, match=one):
            source.commit(batch.place)
        with pytest.raises(ValueError, match="not a place"):
            source.seek({"line": 3})


def test_only_what_is_committed_counts_as_done(broker):
    stream = broker.new_stream()
    broker.publish(stream, as_json(points(12)))
    batches = first(broker.source(stream, "model", batch_size=4, max_idle=LONG), 3)
    assert broker.committed(stream, "model") == 0
    with broker.source(stream, "model", batch_size=4, max_idle=LONG) as source:
        assert next(iter(source)).keys == batches[0].keys
        source.commit(batches[0].place)
        assert broker.committed(stream, "model") == 4
        source.commit(batches[1].place)
    assert broker.committed(stream, "model") == 8
    # Without a place, from what was committed.
    (batch,) = first(broker.source(stream, "model", batch_size=4, max_idle=LONG), 1)
    assert batch.keys == batches[2].keys


# -- exactly once ---------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_killed_reader_goes_on_as_if_it_had_never_died(broker, tmp_path):
    stream, X = broker.new_stream(), points(300)
    broker.publish(stream, as_json(X))
    unbroken = ScStream(random_state=0)
    for batch in first(broker.source(stream, batch_size=50, max_idle=LONG), 6):
        unbroken.partial_fit(batch.X)

    file = tmp_path / "model.scs"
    status, last = read_and_die(broker.url(stream), file)
    assert status == -signal.SIGKILL
    assert last == broker.key(stream, 149)  # it had used a third batch

    model, extra = read(file)
    seen = []
    with broker.source(stream, batch_size=50, max_idle=LONG) as source:
        source.seek(extra["place"])
        for batch in itertools.islice(source, 4):
            model.partial_fit(batch.X)
            seen += batch.keys
            source.commit(batch.place)
    assert seen == [broker.key(stream, i) for i in range(100, 300)]  # the third batch again
    model.save(tmp_path / "resumed.scs")
    unbroken.save(tmp_path / "unbroken.scs")
    assert (tmp_path / "resumed.scs").read_bytes() == (tmp_path / "unbroken.scs").read_bytes()


class Stopped(Exception):
    pass


def follow(broker, stream, folder, batches):
    """Run on a stream with a checkpoint every two batches, until so many have been learned."""

    def progress(result):
        if result.totals.batches == batches:
            raise Stopped

    outputs = {"labels": open_sink(folder / "labels.csv")}
    with broker.source(stream, "model", batch_size=50, max_idle=LONG) as source:
        with pytest.raises(Stopped):
            run(
                source,
                ScStream(random_state=0),
                outputs,
                checkpoint=folder / "kept",
                every=2,
                progress=progress,
            )
        outputs["labels"].close()


def test_a_run_that_breaks_off_commits_what_is_kept_and_goes_on_from_there(broker, tmp_path):
    stream = broker.new_stream()
    broker.publish(stream, as_json(points(300)))
    follow(broker, stream, tmp_path / "unbroken", 6)
    other = broker.new_stream()
    broker.publish(other, as_json(points(300)))
    follow(broker, other, tmp_path / "broken", 3)
    assert broker.committed(other, "model") <= 100  # never beyond a checkpoint
    follow(broker, other, tmp_path / "broken", 6)
    assert 0 < broker.committed(other, "model") <= 300
    labels = [(tmp_path / name / "labels.csv").read_bytes() for name in ("broken", "unbroken")]
    assert labels[0] == labels[1]
    assert labels[0].count(b"\n") == 301


# -- addresses ------------------------------------------------------------------------------------


def test_an_address_opens_a_source(broker):
    stream, X = broker.new_stream(), points(6)
    broker.publish(stream, [*as_json(X[:4]), b"{", *as_json(X[4:])])
    options = SourceOptions(batch_size=3, columns=["y"], on_error="reject")
    batches = first(open_source(f"{broker.url(stream)}?timed=yes", options), 2)
    np.testing.assert_array_equal(np.vstack([batch.X for batch in batches]), X[:, 1:])
    assert batches[0].time is not None
    assert [len(batch.rejects) for batch in batches] == [0, 1]
    with pytest.raises(ValueError, match="unknown setting 'colour'"):
        open_source(f"{broker.url(stream)}?colour=red")
    with pytest.raises(ValueError, match="header is for files"):
        open_source(broker.url(stream), SourceOptions(header=True))
    with pytest.raises(ValueError, match="server:port/stream"):
        open_source(f"{broker.kind}://server")
