"""What stands before every request: who asks, for which host, and how much may be sent."""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import Callable
from urllib.parse import parse_qs, quote, unquote

from starlette.datastructures import Headers
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, cookie_parser
from starlette.responses import JSONResponse, RedirectResponse
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
            headers = {"connection": "close"}
            if refused.status == 401:
                headers["www-authenticate"] = "Bearer"
            answer = JSONResponse({"error": refused.reason}, refused.status, headers)
            await answer(scope, receive, guarded)

    async def _check(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for this host, if its site and its token are right."""
        headers = Headers(scope=scope)
        site = headers.get("origin", "").partition("://")[2]
        if "origin" in headers and site.lower() != headers["host"].lower():
            raise Refused(403, "Requests from other sites are not answered.")
        if self._token is not None and scope["path"] == "/" and b"token=" in scope["query_string"]:
            given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
            await self._enter(given)(scope, receive, send)
            return
        if scope["path"] not in _OPEN_PATHS:
            self._check_token(headers)
        parts: list[bytes] = []
        try:
            await self._read(headers, receive, parts)
            parts[:] = [b"".join(parts)]
            await self._app(scope, _after(parts[0], receive), send)
        finally:
            self._held -= sum(map(len, parts))

    def _enter(self, given: str) -> RedirectResponse:
        """Return the answer to the printed link: the page, with a cookie instead of the token."""
        self._compare(given)
        cookie = f"{_COOKIE}={quote(given, safe='')}; Path=/; HttpOnly; SameSite=Strict"
        return RedirectResponse("/", 303, {"set-cookie": cookie})

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

    async def _read(self, headers: Headers, receive: Receive, parts: list[bytes]) -> None:
        """Read a body whole, in time, and while there is memory for it."""
        most, length = self._settings.most_bytes, headers.get("content-length", "0")
        if "transfer-encoding" in headers:  # each byte could be a chunk of its own
            raise Refused(411, "Send the body whole, with its Content-Length.")
        if not (length.isascii() and length.isdigit() and len(length) < 20):
            raise Refused(400, "The header Content-Length is not a number.")
        if int(length) > most:
            raise Refused(413, f"The body is too large: at most {most:,} bytes are taken.")
        message: Message = {"more_body": True}
        try:
            async with asyncio.timeout(self._settings.patience):
                while message.get("more_body", False):
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ClientDisconnect
                    parts.append(message.get("body", b""))
                    self._held += len(parts[-1])
                    if self._held > _BODIES * most:
                        raise Refused(503, "The service is busy with other requests: try later.")
        except TimeoutError:
            raise Refused(408, "The body did not arrive in time.") from None


def _after(body: bytes, receive: Receive) -> Receive:
    """Return a way to receive a body that is here already, and what comes later."""
    messages: list[Message] = [{"type": "http.request", "body": body}]

    async def again() -> Message:
        return messages.pop() if messages else await receive()

    return again
