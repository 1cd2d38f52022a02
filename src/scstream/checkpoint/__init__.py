"""Checkpoints: a model in one file, without pickle, under a checksum, written whole or not at all.

See docs/checkpoints.md for the format and what it guarantees.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from scstream.checkpoint.errors import CheckpointError as CheckpointError
from scstream.checkpoint.errors import UnsupportedCheckpointError as UnsupportedCheckpointError
from scstream.checkpoint.registry import register_family as register_family

if TYPE_CHECKING:
    from scstream.model import ScStream

__all__ = ["CheckpointError", "UnsupportedCheckpointError", "read", "register_family"]


def read(
    path: str | os.PathLike[str], *, kernel: Callable[[float], float] | None = None
) -> tuple[ScStream, dict[str, Any]]:
    """Return the model in a file, and what was saved with it.

    The model continues exactly where the saved one stopped. ``kernel`` is the one that it had,
    which a file cannot hold. See `ScStream.load` for what is raised: a `CheckpointError`, or
    `UnsupportedCheckpointError` for an intact file of a later format or an unknown family.
    """
    from scstream.checkpoint.store import load
    from scstream.model import ScStream

    model, extra = load(ScStream, path, kernel)
    return model, extra
