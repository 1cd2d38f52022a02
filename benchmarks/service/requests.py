"""Requests a second: predictions of 100 rows against an echo of the same body."""

from __future__ import annotations

import json
import socket
import threading
import time
from contextlib import ExitStack
from statistics import median

from benchmarks.service.servers import rows, running

CLIENTS = 4  # connections that ask at the same time
SPELL = 0.5  # seconds in which one server is asked before the next


def body_of(columns: int, named: bool) -> bytes:
    """Return the body of a request."""
    X = rows(columns).tolist()
    if named:
        return json.dumps({"rows": [{f"c{j}": x for j, x in enumerate(row)} for row in X]}).encode()
    return json.dumps({"rows": X}).encode()


class Client:
    """Asks one server the same again and again, over connections that stay open for a spell."""

    def __init__(self, port: int, body: bytes) -> None:
        head = (
            f"POST /predict HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self._port = port
        self._request = head.encode() + body
        self._failed: str | None = None

    def rate(self, seconds: float) -> float:
        """Return requests a second."""
        end, counts = time.perf_counter() + seconds, [0] * CLIENTS
        threads = [
            threading.Thread(target=self._ask, args=(i, end, counts)) for i in range(CLIENTS)
        ]
        begun = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self._failed is not None:
            raise RuntimeError(self._failed)
        return sum(counts) / (time.perf_counter() - begun)

    def _ask(self, i: int, end: float, counts: list[int]) -> None:
        with socket.create_connection(("127.0.0.1", self._port)) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while time.perf_counter() < end:
                connection.sendall(self._request)
                answer = connection.recv(1 << 16)
                head, _, rest = answer.partition(b"\r\n\r\n")
                if not head.startswith(b"HTTP/1.1 200"):
                    self._failed = answer[:300].decode("latin-1")
                    return
                length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                left = length - len(rest)
                while left > 0:
                    left -= len(connection.recv(1 << 16))
                counts[i] += 1


def measure(rounds: int) -> str:
    """Return a table of requests a second, the servers asked in turns."""
    lines = [
        "| 100 rows of | echo of bytes | echo of JSON | predict | against JSON | against bytes |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for columns, named in ((2, False), (10, False), (10, True)):
        rates = _rates(columns, named, rounds)
        ratios = [
            median(p / e for p, e in zip(rates["predict"], rates[name], strict=True))
            for name in ("json", "bytes")
        ]
        middle = {name: median(values) for name, values in rates.items()}
        lines.append(
            f"| {columns} columns{', by name' if named else ''} | {middle['bytes']:,.0f}/s "
            f"| {middle['json']:,.0f}/s | {middle['predict']:,.0f}/s "
            f"| {ratios[0]:.2f} | {ratios[1]:.2f} |"
        )
    return "\n".join(lines)


def _rates(columns: int, named: bool, rounds: int) -> dict[str, list[float]]:
    body = body_of(columns, named)
    rates: dict[str, list[float]] = {"bytes": [], "json": [], "predict": []}
    with ExitStack() as stack:
        clients = {}
        for name in rates:
            kind = "named" if named and name == "predict" else name
            clients[name] = Client(stack.enter_context(running(kind, columns)), body)
            clients[name].rate(SPELL)
        for _ in range(rounds):
            for name, client in clients.items():
                rates[name].append(client.rate(SPELL))
    return rates
