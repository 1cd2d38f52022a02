"""Columns of a Spark data frame: which ones a model reads, the clock, and rows in a task."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from scstream.model import ScStream

CLOCK = "_scstream_time"
_READABLE = T.IntegralType | T.DoubleType | T.FloatType | T.BooleanType | T.StringType
_DATES = T.TimestampType | T.TimestampNTZType | T.DateType


def column(name: str) -> Column:
    """Return the column of this very name, in which dots and backticks mean nothing."""
    return F.col("`" + name.replace("`", "``") + "`")


def names_of(model: ScStream) -> list[str] | None:
    """Return the names of the columns that a model has learned from; None if it knows none."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def chosen_columns(
    rows: DataFrame, model: ScStream, columns: Sequence[str] | None, others: Collection[str]
) -> list[str]:
    """Return the columns to learn from: those asked for, else the model's, else all but others."""
    if isinstance(columns, str):
        raise TypeError(f"columns must be a list of names; got the text {columns!r}.")
    found = list(columns or names_of(model) or [n for n in rows.columns if n not in others])
    absent = [name for name in [*found, *others] if name not in rows.columns]
    if absent or not found:
        raise ValueError(
            f"The data frame has the columns {rows.columns}; it lacks {absent or 'any to learn'}."
        )
    for field in rows.schema.fields:
        if field.name in found and not isinstance(field.dataType, _READABLE):
            raise TypeError(
                f"Column {field.name!r} is of type {field.dataType.simpleString()}; a model reads "
                "int, double, boolean and string. Cast it, or name others: columns=[...]."
            )
    return found


def is_date(rows: DataFrame, name: str) -> bool:
    """Return whether a column holds dates or times of day, rather than numbers."""
    kind = rows.schema[name].dataType
    if not isinstance(kind, _DATES | T.NumericType):
        raise TypeError(f"The time column {name!r} must hold timestamps, dates or numbers.")
    return isinstance(kind, _DATES)


def clock(rows: DataFrame, name: str) -> Column:
    """Return the time column as a number; timestamps in microseconds since 1970."""
    if is_date(rows, name):
        return F.unix_micros(column(name).cast("timestamp"))
    return column(name).cast("double")


def time_after(model: ScStream, latest: Any, dates: bool) -> Any:
    """Return the time of a batch whose latest row has the given clock, for `partial_fit`.

    That is later than the batch before: rows that arrive late count as the latest ones do.
    """
    now = model.time_ if model.n_batches_ else None
    if latest is None or math.isnan(latest):
        if now is None:
            raise ValueError("No row of the first batch has a time.")
        latest = -math.inf
    if dates:
        least = -math.inf if now is None else 1e6 * now + 2.0
        return np.datetime64(int(max(latest, least)), "us")
    return float(latest if now is None else max(latest, np.nextafter(now, math.inf)))


def sendable(model: ScStream) -> bytes:
    """Return a model as bytes, or raise if it cannot be sent."""
    if model.kernel is not None:
        raise ValueError("A kernel is a function, which cannot be sent: use a half_life instead.")
    return model.to_bytes()


def read_model(data: bytes) -> ScStream:
    """Return a model in a task, whose cores Spark shares out."""
    model = ScStream.from_bytes(data)
    model.n_jobs = 1
    return model


def rows_for(model: ScStream, rows: pd.DataFrame) -> Any:
    """Return rows with their names, unless the model learned from columns without names."""
    nameless = model.n_batches_ and names_of(model) is None
    return rows.to_numpy() if nameless else rows
