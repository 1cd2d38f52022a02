"""The service's addresses: the page, its updates, metrics, predictions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from scstream.service import answers, metrics
from scstream.service.guard import Guard
from scstream.service.openapi import description
from scstream.service.refused import Refused, shortened
from scstream.service.served import Served
from scstream.service.settings import Settings
from scstream.service.stream import EventStream
from scstream.web import asset

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}

_WORKERS = 2  # threads that read rows and predict; more would hold up the others' answers
_PATHS = ("/predict", "/learn", "/metrics", "/health", "/api/chronicle", "/api/updates")

_Handler = Callable[[Request], Awaitable[Response]]


def make_app(served: Served, settings: Settings) -> ASGIApp:
    """Return the service as an ASGI application."""
    service = _Service(served, settings)
    routes = []  # looked through in this order: what is asked for most comes first
    if served.has_model:
        routes.append(Route("/predict", service.predict, methods=["POST"]))
        if settings.learning:
            routes.append(Route("/learn", service.learn, methods=["POST"]))
    routes += [
        Route("/", service.page("index.html")),
        Route("/page/{name:str}", service.asset),
        Route("/docs", service.page("docs.html")),
        Route("/openapi.json", service.openapi),
        Route("/health", service.health),
        Route("/metrics", service.metrics),
        Route("/api/chronicle", service.chronicle),
        Route("/api/updates", service.updates),
    ]
    handlers = {Refused: _refusal, HTTPException: _no_such_address}
    app = Starlette(routes=routes, exception_handlers=handlers)

    def count(path: str, status: int) -> None:
        served.metrics.requests.labels(path if path in _PATHS else "other", str(status)).inc()

    return Guard(app, settings, count)


class _Service:
    """Answers requests."""

    def __init__(self, served: Served, settings: Settings) -> None:
        self._served = served
        self._settings = settings
        self._learning = asyncio.Lock()
        self._pool = ThreadPoolExecutor(_WORKERS, "scstream-predict")

    def page(self, name: str) -> _Handler:
        """Return what answers with a file of the page."""

        async def handler(request: Request) -> Response:
            return _file(name)

        return handler

    async def asset(self, request: Request) -> Response:
        """Answer with a script or a style of the page."""
        return _file(request.path_params["name"])

    async def health(self, request: Request) -> Response:
        """Say that the service is there."""
        return _json({"status": "ok"})

    async def openapi(self, request: Request) -> Response:
        """Describe the service."""
        return _json(description(self._served.has_model, self._settings.learning))

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
        return EventStream(feed.follow(last))

    async def predict(self, request: Request) -> Response:
        """Answer with labels, and what else is asked for."""
        fields = request.query_params.get("fields", "label").split(",")
        answers.check_fields(fields)
        job = self._predict(request, await request.body(), fields)
        response: Response | None = None
        while response is None:  # others' requests come in between
            response = await self._work(next, job)
        return response

    def _predict(
        self, request: Request, body: bytes, fields: list[str]
    ) -> Iterator[Response | None]:
        """Work on a prediction for a while, and again, until there is a response."""
        model = self._served.model
        rows, _ = self._rows(request, body)
        found: dict[str, list[Any]] = {name: [] for name in fields}
        for part in answers.answer(model, rows, fields):
            if found[fields[0]]:
                yield None
            for name, values in part.items():
                found[name] += values
        if answers.ARROW in request.headers.get("accept", ""):
            yield Response(answers.to_arrow(found), media_type=answers.ARROW)
        yield Response(answers.to_json(found), media_type=answers.JSON)

    async def learn(self, request: Request) -> Response:
        """Learn a batch, and answer with its labels."""
        rows, more = await self._work(self._rows, request, await request.body())
        async with self._learning:
            found = await asyncio.to_thread(_taken, self._served.learn, rows, more.get("time"))
        return Response(await self._work(answers.to_json, found), media_type=answers.JSON)

    def _rows(self, request: Request, body: bytes) -> tuple[Any, dict[str, Any]]:
        kind = request.headers.get("content-type", "")
        return answers.read_rows(body, kind, self._settings, answers.names_of(self._served.model))

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
    return _json(
        {"error": f"{error.detail}; /openapi.json lists what there is."}, error.status_code
    )


def _json(found: Any, status: int = 200) -> Response:
    text = json.dumps(found, separators=(",", ":"))
    return Response(text, status, media_type=answers.JSON)


def _file(name: str) -> Response:
    found = asset(name)
    if found is None:
        raise Refused(404, "Page not found.")
    kind = _TYPES.get("." + name.rpartition(".")[2], "application/octet-stream")
    return Response(found, headers={"content-type": kind})
