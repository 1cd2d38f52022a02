"""Where the service listens, who may use it, and its bounds."""

from __future__ import annotations

import ipaddress
import re
import secrets
from dataclasses import dataclass, field
from urllib.parse import quote

_LOOPBACK_NAMES = ("localhost",)
_SENDABLE = re.compile(r"[!-~]+")


@dataclass(frozen=True)
class Settings:
    """How clients reach the service.

    Parameters
    ----------
    host : str, default="127.0.0.1"
        The address to listen on. Any address but a loopback one needs a token.
    port : int, default=0
        The port to listen on; 0 takes one that is free.
    token : str, optional
        The secret that requests must carry. Without one, an address that others can reach gets a
        random token; a loopback address needs none.
    allowed_hosts : tuple of str
        Further names that the ``Host`` header may carry, for a service behind a proxy.
    learning : bool, default=False
        Whether ``POST /learn`` is offered.
    most_bytes : int
        The largest body of a request.
    most_rows : int
        The most rows of a request.
    most_columns, most_values : int
        The most columns, and the most values, of a request.
    longest_word : int
        The most characters of a word among the values.
    most_connections : int
        Beyond this many, connections that have not sent a request are closed, oldest first.
    most_pages : int
        The most pages that may follow the stream at once.
    patience : float
        Seconds that a client may take for a request's head, and for its whole body.
    """

    host: str = "127.0.0.1"
    port: int = 0
    token: str | None = field(default=None, repr=False)
    allowed_hosts: tuple[str, ...] = ()
    learning: bool = False
    most_bytes: int = 16 * 2**20
    most_rows: int = 100_000
    most_columns: int = 10_000
    most_values: int = 4_000_000
    longest_word: int = 1000
    most_connections: int = 500
    most_pages: int = 100
    patience: float = 10.0

    def __post_init__(self) -> None:
        if not 0 <= self.port < 2**16:
            raise ValueError(f"port must be between 0 and 65535; got {self.port}.")
        if any("*" in name.removeprefix("*.") for name in self.allowed_hosts):
            raise ValueError("An allowed host is a name, or *.NAME for all names below one.")
        if self.token is not None and len(self.token) < 8:
            raise ValueError("The token is too short: use at least 8 characters.")
        if self.token is not None and not _SENDABLE.fullmatch(self.token):
            raise ValueError("The token may hold printable ASCII characters only, and no spaces.")
        if self.token is None and not is_loopback(self.host):
            object.__setattr__(self, "token", secrets.token_urlsafe(24))

    @property
    def hosts(self) -> list[str]:
        """The names that a request's ``Host`` header may carry, without a port.

        Any name will do for all addresses of the machine, where a token is always needed.
        """
        names = [*_LOOPBACK_NAMES, "127.0.0.1", "::1", self.host, *self.allowed_hosts]
        if is_any(self.host):
            return ["*"]
        return [f"[{name}]" if ":" in name else name for name in names]

    def link(self, port: int) -> str:
        """Return the address of the page, with the token where there is one."""
        host = "127.0.0.1" if is_any(self.host) else self.host
        host = f"[{host}]" if ":" in host else host
        return f"http://{host}:{port}/" + (
            f"?token={quote(self.token, safe='')}" if self.token else ""
        )


def split_address(text: str) -> tuple[str, int]:
    """Return host and port of ``HOST:PORT``, ``HOST``, ``:PORT`` or ``PORT``.

    Examples
    --------
    >>> split_address("0.0.0.0:8080"), split_address("8080"), split_address("[::1]:80")
    (('0.0.0.0', 8080), ('127.0.0.1', 8080), ('::1', 80))
    """
    host, port = text, ""
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        port = rest.removeprefix(":")
    elif text.isdigit():
        host, port = "", text
    elif text.count(":") == 1:
        host, _, port = text.partition(":")
    if port and not port.isdigit():
        raise ValueError(f"{text!r} is not an address: write HOST:PORT, such as 127.0.0.1:8080.")
    return host or "127.0.0.1", int(port or 0)


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() in _LOOPBACK_NAMES


def is_any(host: str) -> bool:
    """Whether an address means all addresses of the machine."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
