"""The contract of a sink: what happens to each batch, and what is safely written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from scstream.sources.base import Batch, Place
from scstream.support.advice import Advice, advised

if TYPE_CHECKING:
    from scstream.model import ScStream

FIELDS = ("label", "probability", "score", "anomaly", "group")
WRITTEN = FIELDS[:3]  # unless others are asked for

Floats = NDArray[np.float64]


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

    def finish(self) -> None:
        """Give an output that appears as a whole its name: all has been written."""
        return

    def close(self) -> None:
        """Close files."""
        return


class Sink(Output):
    """Takes what is known of each row."""

    @abstractmethod
    def write(
        self,
        batch: Batch,
        labels: NDArray[np.int64],
        probability: Floats | None,
        score: Floats | None,
        anomaly: Floats | None = None,
        group: NDArray[np.int64] | None = None,
    ) -> None:
        """Write a batch's rows.

        Parameters
        ----------
        batch : Batch
        labels : ndarray (n,)
            The cluster of each row; -1 for outliers.
        probability : ndarray (n,) or None
            How sure the label is. None if no sink needs it.
        score : ndarray (n,) or None
            The log predictive density, see `ScStream.score_samples`. None if no sink needs it.
        anomaly : ndarray (n,) or None
            See `ScStream.anomaly`. None if no sink needs it.
        group : ndarray (n,) or None
            The group of the row's cluster. It is only given to sinks that need it.
        """


class Recorder(Output):
    """Takes what is known of the model after each batch."""

    @abstractmethod
    def observe(self, model: ScStream, batch: Batch, score: Floats | None) -> None:
        """Note what the model is after a batch was learned."""


def check_fields(fields: Sequence[str]) -> tuple[str, ...]:
    """Return the fields to write, or say which one there is not."""
    for name in fields:
        if name not in FIELDS:
            raise ValueError(f"Unknown field {name!r}; choose from {', '.join(FIELDS)}.")
    if not fields or len(set(fields)) < len(fields):
        raise ValueError(f"Fields must be some of {', '.join(FIELDS)}, each once.")
    return tuple(fields)


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
