"""Brokers that are killed, that come back, that were never there: waited for, said in a line."""

import contextlib
import json
import os
import signal
import socket
import threading
import time
import warnings

import numpy as np
import pytest
from broker_kafka import mock_kafka
from broker_killing import killable
from broker_servers import KafkaBroker, free_port, wait_for

import scstream.pipeline  # noqa: F401  # loaded before a clock runs
from scstream.cli import main
from scstream.sources.base import Batch
from scstream.sources.patience import BrokerError

LONG = 120.0  # seconds after which a test gives up: what is waited for may be compiling
KINDS = ["kafka", "redis"]


@pytest.fixture(params=KINDS)
def server(request, tmp_path):
    with killable(request.param, tmp_path) as started:
        yield started


def rows(*numbers):
    return [json.dumps([number]).encode() for number in numbers]


def numbers(batches):
    return [int(x) for batch in batches for x in batch.X[:, 0]]


def longer_than_its_client_waits(server):
    """Return seconds after which a reader knows that its server is away."""
    return 3.0 if server.kind == "kafka" else 1.0  # Kafka's client tries by itself at first


def later(seconds, what):
    timer = threading.Timer(seconds, what)
    timer.start()
    return timer


def told(capfd):
    """Return the lines of standard error, without those of the test's own broker."""
    lines = capfd.readouterr().err.splitlines()
    return [line for line in lines if "CONFWARN" not in line]


def test_a_server_that_is_killed_is_waited_for_with_one_notice(server):
    broker = server.broker()
    stream = broker.new_stream()
    broker.publish(stream, rows(*range(4)))
    heard = []
    # Silence of a second would end the stream; a server that is away is not silent.
    with broker.source(stream, batch_size=2, max_idle=1.0) as source:
        source.patience.notify = heard.append
        batches = iter(source)
        found = [next(batches), next(batches)]
        server.kill()

        def back():
            source.max_idle = LONG  # what is sent now may take its time
            server.revive()
            server.broker().publish(stream, rows(4, 5))

        timer = later(0.5 + longer_than_its_client_waits(server), back)
        found.append(next(batches))
        timer.join()
    assert numbers(found) == list(range(6))
    assert len(heard) == 1
    assert f"{broker.kind}:{stream}" in heard[0]
    assert "is away" in heard[0]
    assert "300 seconds" in heard[0]


def test_a_server_that_stays_away_ends_the_run_when_patience_does(server):
    broker = server.broker()
    stream = broker.new_stream()
    broker.publish(stream, rows(0, 1))
    with broker.source(stream, batch_size=2, patience=1.0) as source:
        source.patience.notify = lambda text: None
        batches = iter(source)
        next(batches)
        server.kill()
        start = time.monotonic()
        with pytest.raises(BrokerError, match=r"has been away for \d+ seconds"):
            next(batches)
        assert 1.0 <= time.monotonic() - start < 12.0


def test_a_commit_waits_for_the_server_too(server):
    broker = server.broker()
    stream = broker.new_stream()
    broker.publish(stream, rows(0, 1))
    with broker.source(stream, "model", batch_size=2, max_idle=LONG) as source:
        source.patience.notify = lambda text: None
        batch = next(iter(source))
        server.kill()
        timer = later(1.0, server.revive)
        source.commit(batch.place)
        timer.join()
    assert server.broker().committed(stream, "model") == 2


def test_a_commit_does_not_end_a_run_though_the_server_stays_away(server):
    broker = server.broker()
    stream = broker.new_stream()
    broker.publish(stream, rows(0, 1))
    with broker.source(stream, "model", batch_size=2, patience=0.5) as source:
        source.patience.notify = lambda text: None
        batch = next(iter(source))
        server.kill()
        source.commit(batch.place)
        server.revive()
        committed, tries = 0, 20  # on a busy machine the server may answer after the patience
        while committed != 2 and tries:
            source.commit(batch.place)
            committed, tries = server.broker().committed(stream, "model"), tries - 1
    assert committed == 2


def batch_of(numbers):
    return Batch(X=np.array(numbers, float)[:, None], place={}, numbers=np.array(numbers))


def test_a_sink_waits_and_sends_every_row(server):
    broker = server.broker()
    stream = broker.new_stream()
    heard = []
    sink = broker.sink(stream, fields=["label"])
    sink.patience.notify = heard.append
    sink.truncate({})
    sink.write(batch_of([1, 2]), {"label": np.array([0, 1])})
    sink.sync()
    server.kill()
    time.sleep(0.3)
    timer = later(1.0, server.revive)
    sink.write(batch_of([3, 4]), {"label": np.array([2, 3])})
    sink.sync()
    timer.join()
    sink.close()
    received = dict(server.broker().received(stream, 4))
    assert {key: json.loads(value)["label"] for key, value in received.items()} == {
        "1": 0, "2": 1, "3": 2, "4": 3,
    }  # fmt: skip
    assert len(heard) == 1


# -- at the start: one clear line, soon -----------------------------------------------------------


def run(capfd, url, *more):
    """Run the command; return its status, the lines it wrote, and how long it took."""
    start = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        status = main(["run", url, "--quiet", "-o", "none", *more])
    return status, told(capfd), time.monotonic() - start


def never_there(kind, capfd, settings=""):
    """Check what is said of a server that was never there; return after how many seconds."""
    pytest.importorskip(
        {"kafka": "confluent_kafka"}.get(kind, kind), reason="its client is not installed"
    )
    url = f"{kind}://127.0.0.1:{free_port()}/rows{settings}"
    status, lines, seconds = run(capfd, url, "--follow")
    assert status == 1
    assert len(lines) == 1, lines
    assert "cannot be reached" in lines[0]
    assert "onnect" in lines[0]  # why: the connection was refused
    return seconds


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_that_was_never_there_is_said_in_one_line(kind, capfd):
    assert never_there(kind, capfd, "?patience=1") < 15


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_server_that_was_never_there_is_given_up_within_fifteen_seconds(kind, capfd):
    assert 8 <= never_there(kind, capfd) < 15


@contextlib.contextmanager
def something_else():
    """Listen on a port, and answer whoever comes as no broker would."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        kept = []

        def answer():
            with contextlib.suppress(OSError):
                while True:
                    kept.append(listening.accept()[0])
                    kept[-1].sendall(b"HTTP/1.1 400 \x1b]0;owned\x07\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()
            for connection in kept:
                connection.close()


@pytest.mark.parametrize("scheme", ["kafka", "redis", "rediss"])
def test_a_server_of_another_kind_is_said_in_one_line(scheme, capfd):
    pytest.importorskip(
        {"kafka": "confluent_kafka", "rediss": "redis"}.get(scheme, scheme),
        reason="its client is not installed",
    )
    with something_else() as port:
        url = f"{scheme}://127.0.0.1:{port}/rows?patience=1"
        assert main(["run", url, "-o", "none", "--quiet"]) == 1
    told = capfd.readouterr().err
    assert told.startswith("scstream run: error: ")
    assert len(told.splitlines()) == 1
    assert "\x1b" not in told


def test_a_stream_that_is_not_there_is_said_in_one_line(tmp_path, capfd):
    with killable("redis", tmp_path) as server:
        url = f"redis://127.0.0.1:{server.port}/nowhere"
        status, lines, seconds = run(capfd, url, "--follow")
    assert status == 1
    assert len(lines) == 1, lines
    assert "no stream 'nowhere'" in lines[0]
    assert seconds < 15


def test_a_topic_that_is_not_there_is_said_in_one_line(capfd):
    with mock_kafka() as mock:
        mock.no_topic("nowhere")
        status, lines, seconds = run(capfd, f"kafka://{mock.address}/nowhere", "--follow")
    assert status == 1
    assert len(lines) == 1, lines
    assert "no topic 'nowhere'" in lines[0]
    assert seconds < 15


FOLLOW = ["--quiet", "--batch-size", "20", "--family", "gaussian", "--follow", "--every", "1"]


def follow(url, state, output, meanwhile):
    """Follow a stream beside what happens to its server; return the status."""

    def happen():
        try:
            wait_for(lambda: list(state.glob("*2.scstream")), seconds=LONG)
            meanwhile()
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    timer = later(0.0, happen)
    status = main(["run", url, *FOLLOW, "-o", str(output), "--checkpoint", str(state)])
    timer.join()
    return status


def test_a_followed_run_says_one_line_and_goes_on(server, capfd, tmp_path):
    broker = server.broker()
    stream = broker.new_stream()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)).tolist()
    broker.publish(stream, [json.dumps(row).encode() for row in X[:40]])
    capfd.readouterr()
    state, output = tmp_path / "state", tmp_path / "labels.csv"

    def fall_and_rise():
        server.kill()
        time.sleep(longer_than_its_client_waits(server))
        server.revive()
        server.broker().publish(stream, [json.dumps(row).encode() for row in X[40:]])
        wait_for(lambda: list(state.glob("*3.scstream")), seconds=LONG)

    status = follow(broker.url(stream), state, output, fall_and_rise)
    lines = told(capfd)
    assert status == 128 + signal.SIGTERM
    assert len(lines) == 3, lines
    assert "is away" in lines[0]
    assert "stopped by SIGTERM" in lines[1]
    assert "checkpoint-000000000003.scstream; to resume" in lines[2]
    assert len(output.read_text().splitlines()) == 61


def test_a_run_that_waits_for_its_server_can_be_stopped(server, capfd, tmp_path):
    broker = server.broker()
    stream = broker.new_stream()
    broker.publish(stream, rows(*range(40)))
    asked = []

    def fall():
        server.kill()
        time.sleep(1.0)
        asked.append(time.monotonic())

    status = follow(broker.url(stream), tmp_path / "state", "none", fall)
    assert status == 128 + signal.SIGTERM
    assert time.monotonic() - asked[0] < 8
    assert "stopped by SIGTERM" in "\n".join(told(capfd))


# -- several partitions, several readers ----------------------------------------------------------


@pytest.fixture
def topic():
    with mock_kafka() as mock:
        mock.topic("rows", 4)
        broker = KafkaBroker(mock.address)
        for partition in range(4):
            broker.publish("rows", rows(*range(100 * partition, 100 * partition + 50)), partition)
        yield broker


def test_readers_of_a_group_share_partitions_and_learn_no_row_twice(topic):
    mine, theirs, shared = [], [], {"mark": "model", "batch_size": 10}

    def read(found, **options):
        with topic.source("rows", **shared, **options) as source:
            for batch in source:
                found.append(batch)
                source.commit(batch.place)
                time.sleep(0.2)

    left = threading.Thread(target=read, args=(mine,), kwargs={"max_idle": 6})
    left.start()
    while len(mine) < 3:
        time.sleep(0.05)
    right = threading.Thread(target=read, args=(theirs,), kwargs={"max_idle": 2})
    right.start()
    right.join(60)
    left.join(60)
    # Each had a part of the topic at the end, and neither read a row again.
    assert 0 < len(theirs[-1].place["at"]) < 4
    for found in (numbers(mine), numbers(theirs)):
        assert len({*found}) == len(found)
    assert {*numbers(mine), *numbers(theirs)} == {100 * p + i for p in range(4) for i in range(50)}


def test_a_run_that_ends_hands_over_exactly_where_it_stood(topic, tmp_path, capfd):
    """Its last checkpoint is where the next reader begins, though commits stay one behind."""
    words = ["--family", "gaussian", "--fields", "label", "--append", "--quiet", "--every", "1"]

    def label(name):
        out = tmp_path / f"{name}.csv"
        more = ["-o", str(out), "--checkpoint", str(tmp_path / name), "--batch-size", "25"]
        url = f"{topic.url('rows')}?group=model&max_idle=1"
        assert main(["run", url, *more, *words]) == 0, capfd.readouterr().err
        return [int(float(line.split(",")[0])) for line in out.read_text().splitlines()[1:]]

    assert sorted(label("left")) == [100 * p + i for p in range(4) for i in range(50)]
    late = [100 * p + i for p in range(2) for i in range(50, 60)]
    for partition in range(2):
        topic.publish("rows", rows(*late[10 * partition : 10 * partition + 10]), partition)
    assert sorted(label("right")) == late  # without the left one's checkpoint


def test_lost_messages_end_a_run_in_a_line(tmp_path, capfd):
    (tmp_path / "server").mkdir()
    with killable("redis", tmp_path / "server") as server:
        broker = server.broker()
        stream = broker.new_stream()
        broker.publish(stream, rows(*range(100)))
        words = ["run", f"{broker.url(stream)}?max_idle=0.5", "-o", "none", "--quiet"]
        words += ["--family", "gaussian", "--batch-size", "50", "--checkpoint", str(tmp_path / "s")]
        assert main(words) == 0
        broker.publish(stream, rows(*range(100, 200)))
        broker.client.xtrim(stream, maxlen=20)
        capfd.readouterr()
        assert main(words) == 1
        told = capfd.readouterr().err
        assert told.startswith("scstream run: error: redis:")
        assert "trimmed away" in told
        assert len(told.splitlines()) == 1
