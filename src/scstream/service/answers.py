"""Rows of a request, and what the model says of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from scstream.families.columns import Columns
from scstream.model import ScStream
from scstream.service.arrow_rows import read_arrow
from scstream.service.json_rows import read_json
from scstream.service.refused import Refused, shortened
from scstream.service.settings import Settings

ARROW = "application/vnd.apache.arrow.stream"
JSON = "application/json"
_ROWS = 4096  # that are answered at once: others' requests are answered in between
_VALUES = 4096  # that become text at once


def read_rows(
    body: bytes, kind: str, settings: Settings, model: ScStream
) -> tuple[Columns, dict[str, Any]]:
    """Return the rows of a request for a model, and what else it says.

    `kind` is the ``Content-Type``: JSON or an Arrow stream.
    """
    kind = kind.partition(";")[0].strip().lower()
    rows: Columns | None
    more: dict[str, Any] = {}
    if kind == ARROW:
        rows = read_arrow(body, settings)
    elif kind == JSON:
        rows, more = read_json(body, settings, _names_of(model))
    else:
        raise Refused(415, f"Send rows as {JSON} or {ARROW}, and say which in Content-Type.")
    if rows is None:
        raise Refused(422, 'Send {"rows": [[...], ...]}, or a list of rows.')
    if 0 in rows.shape:
        raise Refused(422, "There are no rows, or no values of columns that the model knows.")
    return rows, more


def _names_of(model: ScStream) -> Sequence[str] | None:
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else list(names)


def for_model(rows: Columns, model: ScStream) -> Any:
    """Return the rows of a request as a model takes them.

    Those without names are in the order of the model's columns, whose names need not be said
    again; a model that knows no names takes columns in the order in which they came.
    """
    names, own = _names_of(model), isinstance(rows.labels[0], str)
    if own and (names or not model.n_batches_):
        return rows
    if names is None:
        return np.column_stack(rows.values) if rows.matrix is None else rows.matrix
    return replace(rows, labels=names) if len(names) == len(rows.labels) else rows


ANSWERS: dict[str, Callable[[ScStream, Any], Any]] = {
    "label": lambda model, X: model.predict(X),
    "probability": lambda model, X: np.asarray(model.predict_proba(X)).max(axis=1),
    "score": lambda model, X: model.score_samples(X),
    "anomaly": lambda model, X: model.anomaly(X),
    "group": lambda model, X: model.predict_group(X),
}


def check_fields(fields: list[str]) -> None:
    """Raise `Refused` for fields that there are not, or that are asked for twice."""
    for i, name in enumerate(fields):
        if name not in ANSWERS:
            known = ", ".join(ANSWERS)
            raise Refused(422, shortened(f"Unknown field {name!r}; choose from {known}."))
        if name in fields[:i]:
            raise Refused(422, f"The field {name!r} is asked for twice.")


def answer(model: ScStream, rows: Columns, fields: list[str]) -> dict[str, list[Any]]:
    """Return what the model says of some rows after the other: a list for each field."""
    found: dict[str, list[Any]] = {name: [] for name in fields}
    for a in range(0, rows.n, _ROWS):
        values = [column[a : a + _ROWS] for column in rows.values]
        matrix = None if rows.matrix is None else rows.matrix[a : a + _ROWS]
        X = for_model(replace(rows, values=values, n=len(values[0]), matrix=matrix), model)
        for name, said in found.items():
            said += np.asarray(ANSWERS[name](model, X)).tolist()
    return found


def to_json(found: dict[str, Any]) -> str:
    """Return an answer as JSON, of which a piece at a time becomes text."""
    parts = []
    for name, values in found.items():
        text = json.dumps(values) if not isinstance(values, list) else _list(values)
        parts.append(f"{json.dumps(name)}:{text}")
    return "{" + ",".join(parts) + "}"


def _list(values: list[Any]) -> str:
    pieces = (values[a : a + _VALUES] for a in range(0, len(values), _VALUES))
    return "[" + ",".join(json.dumps(piece, separators=(",", ":"))[1:-1] for piece in pieces) + "]"


def to_arrow(found: dict[str, list[Any]]) -> bytes:
    """Return answers as an Arrow stream."""
    import pyarrow as pa

    table, out = pa.table(found), pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    body: bytes = out.getvalue().to_pybytes()
    return body
