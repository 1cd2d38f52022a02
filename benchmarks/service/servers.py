"""Servers in processes of their own: ``python -m benchmarks.service.servers KIND COLUMNS``.

- bytes: uvicorn that sends back the body as it came
- json: uvicorn that reads the body as JSON and writes it again
- predict: the service with a model of so many columns
- named: the same with a model that knows its columns by name

Each prints its port and ends with its standard input.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from scstream import ScStream
from scstream.datasets import gaussian_stream


@contextmanager
def running(kind: str, columns: int) -> Iterator[int]:
    """Run a server and return its port."""
    words = [sys.executable, "-m", "benchmarks.service.servers", kind, str(columns)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield int(process.stdout.readline())
        process.stdin.close()
        process.wait(30)


def rows(columns: int, n: int = 100) -> np.ndarray:
    """Return the rows that every request holds."""
    stream = gaussian_stream(6, 500, n_clusters=10, n_features=columns, random_state=0)
    return np.round(list(stream)[-1].X[:n], 6)


def _echo(parsed: bool) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body", False):
                break
        if parsed:
            body = json.dumps(json.loads(body)).encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return app


def _serve_echo(parsed: bool) -> None:
    import socket
    import threading

    import uvicorn

    listener = socket.socket(proto=socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(_echo(parsed), log_config=None, access_log=False, lifespan="off")
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.01)
    print(listener.getsockname()[1], flush=True)
    sys.stdin.read()


def _serve_model(columns: int, named: bool) -> None:
    from scstream.families.columns import Columns
    from scstream.service import serve

    model = ScStream(random_state=0, n_jobs=1)
    for batch in gaussian_stream(6, 500, n_clusters=10, n_features=columns, random_state=0):
        X: Any = batch.X
        if named:
            X = Columns(list(X.T.copy()), [f"c{j}" for j in range(columns)], len(X), X)
        model.partial_fit(X)
    model.predict(X)
    with serve(model) as live:
        print(live.port, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    kind, columns = sys.argv[1], int(sys.argv[2])
    if kind in ("predict", "named"):
        _serve_model(columns, kind == "named")
    else:
        _serve_echo(kind == "json")
