"""Clustering of data streams with a Dirichlet process mixture.

What the package offers is loaded on first use: most of its own start-up is scikit-learn's, and
a program that only asks for the version, or for a generator of streams, need not wait for it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scstream.families import Family, Gaussian, Multinomial
    from scstream.model import ScStream
    from scstream.tuning import tune

__version__ = "0.1.0"

_HOME = {
    "Family": "scstream.families",
    "Gaussian": "scstream.families",
    "Multinomial": "scstream.families",
    "ScStream": "scstream.model",
    "tune": "scstream.tuning",
}

__all__ = ["Family", "Gaussian", "Multinomial", "ScStream", "__version__", "tune"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'scstream' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
