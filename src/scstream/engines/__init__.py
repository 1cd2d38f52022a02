"""Engines: where the points of a batch live and what passes over them."""

from scstream.engines.base import Engine, EngineLost, FewRows, Key, RemoteRows, Sums
from scstream.engines.choose import make_engine
from scstream.engines.cpu import CpuEngine
from scstream.engines.dask.engine import DaskEngine

__all__ = [
    "CpuEngine",
    "DaskEngine",
    "Engine",
    "EngineLost",
    "FewRows",
    "Key",
    "RemoteRows",
    "Sums",
    "make_engine",
]
