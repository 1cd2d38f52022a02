"""The broker that librdkafka carries for tests, with a hand on it: down, up, topics, its address.

Python's package shows none of this, so the library is spoken to by ctypes.
"""

import contextlib
import ctypes
import time
from pathlib import Path

import pytest


def _library():
    kafka = pytest.importorskip("confluent_kafka", reason="confluent-kafka is not installed")
    beside = Path(kafka.__file__).parent.with_name("confluent_kafka.libs")
    for file in beside.glob("librdkafka*"):
        library = ctypes.CDLL(str(file))
        if hasattr(library, "rd_kafka_mock_cluster_new"):
            return library
    pytest.skip("confluent-kafka comes without the library's own broker")


class MockKafka:
    """A cluster of one broker. What it was sent stays there while it is down."""

    def __init__(self):
        self._library = library = _library()
        for name in ("rd_kafka_conf_new", "rd_kafka_new", "rd_kafka_mock_cluster_new"):
            getattr(library, name).restype = ctypes.c_void_p
        library.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
        reason = ctypes.create_string_buffer(512)
        settings = ctypes.c_void_p(library.rd_kafka_conf_new())
        handle = library.rd_kafka_new(0, settings, reason, 512)
        assert handle, reason.value
        self._handle = ctypes.c_void_p(handle)
        self._cluster = ctypes.c_void_p(library.rd_kafka_mock_cluster_new(self._handle, 1))

    @property
    def address(self):
        return self._library.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()

    def _do(self, name, *arguments):
        error = getattr(self._library, f"rd_kafka_mock_{name}")(self._cluster, *arguments)
        assert error == 0, f"{name}: error {error}"

    def down(self):
        """Cut all connections, and take no new ones.

        The library aborts now and then if it is cutting one that is just being made.
        """
        time.sleep(0.3)
        self._do("broker_set_down", 1)

    def up(self):
        self._do("broker_set_up", 1)

    def topic(self, name, partitions):
        self._do("topic_create", name.encode(), partitions, 1)

    def no_topic(self, name):
        """Say of a topic that it is not known; else the first question makes it."""
        self._library.rd_kafka_mock_topic_set_error(self._cluster, name.encode(), 3)

    def say_address(self, port):
        """Tell clients another port: that of a door in front of the broker."""
        self._library.rd_kafka_mock_broker_set_host_port(
            self._cluster, 1, b"127.0.0.1", ctypes.c_int(port)
        )

    def close(self):
        self._library.rd_kafka_mock_cluster_destroy(self._cluster)
        self._library.rd_kafka_destroy(self._handle)


@contextlib.contextmanager
def mock_kafka():
    broker = MockKafka()
    try:
        yield broker
    finally:
        broker.close()
