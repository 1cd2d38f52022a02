"""What opens a URL, by its scheme: a module of ours, or an installed package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any


def opener_of(url: str, kind: str, ours: Mapping[str, str]) -> Callable[..., Any]:
    """Return the function that opens a URL: ours by its scheme, or an entry point of a package.

    Packages announce theirs in the group ``scstream.sources`` or ``scstream.sinks``.
    """
    scheme = url.partition("://")[0]
    if scheme in ours:
        found: Callable[..., Any] = import_module(ours[scheme]).open_url
        return found
    others = {point.name: point for point in entry_points(group=f"scstream.{kind}")}
    if scheme not in others:
        known = ", ".join(f"{name}://" for name in [*ours, *sorted(others)])
        raise ValueError(
            f"Nothing that is installed opens {scheme}:// as one of the {kind}; there are {known} "
            "and files."
        )
    opened: Callable[..., Any] = others[scheme].load()
    return opened
