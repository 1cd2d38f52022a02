"""Sinks that write some fields of each row, alone or behind the input's columns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.sinks.base import FIELDS, Floats, Sink, check_fields
from scstream.sources.base import Batch
from scstream.sources.records import Records


class FieldSink(Sink):
    """What such sinks share: the fields, whether the input's columns come first, rows so far."""

    def __init__(self, fields: Sequence[str], *, append: bool) -> None:
        self.fields = check_fields(fields)
        self.append = append
        self.needs = frozenset(self.fields)
        self._rows = 0

    def write(
        self,
        batch: Batch,
        labels: NDArray[np.int64],
        probability: Floats | None,
        score: Floats | None,
        anomaly: Floats | None = None,
        group: NDArray[np.int64] | None = None,
    ) -> None:
        """Write a batch's rows."""
        if self.append and batch.rows is None:
            raise ValueError("The source does not provide its rows, so nothing can be appended.")
        known = labels, probability, score, anomaly, group
        self._write(batch, [known[FIELDS.index(name)] for name in self.fields])
        self._rows += batch.n

    @abstractmethod
    def _write(self, batch: Batch, found: list[Any]) -> None:
        """Write a batch's rows, with the values (n,) of each field."""

    def _numbers(self, batch: Batch) -> NDArray[np.int64]:
        """Return the numbers (n,) of a batch's rows."""
        if batch.numbers is not None:
            return batch.numbers
        return np.arange(self._rows + 1, self._rows + batch.n + 1)


def dicts_of(rows: Any) -> list[dict[str, Any]]:
    """Return the input's rows, each by the names of its columns."""
    return rows.dicts() if isinstance(rows, Records) else [dict(row) for row in rows]


def names_of(rows: Any) -> list[str]:
    """Return the names of the input's columns."""
    return list(rows.names) if isinstance(rows, Records) else list(rows[0])
