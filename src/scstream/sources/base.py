"""The contract of a source: batches of rows, and the place in the stream where each one ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from scstream.families.columns import Columns
from scstream.families.widening import Widening
from scstream.support.advice import Advice

Place = dict[str, Any]  # plain JSON: numbers, text, lists and dicts of them
SKIP = Advice("on_error", "reject", "to skip such rows")


class MalformedRow(ValueError):
    """A row that cannot be read; the message says where it is and what is wrong with it."""


@dataclass(frozen=True)
class Reject:
    """A row that was refused and left out.

    Attributes
    ----------
    line : int
        The line, or the number of the row where there are no lines, from 1.
    row : int
        The number of the row, from 1, among all rows that came.
    reason : str
    text : str
        The row as it came.
    file : str
        The file that it is in.
    """

    line: int
    row: int
    reason: str
    text: str
    file: str = field(default="", kw_only=True)


@dataclass(frozen=True)
class Batch:
    """Some rows of a stream.

    Attributes
    ----------
    X : ndarray (n, d) or Columns
        What the model learns from: numbers, or a table's columns where some are text.
    place : dict
        Where the source stands after this batch. Given to `Source.seek`, reading continues with
        the next row: none is read twice, none is skipped.
    time : float or None
        When the batch came, where the source knows it.
    rows : sequence or None
        The records as they came, one per row, for a sink that repeats them next to the labels: a
        `Records`, or any sequence of dicts.
    numbers : ndarray (n,) or None
        The number of each row among all rows that came, from 1: rejected ones count.
    rejects : sequence of Reject
        The rows that were left out before the end of this batch.
    where : str
        Where the rows are, for messages: "data.csv, lines 2 to 1001".
    clock : Widening or None
        That the clock is none any more from this batch on.
    keys : sequence of str
        The name of each row's message, where rows are messages of a broker. It is the same
        whenever the message is read, so that a receiver can detect a repeated result.
    """

    X: NDArray[np.float64] | Columns
    place: Place
    time: float | None = None
    rows: Any = None
    numbers: NDArray[np.int64] | None = None
    rejects: Sequence[Reject] = ()
    where: str = ""
    clock: Widening | None = None
    keys: Sequence[str] = ()

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0])


@dataclass(frozen=True)
class Unread:
    """How much of a stream lies behind a place.

    Attributes
    ----------
    amount : float
    unit : {"bytes", "rows", "messages", "seconds"}
        Seconds are those from the place to the newest message, by the server's clock.
    """

    amount: float
    unit: str


class Source(ABC):
    """A stream of batches: ``for batch in source``.

    A source gives every row at least once. A place that is saved together with the model, in one
    checkpoint, makes its effect on the model exactly once: after a crash the rows after the
    place are read again, by a model that has not seen them.
    """

    @abstractmethod
    def __iter__(self) -> Iterator[Batch]:
        """Read on from where the source stands."""

    @abstractmethod
    def seek(self, place: Place) -> None:
        """Stand where a batch with this place ended. Before the first batch is read.

        Raises `ValueError` if the stream is not the one that the place is in.
        """

    def keep_marks(self) -> None:
        """Be ready for `mark`. Before `seek` and the first batch."""
        return

    def mark(self, place: Place) -> Place:
        """Return the place of the last batch with what `seek` knows the stream again by."""
        return place

    def unread(self, place: Place) -> Unread | None:
        """Return how much has come that lies behind the place of a batch; None if unknown."""
        return None

    def commit(self, place: Place) -> None:
        """Let the server, if there is one, forget what lies before a place that is safely saved."""
        return

    def hand_over(self, place: Place) -> None:
        """Tell the server, if there is one, where a run ended: others may continue there.

        The last checkpoint holds the place. Unlike `commit`, nothing may be deleted by it: if
        that checkpoint turns out damaged, the one before it is needed.
        """
        return

    def share_before(self, place: Place) -> float | None:
        """Return the share of the stream before a place, from 0 to 1; None if it has no end."""
        return None

    def require(self, complete: Sequence[bool]) -> None:
        """Say which columns (d,) must have a value in every row, once the family is known.

        A source that reads row by row refuses those that lack one, and says where they are.
        For others the model refuses the whole batch.
        """
        return

    def close(self) -> None:
        """Close files and connections."""
        return

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
