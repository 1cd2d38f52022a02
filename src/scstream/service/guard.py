"""What stands before every request: who asks, for which host, and how much may be sent."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from scstream.service.settings import Settings, is_address, is_any

_LOG = logging.getLogger("scstream.service")
_COOKIE = "scstream_token"
_OPEN_PATHS = frozenset({"/health"})  # say nothing of the data

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


class Refused(Exception):
    """A request that is answered with an error.

    Parameters
    ----------
    status : int
        The HTTP status.
    reason : str
        What was wrong, for the person who sent it.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class Guard:
    """Checks host, origin and token, bounds bodies, and adds the headers that keep a page safe."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._settings = settings
        self._hosts = settings.hosts
        self._token = None if settings.token is None else settings.token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        begun = False

        async def guarded(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                message = {**message, "headers": [*message.get("headers", []), *_HEADERS]}
            await send(message)

        try:
            headers = {name.decode("latin-1"): value for name, value in scope["headers"]}
            self._check_host(headers)
            link = self._token_of_link(scope)
            if link is not None:
                await _redirect(link, guarded)
                return
            if scope["path"] not in _OPEN_PATHS:
                self._check_token(headers)
            receive = self._bounded(headers, receive)
            await self._app(scope, receive, guarded)
        except Refused as refused:
            if not begun:
                await _answer(refused.status, refused.reason, guarded)
        except ClientDisconnect:  # before its request was whole: there is nobody to answer
            return
        except Exception:
            _LOG.exception("A request failed.")
            if not begun:
                await _answer(500, "Something went wrong in the service.", guarded)

    def _check_host(self, headers: dict[str, bytes]) -> None:
        host = _name(headers.get("host", b"").decode("latin-1"))
        known = host in self._hosts
        if not known and not (is_any(self._settings.host) and is_address(host)):
            raise Refused(421, "This service does not answer for that host.")
        origin = headers.get("origin")
        if origin is not None and origin != b"null":
            if urlsplit(origin.decode("latin-1")).netloc != headers["host"].decode("latin-1"):
                raise Refused(403, "Requests from other sites are not answered.")
        elif origin == b"null":
            raise Refused(403, "Requests from other sites are not answered.")

    def _token_of_link(self, scope: Scope) -> str | None:
        """Return the token of the printed link, if this is the link."""
        if self._token is None or scope["path"] != "/" or b"token=" not in scope["query_string"]:
            return None
        given: str = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        self._compare(given)
        return given

    def _check_token(self, headers: dict[str, bytes]) -> None:
        if self._token is None:
            return
        given = headers.get("authorization", b"").decode("latin-1")
        if given[:7].lower() == "bearer ":
            self._compare(given[7:].strip())
            return
        try:
            cookie = SimpleCookie(headers.get("cookie", b"").decode("latin-1")).get(_COOKIE)
        except CookieError:
            cookie = None
        self._compare("" if cookie is None else cookie.value)

    def _compare(self, given: str) -> None:
        if self._token is None or hmac.compare_digest(given.encode("utf-8"), self._token):
            return
        raise Refused(
            401,
            "A token is needed: open the link that the service printed, or send the header "
            "'Authorization: Bearer TOKEN'.",
        )

    def _bounded(self, headers: dict[str, bytes], receive: Receive) -> Receive:
        """Return a way to read the body that gives up when it is too long or too slow."""
        most, left = self._settings.most_bytes, self._settings.most_bytes
        length = headers.get("content-length", b"0")
        if not length.isdigit() or int(length) > most:
            raise Refused(413, f"The body is too large: at most {most:,} bytes are taken.")
        done = False

        async def bounded() -> Message:
            nonlocal left, done
            if done:  # what follows is the client going away, however long that takes
                return await receive()
            try:
                async with asyncio.timeout(self._settings.patience):
                    message = await receive()
            except TimeoutError:
                raise Refused(408, "The body did not arrive in time.") from None
            if message["type"] == "http.request":
                left -= len(message.get("body", b""))
                done = not message.get("more_body", False)
                if left < 0:
                    raise Refused(413, f"The body is too large: at most {most:,} bytes are taken.")
            return message

        return bounded


def _name(host: str) -> str:
    """Return a ``Host`` header without its port, in lower case."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.rpartition(":")[0].lower() if host.count(":") == 1 else host.lower()


async def _redirect(token: str, send: Send) -> None:
    cookie = f"{_COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict"
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
