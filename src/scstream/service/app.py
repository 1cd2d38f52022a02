"""The service's addresses: the page, its updates, metrics, predictions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from scstream import __version__
from scstream.service import answers, metrics
from scstream.service.guard import Guard
from scstream.service.refused import Refused, shortened
from scstream.service.served import Served
from scstream.service.settings import Settings
from scstream.web import asset

_TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "json": answers.JSON,
}
_WORKERS = 2  # threads that read rows and predict; more would hold up the others' answers
_DECODED = 8  # requests whose rows are in memory at once
_PATHS = ("/predict", "/learn", "/metrics", "/health", "/api/chronicle", "/api/updates")


def make_app(served: Served, settings: Settings) -> ASGIApp:
    """Return the service as an ASGI application."""
    service = _Service(served, settings)
    app = Starlette(
        routes=[Route(path, handler, methods=[verb]) for verb, path, handler in service.routes()],
        exception_handlers={Refused: _refusal, HTTPException: _no_such_address},
    )

    def count(path: str, status: int) -> None:
        served.metrics.requests.labels(path if path in _PATHS else "other", str(status)).inc()

    return Guard(app, settings, count)


class _Service:
    """Answers requests."""

    def __init__(self, served: Served, settings: Settings) -> None:
        self._served = served
        self._settings = settings
        self._learning = asyncio.Lock()
        self._decoding = asyncio.Semaphore(_DECODED)
        self._pool = ThreadPoolExecutor(_WORKERS, "scstream-predict")

    def routes(self) -> Iterator[tuple[str, str, Callable[..., Any]]]:
        """Return verb, path and handler of each address, what is asked for most first."""
        if self._served.has_model:
            yield "POST", "/predict", self.predict
            if self._settings.learning:
                yield "POST", "/learn", self.learn
        yield "GET", "/", self.asset
        yield "GET", "/page/{name:str}", self.asset
        yield "GET", "/docs", self.asset
        yield "GET", "/openapi.json", self.openapi
        yield "GET", "/health", self.health
        yield "GET", "/metrics", self.metrics
        yield "GET", "/api/chronicle", self.chronicle
        yield "GET", "/api/updates", self.updates

    async def asset(self, request: Request) -> Response:
        """Answer with a file of the page."""
        pages = {"/": "index.html", "/docs": "docs.html"}
        name = request.path_params.get("name") or pages[request.url.path]
        found = asset(name)
        if found is None:
            raise Refused(404, "Page not found.")
        kind = _TYPES.get(name.rpartition(".")[2], "application/octet-stream")
        return Response(found, headers={"content-type": kind})

    async def health(self, request: Request) -> Response:
        """Say that the service is there."""
        return _json({"status": "ok"})

    async def openapi(self, request: Request) -> Response:
        """Describe the service."""
        found = json.loads(asset("openapi.json") or b"{}")
        found["info"]["version"] = __version__
        offered = {path for _, path, _ in self.routes()}
        found["paths"] = {path: what for path, what in found["paths"].items() if path in offered}
        return _json(found)

    async def metrics(self, request: Request) -> Response:
        """Answer Prometheus."""
        text = await asyncio.to_thread(self._served.metrics_text)  # a source may ask its server
        return Response(text, headers={"content-type": metrics.TYPE})

    async def chronicle(self, request: Request) -> Response:
        """Answer with what a page begins with."""
        text = await asyncio.to_thread(self._served.whole_text)
        return Response(text, media_type=answers.JSON)

    async def updates(self, request: Request) -> Response:
        """Send every moment from now on, or from the one that the page had last."""
        feed = self._served.feed
        if feed.n_pages >= self._settings.most_pages:
            raise Refused(503, "Too many pages already follow this stream.")
        last = request.headers.get("last-event-id") or request.query_params.get("after", "")
        events = feed.follow(last)
        await anext(events)  # from here on it counts
        return StreamingResponse(
            events, media_type="text/event-stream", headers={"x-accel-buffering": "no"}
        )

    async def predict(self, request: Request) -> Response:
        """Answer with labels, and what else is asked for."""
        fields = request.query_params.get("fields", "label").split(",")
        answers.check_fields(fields)
        body = await request.body()
        async with self._decoding:
            response: Response = await self._work(self._predict, request, body, fields)
        return response

    def _predict(self, request: Request, body: bytes, fields: list[str]) -> Response:
        model = self._served.model
        rows, _ = self._rows(request, body)
        found = answers.answer(model, rows, fields)
        if answers.ARROW in request.headers.get("accept", ""):
            return Response(answers.to_arrow(found), media_type=answers.ARROW)
        return Response(answers.to_json(found), media_type=answers.JSON)

    async def learn(self, request: Request) -> Response:
        """Learn a batch, and answer with its labels."""
        body = await request.body()
        async with self._learning:
            rows, more = await self._work(self._rows, request, body)
            found = await asyncio.to_thread(_taken, self._served.learn, rows, more.get("time"))
        return Response(await self._work(answers.to_json, found), media_type=answers.JSON)

    def _rows(self, request: Request, body: bytes) -> tuple[Any, dict[str, Any]]:
        kind = request.headers.get("content-type", "")
        return answers.read_rows(body, kind, self._settings, self._served.model)

    async def _work(self, act: Callable[..., Any], *args: Any) -> Any:
        """Act on what was sent in another thread."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, _taken, act, *args)


def _taken(act: Callable[..., Any], *args: Any) -> Any:
    """Act on rows of a request; what the model refuses is the sender's to mend."""
    try:
        return act(*args)
    except (ValueError, TypeError, ArithmeticError) as error:
        raise Refused(422, shortened(str(error))) from error
    except MemoryError:
        raise Refused(413, "There is not enough memory for this request.") from None


async def _refusal(request: Request, refused: Exception) -> Response:
    assert isinstance(refused, Refused)
    return _json({"error": refused.reason}, refused.status)


async def _no_such_address(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    reason = f"{error.detail}; /openapi.json lists what there is."
    return _json({"error": reason}, error.status_code)


def _json(found: Any, status: int = 200) -> Response:
    text = json.dumps(found, separators=(",", ":"))
    return Response(text, status, media_type=answers.JSON)
