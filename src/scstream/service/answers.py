"""Rows of a request, and what the model says of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.families.columns import Columns, columns_of
from scstream.model import ScStream
from scstream.service.guard import Refused
from scstream.sources.table import array_of

ARROW = "application/vnd.apache.arrow.stream"
JSON = "application/json"


def read_rows(body: bytes, kind: str, most: int) -> tuple[Any, dict[str, Any]]:
    """Return the rows of a request, an array or columns with names, and what else it says.

    Parameters
    ----------
    body : bytes
    kind : str
        The ``Content-Type``: JSON or an Arrow stream.
    most : int
        The most rows that are taken.
    """
    kind = kind.partition(";")[0].strip().lower()
    rows: Any
    more: dict[str, Any] = {}
    if kind == ARROW:
        rows = _read_arrow(body)
    elif kind == JSON:
        rows, more = _read_json(body)
    else:
        raise Refused(415, f"Send rows as {JSON} or {ARROW}, and say which in Content-Type.")
    n = rows.shape[0]
    if n > most:
        raise Refused(413, f"There are {n:,} rows; at most {most:,} are taken at once.")
    if n == 0:
        raise Refused(422, "There are no rows.")
    return rows, more


def for_model(rows: Any, model: ScStream) -> Any:
    """Return the rows of a request as a model takes them.

    Those without names are in the order of the model's columns, whose names need not be said
    again; a model that knows no names takes columns in the order in which they came.
    """
    named = hasattr(model, "feature_names_in_")
    if isinstance(rows, Columns):
        return rows if named or not model.n_batches_ else np.column_stack(rows.values)
    if named and rows.dtype.kind == "f":
        return Columns(list(rows.T), range(rows.shape[1]), len(rows), rows)
    return columns_of(rows) if named else rows


def _read_json(body: bytes) -> tuple[Any, dict[str, Any]]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        raise Refused(400, "The body is not JSON.") from None
    more: dict[str, Any] = {}
    if isinstance(found, dict):
        more = {name: value for name, value in found.items() if name != "rows"}
        found = found.get("rows")
    if not isinstance(found, list):
        raise Refused(422, 'Send {"rows": [[...], ...]}, or a list of rows.')
    try:
        rows = np.array(found, dtype=float)  # as most requests are; null becomes NaN
    except (TypeError, ValueError):
        rows = None  # some are words, or have names
    if rows is None or rows.ndim != 2:
        rows = _read_carefully(found)
    return rows, more


def _read_carefully(found: list[Any]) -> Any:
    """Return rows that are not plain numbers, or say what is wrong with them."""
    if found and all(isinstance(row, dict) for row in found):
        return _named(found)
    if not all(isinstance(row, list) for row in found):
        raise Refused(422, "Each row must be a list of values, or an object of names and values.")
    if len({len(row) for row in found}) > 1:
        raise Refused(422, "All rows must have the same number of values.")
    rows = np.empty((len(found), len(found[0]) if found else 0), dtype=object)
    for i, row in enumerate(found):
        rows[i] = row
    if any(isinstance(value, list | dict) for value in rows.flat):
        raise Refused(422, "Values must be numbers, words or null.")
    return rows


def _named(rows: list[dict[str, Any]]) -> Columns:
    """Return rows that name their values; what a row does not name is missing."""
    names = list(rows[0])
    if len(names) > 1 and all(len(row) == len(names) for row in rows):
        try:
            table = np.array(list(map(itemgetter(*names), rows)), dtype=float)
            return Columns(list(table.T), names, len(rows), table)
        except (KeyError, TypeError, ValueError):
            pass  # other names, or words
    names = list(dict.fromkeys(name for row in rows for name in row))
    return Columns([_column([row.get(name) for row in rows]) for name in names], names, len(rows))


def _column(values: list[Any]) -> NDArray[Any]:
    try:
        column = np.array(values, dtype=float)  # null becomes NaN
        if column.ndim == 1:
            return column
    except (TypeError, ValueError):
        pass
    if any(isinstance(value, list | dict) for value in values):
        raise Refused(422, "Values must be numbers, words or null.")
    return np.array(values, dtype=object)


def _read_arrow(body: bytes) -> Columns:
    try:
        import pyarrow as pa
    except ImportError:
        raise Refused(
            415, "This service does not accept Arrow: it needs the extra 'parquet'."
        ) from None
    try:
        with pa.ipc.open_stream(body) as reader:
            table = reader.read_all()
    except (pa.ArrowInvalid, pa.ArrowException, OSError):
        raise Refused(400, "The body is not an Arrow stream.") from None
    columns = [array_of(column.combine_chunks()) for column in table.columns]
    return Columns(columns, [str(name) for name in table.column_names], table.num_rows)


ANSWERS: dict[str, Callable[[ScStream, Any], Any]] = {
    "label": lambda model, X: model.predict(X),
    "probability": lambda model, X: np.asarray(model.predict_proba(X)).max(axis=1),
    "score": lambda model, X: model.score_samples(X),
    "anomaly": lambda model, X: model.anomaly(X),
    "group": lambda model, X: model.predict_group(X),
}


def answer(model: ScStream, rows: Any, fields: list[str]) -> dict[str, list[Any]]:
    """Return what the model says of the rows: a list for each of the fields asked for."""
    unknown = [name for name in fields if name not in ANSWERS]
    if unknown:
        raise Refused(422, f"Unknown field {unknown[0]!r}; choose from {', '.join(ANSWERS)}.")
    X = for_model(rows, model)
    return {name: np.asarray(ANSWERS[name](model, X)).tolist() for name in fields}


def to_arrow(found: dict[str, list[Any]]) -> bytes:
    """Return answers as an Arrow stream."""
    import pyarrow as pa

    table, out = pa.table(found), pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    body: bytes = out.getvalue().to_pybytes()
    return body
