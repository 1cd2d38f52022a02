"""What a model says of the rows of a data frame, as a column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import pandas as pd
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import pandas_udf

from scstream.model import ScStream
from scstream.spark.columns import column, names_of, read_model, rows_for, sendable

_KINDS = {"predict": "long", "anomaly": "double", "score_samples": "double"}


def predict(
    model: ScStream,
    columns: Sequence[str] | None = None,
    *,
    method: Literal["predict", "anomaly", "score_samples"] = "predict",
) -> Column:
    """Return a column with the label of each row, or another thing that the model says of it.

    The model travels with the query as bytes; each task reads it once. It works on static and on
    streaming data frames. What the model learns afterwards does not change the column.

    Parameters
    ----------
    model : ScStream
        A model that has learned.
    columns : sequence of str, optional
        The columns to read, in the order of the model's; by default those of the same names.
    method : {"predict", "anomaly", "score_samples"}, default="predict"
        The method of the model that is called.

    Returns
    -------
    pyspark.sql.Column
        As in ``rows.withColumn("label", predict(model))``.
    """
    if method not in _KINDS:
        raise ValueError(f"method must be one of {', '.join(_KINDS)}; got {method!r}.")
    if not model.n_batches_:
        raise ValueError("The model has learned nothing yet: call partial_fit or fit first.")
    known = names_of(model)
    names = list(columns or known or ())
    if len(names) != model.n_features_in_ or isinstance(columns, str):
        raise ValueError(
            f"The model learned from {model.n_features_in_} columns: name as many, in its order, "
            f"as columns=[...]; got {columns!r}."
        )
    data = sendable(model)

    def said(frames: Iterator[pd.DataFrame]) -> Iterator[pd.Series]:
        model = read_model(data)
        for rows in frames:
            rows.columns = pd.Index(known or names)
            found = getattr(model, method)(rows_for(model, rows)) if len(rows) else ()
            yield pd.Series(found, dtype="int64" if method == "predict" else "float64")

    make: Any = pandas_udf  # whose overloads are not those of its types
    found: Column = make(said, _KINDS[method])(F.struct(*map(column, names)))
    return found
