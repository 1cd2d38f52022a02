"""The compiled core, built from the C++ beside this file."""

from scstream.core.native._compiled import approach, choose_nearest, lay_out, scan

__all__ = ["approach", "choose_nearest", "lay_out", "scan"]
