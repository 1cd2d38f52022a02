"""The contract of a sink: what happens to each batch, and what is safely written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from scstream.sources.base import Batch, Place
from scstream.sources.records import Records
from scstream.support.advice import Advice, advised

if TYPE_CHECKING:
    from scstream.model import ScStream

FIELDS = ("label", "probability", "score", "anomaly", "group")
WRITTEN = FIELDS[:3]  # unless others are asked for

Floats = NDArray[np.float64]
Found = Mapping[str, NDArray[Any]]


class Output(ABC):
    """Something that a run writes, and that can be taken back to where it was at a checkpoint.

    A run begins with `check`, which changes nothing. `truncate` makes the output, once the first
    batch has been accepted; `place` after `sync` is what a checkpoint keeps.
    """

    needs: frozenset[str] = frozenset()  # of `FIELDS`: what costs time to compute

    def check(self, place: Place) -> None:
        """Raise `ValueError` if `truncate` would fail or destroy something; change nothing."""
        return

    @abstractmethod
    def truncate(self, place: Place) -> None:
        """Go back to a place and write on from there; an empty place is the beginning."""

    @abstractmethod
    def place(self) -> Place:
        """Return how far the output has come, as plain JSON."""

    def identity(self) -> Place:
        """Return a place at the beginning that identifies this output among others of its name.

        A run that is killed before its first checkpoint knows its outputs by it.
        """
        return {}

    def sync(self) -> None:
        """Bring all that was written to the disk."""
        return

    def verify(self) -> None:
        """Raise `ValueError` if something else changed or removed what was written."""
        return

    def close(self) -> None:
        """Close files."""
        return


class Sink(Output):
    """Takes what is known of each row."""

    @abstractmethod
    def write(self, batch: Batch, found: Found) -> None:
        """Write a batch's rows.

        ``found`` has what is known of each row (n,) by the names of `FIELDS`: ``label`` and what
        any output `needs`. A label of -1 is an outlier's, a probability says how sure the label is.
        """


class FieldSink(Sink):
    """A sink that writes some fields of each row, alone or behind the input's columns.

    Parameters
    ----------
    fields : sequence of {"label", "probability", "score", "anomaly", "group"}
    append : bool
        Whether the input's columns come first.
    """

    def __init__(self, fields: Sequence[str] = WRITTEN, *, append: bool = False) -> None:
        self.fields = check_fields(fields)
        self.append = append
        self.needs = frozenset(self.fields)
        self._rows = 0  # so far

    def write(self, batch: Batch, found: Found) -> None:
        """Write a batch's rows."""
        if self.append and batch.rows is None:
            raise ValueError("The source does not provide its rows, so nothing can be appended.")
        self._write(batch, [found[name] for name in self.fields])
        self._rows += batch.n

    @abstractmethod
    def _write(self, batch: Batch, found: list[Any]) -> None:
        """Write a batch's rows, with the values (n,) of each field."""

    def _numbers(self, batch: Batch) -> NDArray[np.int64]:
        """Return the numbers (n,) of a batch's rows."""
        if batch.numbers is not None:
            return batch.numbers
        return np.arange(self._rows + 1, self._rows + batch.n + 1)


def check_fields(fields: Sequence[str]) -> tuple[str, ...]:
    """Return the fields to write, or say which one there is not."""
    for name in fields:
        if name not in FIELDS:
            raise ValueError(f"Unknown field {name!r}; choose from {', '.join(FIELDS)}.")
    if not fields or len(set(fields)) < len(fields):
        raise ValueError(f"Fields must be some of {', '.join(FIELDS)}, each once.")
    return tuple(fields)


def dicts_of(rows: Any) -> list[dict[str, Any]]:
    """Return the input's rows, each by the names of its columns."""
    return rows.dicts() if isinstance(rows, Records) else [dict(row) for row in rows]


def names_of(rows: Any) -> list[str]:
    """Return the names of the input's columns."""
    return list(rows.names) if isinstance(rows, Records) else list(rows[0])


class Recorder(Output):
    """Takes what is known of the model after each batch."""

    @abstractmethod
    def observe(self, model: ScStream, batch: Batch, score: Floats | None) -> None:
        """Note what the model is after a batch was learned."""


def count_of(place: Place, name: str) -> int:
    """Return a count that a checkpoint holds of an output, 0 if it holds none."""
    value = place.get(name, 0)
    if type(value) is not int or not 0 <= value < 2**62:
        raise ValueError(
            f"The checkpoint's place of an output is not sound: {name} is {str(value)[:80]!r}."
        )
    return value


def check_format(place: Place, format: str, path: object) -> None:
    """Raise `ValueError` if an output was begun in another format."""
    begun = place.get("format", format)
    if begun != format:
        raise advised(
            ValueError(
                f"{path} was begun as {begun!r}, and now it is to be {format!r}. Continue with "
                "that format, or start over with another output and another folder."
            ),
            Advice("output_format", begun, "to continue"),
        )


def column_names(fields: Sequence[str], taken: Sequence[str]) -> list[str]:
    """Return names for the fields that the input's columns do not have."""
    if set(fields) & set(taken):
        return [f"scstream_{name}" for name in fields]
    return list(fields)
