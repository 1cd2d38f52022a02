"""Clients that do everything wrong: the service keeps answering, and its memory stays flat."""

from __future__ import annotations

import os
import socket
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from serving import PATIENCE, Command, ask, batches, wait_until

from scstream import ScStream

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="memory is read from /proc"
)
TOKEN = "a-token-of-the-test"


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.scstream"
    ScStream(random_state=0).partial_fit(batches(1)[0]).save(path)
    command = Command("serve", str(path), SCSTREAM_TOKEN=TOKEN)
    yield command
    if command.process.poll() is None:
        command.process.kill()
    said = command.process.communicate()[1]
    assert said == "", said  # clients cannot fill the log


def memory(running) -> float:
    """Return the megabytes of the service's process."""
    pages = int(Path(f"/proc/{running.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def works(running) -> bool:
    answer = ask(running, "/predict", [[1.0, 2.0]], authorization=f"Bearer {TOKEN}")
    return answer.status == 200 and len(answer.json["label"]) == 1


def sent(running, data: bytes) -> bytes:
    """Send bytes, and return the first that come back before the service hangs up."""
    with socket.create_connection(("127.0.0.1", running.port), timeout=PATIENCE) as client:
        try:
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)
            return client.recv(100)
        except OSError:  # it hung up already
            return b""


def bad_request(rng: np.random.Generator) -> bytes:
    """Return a request that is wrong in one way or another."""
    body = rng.choice([b"{", b"[[1,2,3]]", b'[["a",{}]]', b"\xff" * 50, b"[" * 5000, b"null", b""])
    size = int(rng.choice([len(body), 0, 10, 10**12, -1]))
    token = rng.choice(["", TOKEN, "wrong-token", "\u00e9" * 3, "x" * 3000])
    path = rng.choice(["/predict", "/learn", "/", "/?token=no", "/../..", "/%00", "/" + "a" * 3000])
    method = rng.choice(["POST", "GET", "PUT", "BREW", "OPTIONS"])
    host = rng.choice(["127.0.0.1", "evil.example", "", "a" * 500])
    kind = rng.choice(["application/json", "text/html", "application/vnd.apache.arrow.stream"])
    lines = [
        f"{method} {path} HTTP/1.1", f"Host: {host}", f"Content-Type: {kind}",
        f"Content-Length: {size}", f"Authorization: Bearer {token}",
        f"Cookie: scstream_token={token}; =;;",
    ]  # fmt: skip
    request = "\r\n".join(lines).encode("latin-1", "replace") + b"\r\n\r\n" + bytes(body)
    wrong = rng.integers(6)
    if wrong == 0:
        return rng.bytes(int(rng.integers(1, 400)))
    if wrong == 1:
        return request[: int(rng.integers(1, len(request)))]
    if wrong == 2:
        at = int(rng.integers(len(request)))
        return request[:at] + rng.bytes(3) + request[at:]
    return request


def flood(running, n: int) -> None:
    """Send bad requests; the service works after each hundred, and its memory stays flat."""
    rng = np.random.default_rng(0)
    for _ in range(min(n, 300)):
        sent(running, bad_request(rng))
    before = memory(running)
    for i in range(n):
        answer = sent(running, bad_request(rng))
        assert b" 500 " not in answer[:20], answer
        if i % 100 == 0:
            assert works(running)
    assert works(running)
    assert memory(running) < 1.05 * before + 10


def test_bad_requests(running):
    flood(running, 300)


@pytest.mark.slow
def test_ten_thousand_bad_requests(running):
    flood(running, 10_000)


def test_a_thousand_connections_that_send_nothing(running):
    assert works(running)
    before = memory(running)
    with ExitStack() as stack:
        for _ in range(1000):
            client = socket.create_connection(("127.0.0.1", running.port), timeout=PATIENCE)
            stack.enter_context(client)
        for _ in range(10):
            assert works(running)
        assert memory(running) < before + 60  # of those that are let wait
    wait_until(lambda: memory(running) <= before + 60)
    assert works(running)


def test_half_requests_and_large_bodies(running):
    """Bodies that never end are cut off, and hold no more than is allowed of one."""
    assert works(running)
    before = memory(running)
    head = f"POST /predict HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
    head += "Content-Type: application/json\r\n"
    with ExitStack() as stack:
        for i in range(60):
            client = socket.create_connection(("127.0.0.1", running.port), timeout=PATIENCE)
            stack.enter_context(client)
            if i % 2:
                client.sendall(f"{head}Content-Length: 1000\r\n\r\n[[1,".encode())
            else:
                client.sendall(head[: 20 + i].encode())
        assert works(running)
        for _ in range(20):
            answer = sent(running, f"{head}Content-Length: {2**30}\r\n\r\n[".encode())
            assert b" 413 " in answer[:20]
        assert works(running)
    assert memory(running) < before + 60


def test_wrong_tokens(running):
    before = memory(running)
    for i in range(300):
        answer = ask(running, "/predict", [[1.0, 2.0]], authorization=f"Bearer wrong-token-{i}")
        assert answer.status == 401
    assert works(running)
    assert memory(running) < before + 20
