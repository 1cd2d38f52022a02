"""What stands before every request: who asks, for which host, and how much may be sent."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
from collections.abc import Callable
from urllib.parse import parse_qs, quote, unquote

from starlette.datastructures import Headers
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from scstream.service.refused import Refused, shortened
from scstream.service.settings import Settings

_LOG = logging.getLogger("scstream.service")
_COOKIE = "scstream_token"
_OPEN_PATHS = frozenset({"/health"})  # say nothing of the data
_BODIES = 8  # of the largest size, that may be held at once

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_HEADERS = [
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]


class Guard:
    """Checks host, origin and token, bounds bodies, and adds the headers that keep a page safe.

    Parameters
    ----------
    app : ASGI application
    settings : Settings
    count : callable
        Takes path and status of each answer.
    """

    def __init__(
        self, app: ASGIApp, settings: Settings, count: Callable[[str, int], object]
    ) -> None:
        self._app = app
        self._settings = settings
        self._count = count
        self._token = None if settings.token is None else settings.token.encode()
        self._held = 0  # bytes of all bodies that are being read or answered
        self._checked = TrustedHostMiddleware(self._check, settings.hosts, www_redirect=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        begun = False

        async def guarded(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                self._count(scope["path"], message["status"])
                message = {**message, "headers": [*message.get("headers", []), *_HEADERS]}
            await send(message)

        refused = Refused(500, "Something went wrong in the service.")
        try:
            await self._checked(scope, receive, guarded)
            return
        except ClientDisconnect:  # before its request was whole: no answer can arrive
            return
        except Refused as known:
            refused = known
        except Exception as error:
            _LOG.error("A request failed: %s", shortened(ascii(error)))
            _LOG.debug("It failed here.", exc_info=True)
        if not begun:
            await _answer(refused.status, refused.reason, guarded)

    async def _check(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for this host, if its site and its token are right."""
        headers = Headers(scope=scope)
        site = headers.get("origin", "").partition("://")[2]
        if "origin" in headers and site.lower() != headers["host"].lower():
            raise Refused(403, "Requests from other sites are not answered.")
        if self._is_link(scope):
            await _redirect(self._settings.token or "", send)
            return
        if scope["path"] not in _OPEN_PATHS:
            self._check_token(headers)
        body = _Body(self._settings, headers, receive)
        try:
            await self._app(scope, self._bounded(body), send)
        finally:
            self._held -= body.size

    def _is_link(self, scope: Scope) -> bool:
        """Whether a request is for the printed link, with the right token."""
        if self._token is None or scope["path"] != "/" or b"token=" not in scope["query_string"]:
            return False
        self._compare(parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0])
        return True

    def _check_token(self, headers: Headers) -> None:
        given = headers.get("authorization", "")
        if given[:7].lower() == "bearer ":
            self._compare(given[7:].strip())
        else:
            self._compare(unquote(cookie_parser(headers.get("cookie", "")).get(_COOKIE, "")))

    def _compare(self, given: str) -> None:
        if self._token is None or hmac.compare_digest(given.encode(), self._token):
            return
        raise Refused(
            401,
            "A token is needed: open the link that the service printed, or send the header "
            "'Authorization: Bearer TOKEN'.",
        )

    def _bounded(self, body: _Body) -> Receive:
        """Return a way to read a body while there is memory for it."""

        async def receive() -> Message:
            before = body.size
            try:
                message = await body.receive()
            finally:
                self._held += body.size - before
            if self._held > _BODIES * self._settings.most_bytes:
                raise Refused(503, "The service is busy with other requests: try again later.")
            return message

        return receive


class _Body:
    """A body that is given up when it is too long, or not whole in time."""

    def __init__(self, settings: Settings, headers: Headers, receive: Receive) -> None:
        self._most = settings.most_bytes
        if "transfer-encoding" in headers:  # each byte could be a chunk of its own
            raise Refused(411, "Send the body whole, with its Content-Length.")
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit() and len(length) < 20):
            raise Refused(400, "The header Content-Length is not a number.")
        self._check(int(length))
        self._receive = receive
        self._end = asyncio.get_running_loop().time() + settings.patience
        self._done = False
        self.size = 0  # bytes so far

    async def receive(self) -> Message:
        """Return the next part; behind the last one, wait for the client to go away."""
        if self._done:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._end):
                message = await self._receive()
        except TimeoutError:
            raise Refused(408, "The body did not arrive in time.") from None
        self._done = not message.get("more_body", False)
        self.size += len(message.get("body", b""))
        self._check(self.size)
        return message

    def _check(self, size: int) -> None:
        if size > self._most:
            raise Refused(413, f"The body is too large: at most {self._most:,} bytes are taken.")


async def _redirect(token: str, send: Send) -> None:
    cookie = f"{_COOKIE}={quote(token, safe='')}; Path=/; HttpOnly; SameSite=Strict"
    headers = [(b"location", b"/"), (b"set-cookie", cookie.encode()), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 303, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


async def _answer(status: int, reason: str, send: Send) -> None:
    body = json.dumps({"error": reason}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
