"""A model for each key of a stream, as the state of Spark's own query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import types as T
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from scstream.model import ScStream
from scstream.spark.columns import (
    CLOCK,
    chosen_columns,
    clock,
    column,
    is_date,
    read_model,
    rows_for,
    sendable,
    time_after,
)
from scstream.support.times import length

_ADDED = (T.StructField("label", T.LongType()), T.StructField("anomaly", T.DoubleType()))


class _Learning(StatefulProcessor):
    """Learns the rows of a key in a micro-batch; its state is the key's model, as bytes."""

    def __init__(
        self, start: bytes, names: Sequence[str], columns: Sequence[str], dates: bool | None,
        lives: int | None,
    ) -> None:  # fmt: skip
        self._start, self._names, self._columns, self._dates = start, names, columns, dates
        self._lives = lives

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._state = handle.getValueState("model", "model binary", self._lives)

    def handleInputRows(
        self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any
    ) -> Iterator[pd.DataFrame]:
        frame = pd.concat(rows, ignore_index=True)
        frame.columns = pd.Index(self._names)  # Spark renames those that are not identifiers
        known = self._state.get()
        model = read_model(self._start if known is None else known[0])
        X, time = rows_for(model, frame[self._columns]), None
        anomaly = model.anomaly(X) if model.n_batches_ else np.full(len(frame), np.nan)
        if self._dates is not None:
            time = time_after(model, frame.pop(CLOCK).max(), self._dates)
        model.partial_fit(X, time=time)
        self._state.update((model.to_bytes(),))
        yield frame.assign(label=model.labels_, anomaly=anomaly)

    def close(self) -> None:
        """Nothing is open."""


def learn_by_key(
    rows: DataFrame,
    key: str | Sequence[str],
    model: ScStream,
    *,
    columns: Sequence[str] | None = None,
    time: str | None = None,
    ttl: str | timedelta | None = None,
) -> DataFrame:
    """Return the rows of a stream with labels and anomaly scores, learned by a model for each key.

    The models are in Spark's state store, one binary value a key, and so are as safe as its
    checkpoints: a query that was killed goes on with the models of the last completed micro-batch.

    Parameters
    ----------
    rows : pyspark.sql.DataFrame
        A streaming data frame.
    key : str or sequence of str
        The columns that say which model a row belongs to.
    model : ScStream
        What each key starts from: a model that has learned nothing, or one that has.
    columns : sequence of str, optional
        The columns to learn from; by default the model's, or else all but keys and time.
    time : str, optional
        A column of timestamps or numbers. The time of a key's batch is that of its latest row.
        By default each of its batches is one later than the one before.
    ttl : str or datetime.timedelta, optional
        How long the model of a key is stored after the key's last rows, by the clock of the
        machines, such as "30d". A key that comes later starts from `model`. By default for ever.

    Returns
    -------
    pyspark.sql.DataFrame
        The rows, with the columns ``label`` and ``anomaly``; the latter is null in the first batch
        of a key. To be written with the output mode "append".
    """
    keys = [key] if isinstance(key, str) else list(key)
    apart = [*keys, *([] if time is None else [time])]
    names = chosen_columns(rows, model, columns, apart)
    taken = {field.name for field in _ADDED} & set(rows.columns)
    if taken:
        raise ValueError(f"The data frame has the column {taken.pop()!r} already: rename it.")
    lives = None if ttl is None else length(ttl)
    if ttl is not None and not (lives and lives >= 1e-3):
        raise ValueError(f'ttl must be a length of time with a unit, such as "30d"; got {ttl!r}.')
    dates = None if time is None else is_date(rows, time)
    schema = T.StructType([*rows.schema.fields, *_ADDED])
    if time is not None:
        rows = rows.withColumn(CLOCK, clock(rows, time))
    milliseconds = round(1000.0 * lives) if lives else None
    processor = _Learning(sendable(model), rows.columns, names, dates, milliseconds)
    by_key = rows.groupBy(*map(column, keys))
    mode = "ProcessingTime" if lives else "None"  # states that end need a clock
    return by_key.transformWithStateInPandas(processor, schema, "Append", timeMode=mode)
