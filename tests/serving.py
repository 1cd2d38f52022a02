"""A service that tests talk to: small streams, requests, and pages that follow."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from scstream.datasets import gaussian_stream


def batches(n: int = 4, seed: int = 0) -> list[np.ndarray]:
    """Return batches of a small stream."""
    stream = gaussian_stream(n, 200, n_clusters=4, random_state=seed)
    return [batch.X for batch in stream]


PATIENCE = 120.0  # seconds for what takes an instant, on a machine that has much else to do


def wait_until(holds: Callable[[], object]) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, "it never was"
        time.sleep(0.02)


class Answer:
    """What a request was answered with."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def ask(
    live: Any,
    path: str,
    body: Any = None,
    *,
    method: str | None = None,
    raw: bytes | None = None,
    **headers: str,
) -> Answer:
    """Send a request, with JSON where a body is given, and return the answer."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    data = raw if body is None else json.dumps(body).encode()
    if data is not None:
        sent.setdefault("content-type", "application/json")
    connection = http.client.HTTPConnection("127.0.0.1", live.port, timeout=PATIENCE)
    try:
        verb = method or ("GET" if data is None else "POST")
        connection.request(verb, path, body=data, headers=sent)
        return Answer(connection.getresponse())
    finally:
        connection.close()


class Page:
    """A page that follows a run."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self._response = response
        self.status = response.status

    def next(self) -> tuple[str, str, Any]:
        """Return name, kind and data of the next event."""
        name, kind, data = "", "message", None
        while True:
            line = self._response.readline().decode().rstrip("\n")
            if not line and data is not None:
                return name, kind, data
            field, _, value = line.partition(": ")
            if field == "id":
                name = value
            elif field == "event":
                kind = value
            elif field == "data":
                data = json.loads(value)


@contextmanager
def follow(live: Any, after: str) -> Iterator[Page]:
    """Follow a run from behind an event."""
    connection = http.client.HTTPConnection("127.0.0.1", live.port, timeout=PATIENCE)
    connection.request("GET", f"/api/updates?after={after}")
    with connection.getresponse() as response:
        yield Page(response)
    connection.close()


class Command:
    """A command in a process of its own, with a page."""

    def __init__(self, *words: str, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "scstream", *words],
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stdin=subprocess.PIPE,
            env={**os.environ, **environment},
            text=True,
        )
        assert self.process.stderr is not None
        self.said = ""
        while "page is at" not in self.said:
            line = self.process.stderr.readline()
            assert line, self.said
            self.said += line
        self.link = re.search(r"http://\S+", self.said)[0]
        self.port = int(re.search(r":(\d+)/", self.link)[1])

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        self.said += self.process.communicate(timeout=PATIENCE)[1]
        return self.process.returncode
