"""Addresses of brokers' streams: ``kafka://broker:9092/topic?group=name``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from scstream.sources.options import SourceOptions

_END = 5.0  # seconds of silence that end a stream which is not followed
_ONLY_FILES = (
    "format", "header", "separator", "decimal", "missing", "time_column", "period", "live",
)  # fmt: skip


def yes_or_no(text: str) -> bool:
    """Read a truth value."""
    if text not in ("yes", "no"):
        raise ValueError(f"{text!r} is neither 'yes' nor 'no'")
    return text == "yes"


_SHARED: dict[str, Callable[[str], Any]] = {
    "start": str,
    "timed": yes_or_no,
    "max_wait": float,
    "max_idle": float,
    "on_gap": str,
}


@dataclass(frozen=True)
class Address:
    """Where a stream is: the server's part of the URL, the stream's name, the settings."""

    server: str
    stream: str
    settings: dict[str, Any]


def read_url(url: str, known: Mapping[str, Callable[[str], Any]]) -> Address:
    """Return the parts of a URL whose settings are the known ones and those of all brokers."""
    parts = urlsplit(url)
    stream = unquote(parts.path.strip("/"))
    if not parts.netloc or not stream or "/" in stream:
        raise ValueError(f"{url} must have the form {parts.scheme}://server:port/stream.")
    readers = {**_SHARED, **known}
    settings = {}
    for name, text in parse_qsl(parts.query, keep_blank_values=True):
        if name not in readers:
            raise ValueError(f"{url}: there is no setting {name!r}; there are {sorted(readers)}.")
        try:
            settings[name] = readers[name](text)
        except ValueError as error:
            raise ValueError(f"{url}: setting {name!r}: {error}.") from None
    return Address(parts.netloc, stream, settings)


def message_options(options: SourceOptions) -> dict[str, Any]:
    """Return what `SourceOptions` mean for a source of messages, or refuse what means nothing."""
    defaults = {one.name: one.default for one in fields(SourceOptions)}
    for name in _ONLY_FILES:
        given, default = getattr(options, name), defaults[name]
        if (tuple(given) if isinstance(default, tuple) else given) != default:
            raise ValueError(f"{name} is for files; a broker's messages are JSON, in their order.")
    columns: Any = options.columns
    if options.text:
        if columns is None:
            raise ValueError("With a broker, text columns must be among columns: give both.")
        unknown = [name for name in options.text if name not in columns]
        if unknown:
            raise ValueError(f"Text column {unknown[0]!r} is not among the columns {columns}.")
        columns = {name: "text" if name in options.text else None for name in columns}
    return {
        "columns": columns,
        "batch_size": options.batch_size,
        "max_wait": options.wait,
        "max_idle": None if options.follow else _END,
        "numeric": options.numeric,
        "complete": options.complete,
        "on_reject": "keep" if options.on_error == "reject" else "raise",
    }
