"""Labels sent back to a broker: one message a row, told apart by its key."""

import itertools
import json

import numpy as np
import pytest
from broker_servers import BROKERS

from scstream import ScStream
from scstream.cli import main
from scstream.sources.base import Batch

LONG = 30.0  # seconds of silence after which a test gives up hope of what must come


@pytest.fixture(scope="module", params=list(BROKERS))
def broker(request, tmp_path_factory):
    with BROKERS[request.param](tmp_path_factory.mktemp(request.param)) as started:
        yield started


def batch_of_file():
    return Batch(
        X=np.array([[1.0], [2.0], [3.0]]),
        place={},
        rows=[{"x": 1, "label": "old"}, {"x": 2, "label": None}, {"x": 3, "label": "new"}],
        numbers=np.array([4, 6, 7]),
    )


def send(sink, batch, **found):
    sink.truncate({})
    sink.write(batch, {"label": np.array([0, -1, 2]), **found})
    sink.sync()
    place = sink.place()
    sink.close()
    return place


def test_a_message_tells_what_was_found(broker):
    stream = broker.new_stream()
    found = {"probability": np.array([0.5, 0.25, 1.0]), "score": np.array([1.5, 9.0, -2.0])}
    assert send(broker.sink(stream), batch_of_file(), **found) == {"rows": 3}
    received = dict(broker.received(stream, 3))
    assert sorted(received) == ["4", "6", "7"]  # the numbers of the rows
    assert json.loads(received["6"]) == {
        "key": "6", "label": -1, "probability": 0.25, "score": 9.0,
    }  # fmt: skip


def test_the_inputs_fields_can_be_sent_along(broker):
    stream = broker.new_stream()
    send(broker.sink(stream, fields=["label"], append=True), batch_of_file())
    received = dict(broker.received(stream, 3))
    assert json.loads(received["7"]) == {"key": "7", "x": 3, "label": "new", "scstream_label": 2}


def test_a_run_sends_labels_to_a_url(broker, tmp_path):
    stream = broker.new_stream()
    np.savetxt(tmp_path / "rows.csv", np.random.default_rng(0).normal(size=(60, 2)), delimiter=",")
    url = f"{broker.kind}://{broker.address.rpartition(chr(47))[2]}/{stream}"
    argv = ["run", str(tmp_path / "rows.csv"), "-o", url, "--fields", "label"]
    argv += ["--checkpoint", str(tmp_path / "state"), "--batch-size", "20"]
    assert main(argv) == 0
    received = dict(broker.received(stream, 60))
    assert sorted(map(int, received)) == list(range(1, 61))
    assert json.loads(received["60"]).keys() == {"key", "label"}
    assert main([*argv[:3], f"{url}?start=first"]) == 2  # which is for a source


def test_fields_that_there_are_not_are_refused(broker):
    with pytest.raises(ValueError, match="Unknown field 'colour'"):
        broker.sink(broker.new_stream(), fields=["colour"])


def run(broker, source, sink, model, batches):
    """Learn and send; return the last place."""
    for batch in itertools.islice(source, batches):
        model.partial_fit(batch.X)
        sink.write(batch, {"label": model.labels_})
    sink.sync()
    return batch.place


def test_rows_sent_again_after_a_crash_say_the_same_under_the_same_key(broker, tmp_path):
    stream, labels = broker.new_stream(), broker.new_stream()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2)) + 8 * rng.integers(2, size=(150, 1))
    broker.publish(stream, [json.dumps(row).encode() for row in X.tolist()])

    model = ScStream(random_state=0)
    sink = broker.sink(labels, fields=["label"])
    with broker.source(stream, batch_size=30, max_idle=LONG) as source:
        place = run(broker, source, sink, model, 2)
        model.save(tmp_path / "kept", extra={"place": place, "sink": sink.place()})
        run(broker, source, sink, model, 1)  # sent, but never kept
        sink.close()

    model = ScStream.load(tmp_path / "kept")
    sink = broker.sink(labels, fields=["label"])
    sink.truncate({"rows": 60})
    with broker.source(stream, batch_size=30, max_idle=LONG) as source:
        source.seek(place)
        run(broker, source, sink, model, 3)
    assert sink.place() == {"rows": 150}
    sink.close()

    received = broker.received(labels, 180)
    assert len(received) == 180
    assert len(set(received)) == 150  # a row that was sent twice says the same
    assert {key for key, _ in received} == {broker.key(stream, i) for i in range(150)}

    unbroken = ScStream(random_state=0)
    for start in range(0, 150, 30):
        unbroken.partial_fit(X[start : start + 30])
        for i, label in enumerate(unbroken.labels_.tolist(), start):
            assert json.loads(dict(received)[broker.key(stream, i)])["label"] == label
