"""Brokers that tests kill and bring back, with all that they were sent."""

import contextlib
import subprocess

import pytest
from broker_kafka import mock_kafka
from broker_servers import (
    KafkaBroker,
    RedisBroker,
    answers,
    free_port,
    redis_command,
    wait_for,
)


class _Process:
    """A server that is a process: killed by SIGKILL, started again on the same port and folder."""

    def __init__(self, command, port):
        self.command = command
        self.port = port
        self.process = None

    def revive(self):
        assert self.process is None
        self.process = subprocess.Popen(
            self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wait_for(lambda: answers(self.port), self.process)

    def kill(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        self.process = None


class KillableRedis(_Process):
    kind = "redis"

    def __init__(self, folder, *more):
        pytest.importorskip("redis", reason="redis-py is not installed")
        port = free_port()
        super().__init__([*redis_command(folder, port), *more], port)

    def broker(self):
        return RedisBroker(self.port)


class KillableKafka:
    kind = "kafka"

    def __init__(self, mock):
        self.mock = mock
        self._down = False

    def broker(self):
        return KafkaBroker(self.mock.address)

    def kill(self):
        if not self._down:
            self.mock.down()
        self._down = True

    def revive(self):
        if self._down:
            self.mock.up()
        self._down = False


@contextlib.contextmanager
def killable(kind, folder, *more):
    """Yield a server that runs, and kill it at the end."""
    with contextlib.ExitStack() as stack:
        if kind == "kafka":
            server = KillableKafka(stack.enter_context(mock_kafka()))
        else:
            server = KillableRedis(folder, *more)
        stack.callback(server.kill)
        server.revive()
        yield server
