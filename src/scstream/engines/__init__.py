"""Engines: where the points of a batch live and who passes over them."""

from scstream.engines.base import Engine, Key, Sums
from scstream.engines.cpu import CpuEngine

__all__ = ["CpuEngine", "Engine", "Key", "Sums"]
