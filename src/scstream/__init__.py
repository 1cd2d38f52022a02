"""Clustering of data streams with a Dirichlet process mixture.

What the package offers is loaded on first use: most of its own start-up is scikit-learn's, and
a program that only asks for the version, or for a generator of streams, need not wait for it.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scstream.buffer import Buffer
    from scstream.checkpoint import CheckpointError
    from scstream.events import Event
    from scstream.families import (
        Bernoulli,
        Categorical,
        Composition,
        CountShares,
        Diagonal,
        DiagonalStudent,
        Directional,
        Exponential,
        Family,
        Gamma,
        Gaussian,
        Hurdle,
        Multinomial,
        NegativeBinomial,
        OneHot,
        Poisson,
        Product,
        Spherical,
        Student,
    )
    from scstream.merging import divide, merge
    from scstream.model import ScStream
    from scstream.pipeline import run
    from scstream.sampler.rules import Rules
    from scstream.service import serve
    from scstream.tuning import tune
    from scstream.versions import show_versions

__version__ = "0.1.0"

__all__ = [
    "Bernoulli",
    "Buffer",
    "Categorical",
    "CheckpointError",
    "Composition",
    "CountShares",
    "Diagonal",
    "DiagonalStudent",
    "Directional",
    "Event",
    "Exponential",
    "Family",
    "Gamma",
    "Gaussian",
    "Hurdle",
    "Multinomial",
    "NegativeBinomial",
    "OneHot",
    "Poisson",
    "Product",
    "Rules",
    "ScStream",
    "Spherical",
    "Student",
    "__version__",
    "divide",
    "merge",
    "run",
    "serve",
    "show_versions",
    "tune",
]

# All other names are families.
_HOME = {
    "Buffer": "scstream.buffer",
    "CheckpointError": "scstream.checkpoint",
    "Event": "scstream.events",
    "Rules": "scstream.sampler.rules",
    "ScStream": "scstream.model",
    "divide": "scstream.merging",
    "merge": "scstream.merging",
    "run": "scstream.pipeline",
    "serve": "scstream.service",
    "show_versions": "scstream.versions",
    "tune": "scstream.tuning",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'scstream' has no attribute {name!r}")
    value = getattr(import_module(_HOME.get(name, "scstream.families")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
