"""Rows of a request, and what the model says of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.model import ScStream
from scstream.service.guard import Refused

ARROW = "application/vnd.apache.arrow.stream"
JSON = "application/json"


@dataclass(frozen=True)
class Named:
    """Rows whose values have names.

    Attributes
    ----------
    names : list of str
    columns : list of ndarray (n,)
    """

    names: list[str]
    columns: list[NDArray[Any]]

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    def for_model(self, model: ScStream) -> Any:
        """Return the rows as a model takes them: by name, if it knows its columns by name."""
        if hasattr(model, "feature_names_in_"):
            import pandas as pd

            return pd.DataFrame(dict(zip(self.names, self.columns, strict=True)))
        return np.column_stack(self.columns)


def read_rows(body: bytes, kind: str, most: int) -> tuple[Any, dict[str, Any]]:
    """Return the rows of a request, an array or `Named`, and what else it says.

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
    if len(rows) > most:
        raise Refused(413, f"There are {len(rows):,} rows; at most {most:,} are taken at once.")
    if len(rows) == 0:
        raise Refused(422, "There are no rows.")
    return rows, more


def for_model(rows: Any, model: ScStream) -> Any:
    """Return the rows of a request as a model takes them."""
    return rows.for_model(model) if isinstance(rows, Named) else rows


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
    if found and all(isinstance(row, dict) for row in found):
        return _named(found), more
    if not all(isinstance(row, list) for row in found):
        raise Refused(422, "Each row must be a list of values, or an object of names and values.")
    if len({len(row) for row in found}) > 1:
        raise Refused(422, "All rows must have the same number of values.")
    try:
        return np.array(found, dtype=float), more
    except (TypeError, ValueError):
        pass  # some are words
    rows = np.array(found, dtype=object)
    if rows.ndim != 2:
        raise Refused(422, "Values must be numbers, words or null.")
    return rows, more


def _named(rows: list[dict[str, Any]]) -> Named:
    """Return rows that name their values; what a row does not name is missing."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return Named(names, [_column([row.get(name) for row in rows]) for name in names])


def _column(values: list[Any]) -> NDArray[Any]:
    try:
        return np.array(values, dtype=float)  # None becomes NaN
    except (TypeError, ValueError):
        return np.array(values, dtype=object)


def _read_arrow(body: bytes) -> Named:
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
    columns = [column.to_numpy() for column in table.columns]
    return Named([str(name) for name in table.column_names], columns)


def _labels(model: ScStream, X: Any) -> NDArray[Any]:
    return np.asarray(model.predict(X))


def _probabilities(model: ScStream, X: Any) -> NDArray[Any]:
    best: NDArray[Any] = np.asarray(model.predict_proba(X)).max(axis=1)
    return best


def _scores(model: ScStream, X: Any) -> NDArray[Any]:
    return np.asarray(model.score_samples(X))


def _anomalies(model: ScStream, X: Any) -> NDArray[Any]:
    return np.asarray(model.anomaly(X))


def _groups(model: ScStream, X: Any) -> NDArray[Any]:
    return np.asarray(model.predict_group(X))


ANSWERS: dict[str, Callable[[ScStream, Any], NDArray[Any]]] = {
    "label": _labels,
    "probability": _probabilities,
    "score": _scores,
    "anomaly": _anomalies,
    "group": _groups,
}


def answer(model: ScStream, rows: Any, fields: list[str]) -> dict[str, list[Any]]:
    """Return what the model says of the rows: a list for each of the fields asked for."""
    unknown = [name for name in fields if name not in ANSWERS]
    if unknown:
        raise Refused(422, f"Unknown field {unknown[0]!r}; choose from {', '.join(ANSWERS)}.")
    X = for_model(rows, model)
    return {name: ANSWERS[name](model, X).tolist() for name in fields}


def to_arrow(found: dict[str, list[Any]]) -> bytes:
    """Return answers as an Arrow stream."""
    import pyarrow as pa

    table, out = pa.table(found), pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    body: bytes = out.getvalue().to_pybytes()
    return body
