"""What a run saves with the model, read back from a checkpoint and checked."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scstream.checkpoint import CheckpointError
from scstream.sources.base import Batch, Place

if TYPE_CHECKING:
    from scstream.model import ScStream


@dataclass
class Totals:
    """Counts over a whole run, that before a resume included."""

    rows: int = 0
    batches: int = 0
    rejected: int = 0
    births: int = 0
    deaths: int = 0
    splits: int = 0
    merges: int = 0
    returns: int = 0
    widened: int = 0

    def add(self, model: ScStream, batch: Batch) -> None:
        """Count a batch that was learned."""
        record = model.history_[-1]
        self.rows += batch.n
        self.batches += 1
        for name in ("births", "deaths", "splits", "merges", "returns"):
            setattr(self, name, getattr(self, name) + len(getattr(record, name)))
        self.widened += sum(change.of_column for change in record.widened)


@dataclass(frozen=True)
class RunState:
    """Where a run stood: its places, its counts and its settings."""

    source: Place
    outputs: dict[str, Place]
    totals: Totals
    settings: dict[str, Any]

    @classmethod
    def of(cls, extra: dict[str, Any], path: Path) -> RunState:
        """Return what a run saved in a checkpoint, or raise `CheckpointError`."""
        if "source" not in extra or "outputs" not in extra:
            raise CheckpointError(f"{path} holds a model, but it is not a checkpoint of a run.")
        parts = {name: extra.get(name) for name in ("source", "outputs", "totals", "settings")}
        for name, part in parts.items():
            if not isinstance(part, dict):
                raise _unsound(path, f"{name} is {str(part)[:80]!r}")
        for name, place in extra["outputs"].items():
            if not isinstance(place, dict):
                raise _unsound(path, f"the place of {name!r} is {str(place)[:80]!r}")
        known = {field.name for field in fields(Totals)}
        counts = extra["totals"]
        if not set(counts) <= known or any(type(n) is not int or n < 0 for n in counts.values()):
            raise _unsound(path, f"totals are {str(counts)[:80]!r}")
        return cls(extra["source"], extra["outputs"], Totals(**counts), extra["settings"])


@contextlib.contextmanager
def blaming(path: Path) -> Iterator[None]:
    """Turn what an impossible place provokes in a source or an output into a clear error."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
        raise _unsound(path, f"{type(error).__name__}: {error}") from error


def _unsound(path: Path, what: str) -> CheckpointError:
    return CheckpointError(f"{path} holds what no run could have written: {what}.")
