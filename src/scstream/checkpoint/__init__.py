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

    Parameters
    ----------
    path : str or path-like
    kernel : callable, optional
        The kernel that the model had, which a file cannot hold.

    Returns
    -------
    model : ScStream
        It continues exactly where the saved one stopped.
    extra : dict
        Empty if nothing was given to `ScStream.save`.

    Raises
    ------
    CheckpointError
        If the file is not a valid checkpoint. If it is intact, but of a later format or of a family
        that is not known here, it is an `UnsupportedCheckpointError`.
    OSError
        If it cannot be read.
    """
    from scstream.checkpoint.store import load
    from scstream.model import ScStream

    model, extra = load(ScStream, path, kernel)
    return model, extra
