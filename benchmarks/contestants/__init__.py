"""The methods that take part, one module a source, each with a tuple ``CONTESTANTS``.

``ALL`` holds them by name. It is gathered when first asked for, so that one module can be used
without the others.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from benchmarks.contestants.base import Contestant

ALL: dict[str, Contestant]

_MODULES = ("ours", "scikit", "river_methods", "denstream", "moa", "pcstream", "sovb", "recent")


@cache
def named(modules: tuple[str, ...] = ()) -> dict[str, Contestant]:
    """Return all contestants by name, with those of further modules."""
    found: dict[str, Contestant] = {}
    for module in (*(f"{__name__}.{own}" for own in _MODULES), *modules):
        for contestant in import_module(module).CONTESTANTS:
            if contestant.name in found:
                raise ValueError(f"two contestants are called {contestant.name!r}")
            found[contestant.name] = contestant
    return found


def __getattr__(name: str) -> dict[str, Contestant]:
    if name == "ALL":
        return named()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
