"""How to get into a broker: user, password, certificates. They stay out of every text."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from scstream.support.advice import Advice

IN_A_FILE = Advice("access", when="or in a file")
_FROM_ENVIRONMENT = ("user", "password")


@dataclass(frozen=True)
class Access:
    """What a server asks for before it lets a client in.

    Attributes
    ----------
    user : str, optional
    password : str, optional
    mechanism : str, optional
        Kafka alone: how user and password are sent; PLAIN by default.
    tls : bool, optional
        Kafka alone: whether to encrypt. Redis says so by ``rediss://``.
    ca : str, optional
        A file with the certificates that sign servers'; by default the system's.
    certificate, key : str, optional
        Files with a certificate of one's own and its key.

    Examples
    --------
    >>> from scstream.sources.access import Access
    >>> Access(user="reader", password="secret")
    Access(user='reader', ...)
    """

    user: str | None = None
    password: str | None = field(default=None, repr=False)
    mechanism: str | None = None
    tls: bool | None = None
    ca: str | None = None
    certificate: str | None = None
    key: str | None = None

    def over(self, other: Access | None) -> Access:
        """Return this, with what it leaves open taken from another."""
        if other is None:
            return self
        return Access(**{**_given(other), **_given(self)})

    @classmethod
    def from_environment(cls, broker: str) -> Access:
        """Return what variables such as ``SCSTREAM_REDIS_PASSWORD`` say."""
        before = f"SCSTREAM_{broker.upper()}_"
        found: dict[str, Any] = {
            name: os.environ.get(before + name.upper()) for name in _FROM_ENVIRONMENT
        }
        return cls(**found)

    @classmethod
    def from_file(cls, path: str | Path) -> Access:
        """Return what a TOML file says: ``password = "..."`` and so on, one a line."""
        try:
            found = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError):
            # The error of the reader may repeat what is in the file.
            raise ValueError(
                f'{path} is not a TOML file with lines such as user = "reader".'
            ) from None
        return cls._checked(found, path)

    @classmethod
    def _checked(cls, found: Mapping[str, Any], path: str | Path) -> Access:
        known = [one.name for one in fields(cls)]
        for name, value in found.items():
            if name not in known:
                raise ValueError(f"{path}: unknown setting {name!r}; choose from {known}.")
            kind, words = (bool, "true or false") if name == "tls" else (str, "text in quotes")
            if not isinstance(value, kind):
                raise ValueError(f"{path}: {name} must be {words}.")
        return cls(**found)

    def check_means(self, broker: str, means: tuple[str, ...]) -> None:
        """Refuse what a broker cannot do anything with, rather than leave it out."""
        for name in ("mechanism", "tls"):
            if getattr(self, name) is not None and name not in means:
                raise ValueError(f"{name} means nothing to {broker}; leave it out.")
        if self.key is not None and self.certificate is None:
            raise ValueError("A key needs the certificate that it belongs to: give both.")


def _given(access: Access) -> dict[str, Any]:
    values = {one.name: getattr(access, one.name) for one in fields(access)}
    return {name: value for name, value in values.items() if value is not None}
