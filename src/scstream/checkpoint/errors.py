"""The errors of a checkpoint that cannot be read."""

from __future__ import annotations


class CheckpointError(ValueError):
    """A file is not a valid checkpoint: truncated, changed, or something else entirely."""


class UnsupportedCheckpointError(CheckpointError):
    """A file is whole, but not for this program: of a later format, or of an unknown family."""


def require(condition: object, otherwise: str) -> None:
    """Raise `CheckpointError` with what is wrong unless the condition holds."""
    if not condition:
        raise CheckpointError(f"In the checkpoint, {otherwise}.")
