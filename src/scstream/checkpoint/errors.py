"""The errors of a checkpoint that cannot be read."""

from __future__ import annotations


class CheckpointError(ValueError):
    """A file is no sound checkpoint: cut short, changed, or something else altogether."""


class UnsupportedCheckpointError(CheckpointError):
    """A file is whole, but not for this program: of a later format, or of an unknown family."""
