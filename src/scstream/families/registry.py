"""The families that are made from their name alone: all but those that need arguments."""

from __future__ import annotations

from scstream.families.contract import Family

BY_NAME: dict[str, type[Family]] = {}  # which the package fills as it is imported
