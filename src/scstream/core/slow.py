"""Say once that the plain core is why batches are slow."""

from __future__ import annotations

import os

from scstream import core
from scstream.support.messages import warn

_SLOW = 0.5  # seconds of a batch
_said: list[float] = []


def tell_if_slow(seconds: float) -> None:
    """Say once that a batch was slow for want of the native core, unless plain was chosen."""
    if seconds < _SLOW or _said or core.name() == "native" or os.environ.get("SCSTREAM_CORE"):
        return
    _said.append(seconds)
    warn(
        f"a batch took {seconds:.1f} s on the plain core. The native core is many times as fast: "
        "install a wheel of scstream, or install it again where there is a C++ compiler"
    )
