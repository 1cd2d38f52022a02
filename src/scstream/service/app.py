"""The service's addresses: the page, its updates, metrics, predictions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from scstream.service import answers, metrics
from scstream.service.guard import Guard, Refused
from scstream.service.openapi import description
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
    return Guard(_Counted(app, served), settings)


class _Service:
    """Answers requests."""

    def __init__(self, served: Served, settings: Settings) -> None:
        self._served = served
        self._settings = settings
        self._learning = asyncio.Lock()

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
        rows, _ = await self._rows(request)
        fields = request.query_params.get("fields", "label").split(",")
        found = _taken(answers.answer, self._served.model, rows, fields)
        if answers.ARROW in request.headers.get("accept", ""):
            return Response(answers.to_arrow(found), media_type=answers.ARROW)
        return _json(found)

    async def learn(self, request: Request) -> Response:
        """Learn a batch, and answer with its labels."""
        rows, more = await self._rows(request)
        async with self._learning:
            found = await asyncio.to_thread(_taken, self._served.learn, rows, more.get("time"))
        return _json(found)

    async def _rows(self, request: Request) -> tuple[Any, dict[str, Any]]:
        kind = request.headers.get("content-type", "")
        return answers.read_rows(await request.body(), kind, self._settings.most_rows)


_PATHS = ("/predict", "/learn", "/metrics", "/health", "/api/chronicle", "/api/updates")


class _Counted:
    """Counts answers by path and status."""

    def __init__(self, app: ASGIApp, served: Served) -> None:
        self._app = app
        self._counter = cache(served.metrics.requests.labels)  # of few paths and few statuses

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"] if scope["path"] in _PATHS else "other"

        async def counted(message: Any) -> None:
            if message["type"] == "http.response.start":
                self._counter(path, str(message["status"])).inc()
            await send(message)

        await self._app(scope, receive, counted)


def _taken(act: Callable[..., Any], *args: Any) -> Any:
    """Act on rows of a request; what the model refuses is the sender's to mend."""
    try:
        return act(*args)
    except (ValueError, TypeError) as error:
        raise Refused(422, str(error)) from error


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
