"""Addresses of brokers' streams: ``kafka://broker:9092/topic?group=name``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit

from scstream.sources.access import IN_A_FILE, Access
from scstream.sources.options import SourceOptions
from scstream.support.advice import advised
from scstream.support.secrets import hidden_url

_HIGHEST_PORT = 65535
_LOGIN = ("user", "username", "password", "token")  # no settings: URLs are written down
_END = 5.0  # seconds of silence that end a stream which is not followed
_ONLY_FILES = ("format", "header", "separator", "decimal", "encoding", "live")


def yes_or_no(text: str) -> bool:
    """Read a truth value."""
    if text not in ("yes", "no"):
        raise ValueError(f"{text!r} is neither 'yes' nor 'no'")
    return text == "yes"


_SHARED: dict[str, Callable[[str], Any]] = {
    "start": str,
    "timed": yes_or_no,
    "max_idle": float,
    "on_gap": str,
}
# How to get in, and how to bear with a server: none of it makes a stream another one.
_ACCESS: dict[str, Callable[[str], Any]] = {
    "ca": str,
    "certificate": str,
    "key": str,
    "mechanism": str,
    "tls": yes_or_no,
}
_NOT_THE_STREAM = {*_ACCESS, "patience"}


@dataclass(frozen=True)
class Address:
    """The parts of a URL; ``settings`` are for the source or the sink, `access` among them."""

    scheme: str
    server: str
    stream: str
    settings: dict[str, Any]


def read_url(
    url: str, broker: str, known: Mapping[str, Callable[[str], Any]], options: SourceOptions
) -> Address:
    """Return the parts of a source's URL: its settings are the known ones and those of all."""
    defaults = SourceOptions()
    for name in _ONLY_FILES:
        if getattr(options, name) != getattr(defaults, name):
            raise ValueError(f"{name} is for files; a broker's messages are JSON, in their order.")
    at = parse_url(url, broker, {**_SHARED, **known}, options.access)
    idle = {"max_idle": None if options.follow else _END}
    return replace(at, settings={"options": options, **idle, **at.settings})


def parse_url(
    url: str, broker: str, known: Mapping[str, Callable[[str], Any]], access: Access | None
) -> Address:
    """Return the parts of a URL whose settings are the known ones and how to get in.

    The latter is what the URL says, then what is given, then what the environment says.
    """
    given = access
    parts, access = _without_login(url)
    stream = unquote(parts.path.strip("/"))
    if not parts.netloc or not stream or "/" in stream:
        raise ValueError(
            f"{hidden_url(url)} must have the form {parts.scheme}://server:port/stream."
        )
    where = f"{parts.scheme}://{parts.netloc}/{stream}"
    _check_ports(where, parts.netloc)
    readers = {"patience": float, **known, **_ACCESS}
    settings = {}
    for name, text in parse_qsl(parts.query, keep_blank_values=True):
        if name not in readers:
            raise _unknown(where, name, broker, sorted(readers))
        try:
            settings[name] = readers[name](text)
        except ValueError as error:
            raise ValueError(f"{where}: setting {name!r}: {error}.") from None
    mine = Access(**{name: settings.pop(name) for name in _ACCESS if name in settings})
    access = access.over(mine).over(given).over(Access.from_environment(broker))
    return Address(parts.scheme, parts.netloc, stream, {**settings, "access": access})


def _unknown(where: str, name: str, broker: str, known: list[str]) -> ValueError:
    """Return the error of a setting that does not exist, with what to do instead."""
    said = f"{where}: unknown setting {name!r}; "
    if name.lower() not in _LOGIN:
        return ValueError(f"{said}choose from {known}.")
    variable = f"SCSTREAM_{broker.upper()}"
    return advised(
        ValueError(f"{said}give it by {variable}_USER and {variable}_PASSWORD."), IN_A_FILE
    )


def _check_ports(url: str, servers: str) -> None:
    for server in servers.split(","):
        port = server[server.rfind("]") + 1 :].rpartition(":")[2] if ":" in server else ""
        numbered = port.isascii() and port.isdecimal() and 1 <= int(port[:9]) <= _HIGHEST_PORT
        if port and not numbered:
            raise ValueError(f"{url}: {port!r} is not a port, a number from 1 to {_HIGHEST_PORT}.")


def take_login(url: str) -> tuple[str, Access]:
    """Return a URL without user and password, and these.

    Examples
    --------
    >>> from scstream.sources.message_urls import take_login
    >>> take_login("redis://reader:secret@server:6379/rows")
    ('redis://server:6379/rows', Access(user='reader', ...))
    """
    parts, access = _without_login(url)
    return (parts.geturl() if access != Access() else url), access


def _without_login(url: str) -> tuple[SplitResult, Access]:
    try:
        parts = urlsplit(url)
    except ValueError:
        raise ValueError(f"{hidden_url(url)} cannot be read as a URL.") from None
    login, _, server = parts.netloc.rpartition("@")
    if "@" in parts.path or "@" in parts.fragment:
        raise ValueError(
            f"{hidden_url(url)} cannot be read as a URL. In a user or a password write %2F for /, "
            "%3F for ?, %23 for # and %40 for @; or give the password by an environment variable "
            "or a file."
        )
    user, _, password = login.partition(":")
    access = Access(user=unquote(user) or None, password=unquote(password) or None)
    return parts._replace(netloc=server), access


def identity(url: str) -> str:
    """Return a URL without all that says how to get in: what makes it the same stream.

    Examples
    --------
    >>> from scstream.sources.message_urls import identity
    >>> identity("kafka://reader:secret@server:9092/rows?group=g&ca=ca.pem&patience=60")
    'kafka://server:9092/rows?group=g'
    """
    if "://" not in url:
        return url
    parts, _ = _without_login(url)
    settings = parse_qsl(parts.query, keep_blank_values=True)
    left = [(name, text) for name, text in settings if name not in _NOT_THE_STREAM]
    if left == settings and "@" not in url:
        return url
    return parts._replace(query=urlencode(left, safe=",/*>")).geturl()
