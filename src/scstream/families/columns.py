"""Tables by their columns: what is read from data frames and arrays, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from scstream import core
from scstream.families.registry import BY_NAME
from scstream.families.scores import Array
from scstream.support.messages import advise
from scstream.support.threads import over_rows

LARGEST = np.float64(1e154)  # a number whose square is one too
_ODD_SIZE = "Leave such rows out, or put NaN there if the number is not known."
Column = NDArray[Any]  # (n,): numbers, truth values, text, or objects with None for missing


@dataclass(frozen=True)
class Columns:
    """A table's columns as they came.

    Attributes
    ----------
    values : sequence of ndarray (n,)
    labels : sequence
        What each column is called: its name, or its number in a table without names.
    n : int
        The number of rows.
    matrix : ndarray (n, d), optional
        The same as one array, where all columns are numbers and it was there anyway.
    settled : bool
        Whether more rows than these were looked at: a column of words holds categories.
    """

    values: Sequence[Column]
    labels: Sequence[Any]
    n: int
    matrix: Array | None = None
    settled: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.n, len(self.values)

    def place(self, column: Any) -> int:
        """Return where the column of that name, or else of that number, is."""
        if column in self.labels:
            return list(self.labels).index(column)
        d = len(self.values)
        if isinstance(column, int | np.integer) and -d <= column < d:
            return int(column) % d
        raise ValueError(f"There is no column {column!r}; the columns are {list(self.labels)}.")

    def select(self, places: Sequence[int]) -> Columns:
        """Return some of the columns."""
        matrix = None if self.matrix is None else self.matrix[:, list(places)]
        values = [self.values[j] for j in places]
        return Columns(values, [self.labels[j] for j in places], self.n, matrix, self.settled)

    @property
    def names(self) -> list[str] | None:
        """The columns' names; None if they have only numbers."""
        named = all(isinstance(label, str) for label in self.labels)
        return list(self.labels) if named else None

    def ordered(self, names: Sequence[str]) -> Columns:
        """Return the columns of these names in this order; others are left out."""
        if list(self.labels) == list(names):
            return self
        check_has(self.labels, names)
        return self.select([list(self.labels).index(name) for name in names])

    def refuse(self, j: int, complaint: str, kind: type[Exception] = ValueError) -> Exception:
        """Return an error about a column."""
        return kind(f"Column {self.labels[j]!r} {complaint}")


def check_has(labels: Sequence[Any], names: Sequence[str]) -> None:
    """Raise `ValueError` if a table with columns of these labels lacks some of the names."""
    has = set(labels)
    missing = [name for name in names if name not in has]
    if missing:
        raise ValueError(
            f"The model learned from {quoted(missing)}, but the table has no such "
            f"column{'s' * (len(missing) > 1)}. It has {quoted(labels)}. Add "
            f"{'them' if len(missing) > 1 else 'it'}, with NaN where a value is not known."
        )


def warn_of_unknown(names: Sequence[Any]) -> None:
    """Warn of columns that a model does not know."""
    advise(f"The model learned without {quoted(names)}: such columns are left out.")


def quoted(names: Sequence[Any], most: int = 20) -> str:
    """Return names for a message, the first of them if there are many."""
    shown = ", ".join(map(repr, names[:most]))
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def is_frame(X: Any) -> bool:
    """Whether it is a data frame: named columns that can be taken one by one."""
    return hasattr(X, "columns") and hasattr(X, "__getitem__") and hasattr(X, "shape")


def plain_table(X: Any) -> Any:
    """Return masked arrays, arrays with fields and Arrow tables as plain ones; others as they are.

    Raises `TypeError` for what has no rows yet: a lazy frame, an iterator, the name of a file.
    """
    if type(X) is np.ndarray and X.dtype.names is None:
        return X
    if isinstance(X, np.ndarray):
        if X.dtype.names is not None and X.ndim == 1:
            return Columns([_unmasked(X[name]) for name in X.dtype.names], X.dtype.names, len(X))
        return _unmasked(X)
    if type(X).__name__ == "LazyFrame":
        raise TypeError("A lazy frame has no rows yet: give X.collect().")
    if hasattr(X, "schema") and hasattr(X, "column_names"):  # of Arrow
        values = [_of_arrow(X.column(j)) for j in range(X.num_columns)]
        return Columns(values, list(X.column_names), X.num_rows)
    if isinstance(X, str | PathLike):
        raise TypeError(
            f"X is the text {str(X)!r}, not rows. Read the file first, as with pandas.read_csv, or "
            "use the command `scstream run`."
        )
    if isinstance(X, Iterator):
        raise TypeError("X is an iterator, not a batch: give one batch of its rows at a time.")
    return X


def _unmasked(X: NDArray[Any]) -> NDArray[Any]:
    """Return an array with NaN, or None, for entries that are masked."""
    if not isinstance(X, np.ma.MaskedArray):
        return X
    if not np.ma.is_masked(X):
        return np.asarray(X.data)
    out: NDArray[Any] = X.data.astype(np.float64 if X.dtype.kind in "fiu" else object)
    out[np.ma.getmaskarray(X)] = np.nan if out.dtype.kind == "f" else None
    return out


def _of_arrow(column: Any) -> Column:
    """Return a column of an Arrow table as an array, missing entries of objects as None."""
    if hasattr(column.type, "value_type") and hasattr(column.type, "index_type"):  # categories
        column = column.cast(column.type.value_type)
    return np.asarray(column.to_numpy(zero_copy_only=False))


def check_is_table(X: Any) -> None:
    """Raise for rows in dictionaries, for texts, and for a frame with a column's name twice."""
    first = X[0] if isinstance(X, list) and X else X
    line = getattr(X, "ndim", 0) == 1 and len(X) > 0
    if isinstance(next(iter(X)) if line else first, str):
        raise ValueError(
            "Rows came as texts, not as a table: count their words first, by "
            "HashingVectorizer(n_features=2**14, alternate_sign=False, norm=None).transform(texts) "
            "of scikit-learn, and use family='multinomial'."
        )
    if isinstance(first, Mapping) and not hasattr(first, "shape"):  # which some sparse rows have
        raise TypeError(
            "Rows came as dictionaries, not as a table: give pandas.DataFrame(rows) instead."
        )
    names = list(X.columns) if is_frame(X) else []
    if len(set(names)) < len(names):
        often = max(names, key=names.count)
        raise ValueError(
            f"The column name {often!r} occurs {names.count(often)} times: give every column a "
            "name of its own."
        )


def check_dense(X: Any) -> None:
    """Raise `TypeError` for sparse rows."""
    if sparse.issparse(X):
        raise TypeError(
            "Sparse data was passed, but this family needs dense rows. Use '.toarray()', or "
            "family='multinomial' for counts, such as those of words. Weights such as tf-idf are "
            "not counts."
        )


def holds_counts(X: Any) -> bool:
    """Whether rows are sparse and hold counts."""
    return sparse.issparse(X) and not_counts(X.data) is None


def columns_of(X: Any) -> Columns:
    """Return the columns of a data frame or of a two-dimensional array."""
    if isinstance(X, Columns):
        return X
    if is_frame(X):
        at = X.iloc if hasattr(X, "iloc") else X  # by place: names may occur twice
        values = [_plain(at[:, j]) for j in range(len(X.columns))]
        return Columns(values, list(X.columns), X.shape[0])
    X = np.asarray(X)
    return Columns(list(X.T), list(range(X.shape[1])), X.shape[0])


def _plain(series: Any) -> Column:
    """Return a data frame's column as an array, missing entries of objects as None."""
    values: Column = np.asarray(series.to_numpy())
    if values.dtype.kind != "O":
        return values
    blank = series.isna() if hasattr(series, "isna") else series.is_null()
    values = values.copy()
    values[np.asarray(blank)] = None
    return values


def absent(values: Column) -> NDArray[np.bool_]:
    """Whether each entry is missing: None or NaN."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind != "O":
        return np.zeros(len(values), dtype=bool)
    nothing: NDArray[Any] = np.full((), None, dtype=object)
    out: NDArray[np.bool_] = ((values == nothing) | (values != values)).astype(bool)
    return out


def kind_of(values: Column) -> str:
    """Return what a column holds: "number", "truth", "text", "date" or "other"."""
    if values.dtype.kind == "O":
        kinds = {_kind_of_object(kind) for kind in set(map(type, values[~absent(values)]))}
        return kinds.pop() if len(kinds) == 1 else "other" if kinds else "number"
    of_arrays = {"b": "truth", "M": "date", "m": "date", "U": "text", "S": "text"}
    return "number" if values.dtype.kind in "fiu" else of_arrays.get(values.dtype.kind, "other")


def _kind_of_object(kind: type) -> str:
    if issubclass(kind, bool | np.bool_):
        return "truth"
    if issubclass(kind, str):
        return "text"
    if hasattr(kind, "isoformat") or issubclass(kind, np.datetime64 | np.timedelta64):
        return "date"
    return "number" if hasattr(kind, "__float__") else "other"


def seen_with(before: Array | None, table: Any, n_threads: int = 1) -> Array | None:
    """Return the least and the largest number (2, d) of each column, those of before included.

    NaN stands for columns without numbers. None for sparse rows.
    """
    if isinstance(table, Columns):
        pairs = [_ends(values) for values in table.values]
        matrix = table.matrix
        table = np.array(pairs, dtype=np.float64).reshape(-1, 2).T if matrix is None else matrix
    elif not isinstance(table, np.ndarray):
        return None
    ends = np.full((2, table.shape[1]), np.nan) if before is None else before.copy()
    kind: type[np.floating[Any]] = np.float32 if table.dtype == np.float32 else np.float64
    rows = np.ascontiguousarray(table, kind)

    def widened(at: slice) -> Array:
        own = ends.copy()
        core.widen_ends(rows[at], own)
        return own

    looks = over_rows(widened, len(rows), n_threads, rows.shape[1])
    if len(looks) == 1:
        return looks[0]
    return np.stack([np.fmin.reduce(looks)[0], np.fmax.reduce(looks)[1]])


def _ends(values: Column) -> tuple[float, float]:
    """Return the least and the largest number of a column (n,), NaN where there is none."""
    if kind_of(values) not in ("number", "truth"):
        return np.nan, np.nan
    there = values if values.dtype.kind in "fiub" else values[~absent(values)].astype(np.float64)
    if len(there) == 0:
        return np.nan, np.nan
    return float(np.fmin.reduce(there)), float(np.fmax.reduce(there))


_ADVICE = {
    "text": "Turn it into numbers if it means such, give it to the family 'categorical' (in a "
    "Product, or by family='auto'), or leave it out.",
    "date": "Turn it into numbers, such as the time between rows or the hour of the day, or leave "
    "it out.",
}


def numbers_of(X: Any) -> Array:
    """Return a table as numbers (n, d), NaN where missing; raise if a column is not numeric."""
    if isinstance(X, np.ndarray) and X.dtype.kind in "fiub":
        return np.ascontiguousarray(X, dtype=np.float64)
    table = columns_of(X)
    if table.matrix is not None:
        return np.ascontiguousarray(table.matrix, dtype=np.float64)
    out = np.empty(table.shape)
    for j in range(len(table.values)):
        out[:, j] = _numbers(table, j)
    return out


def finite_numbers(X: Any, family: Any) -> Array:
    """Return a table as finite numbers (n, d), NaN for what is missing if the family takes that."""
    out = numbers_of(X)
    bad = np.abs(out) > LARGEST
    if not family.missing:
        bad |= np.isnan(out)
    if bad.any():
        j = int(np.flatnonzero(bad.any(axis=0))[0])
        if not family.missing and np.isnan(out[:, j]).any():
            raise columns_of(X).refuse(j, f"contains NaN. {needs_all(family.name)}")
        raise columns_of(X).refuse(j, f"contains {_odd_size(out[:, j])}")
    return out


def _odd_size(x: Array) -> str | None:
    """Return which numbers of a column are too large to compute with, None if none is."""
    if np.isinf(x).any():
        return f"infinity. {_ODD_SIZE}"
    large = x[np.abs(x) > LARGEST]
    if len(large) == 0:
        return None
    return f"{large[0]:g}: larger numbers than {LARGEST:g} have no squares. {_ODD_SIZE}"


def needs_all(name: str) -> str:
    """Return what to do about missing entries that a family cannot take."""
    tolerant = ", ".join(repr(other) for other, kind in BY_NAME.items() if kind.missing)
    return (
        f"The family {name!r} needs every entry. Those that take an entry as not observed are "
        f"{tolerant} and a Product of them; or fill in the missing entries, or drop their rows."
    )


def check_numeric(X: Any) -> None:
    """Raise `ValueError` for a column of a data frame, or of objects, that holds no numbers."""
    if isinstance(X, Columns) and X.matrix is not None:
        return
    if (
        isinstance(X, Columns)
        or is_frame(X)
        or (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "OUSMm")
    ):
        table = columns_of(X)
        for j in range(len(table.values)):
            _numbers(table, j)


def _numbers(table: Columns, j: int) -> Array:
    values = table.values[j]
    kind, gaps = kind_of(values), absent(values)
    out = np.full(len(values), np.nan)
    try:
        if kind == "date":
            raise ValueError(f"could not convert date to float: {str(values[~gaps][0])!r}")
        out[~gaps] = values[~gaps].astype(np.float64)
    except (TypeError, ValueError) as error:
        advice = _ADVICE.get(kind, "Turn it into numbers, or leave it out.")
        raise table.refuse(j, f"holds no numbers: {error}. {advice}", type(error)) from None
    return out


def not_counts(x: Array) -> str | None:
    """Return why numbers cannot be counts, None if they are."""
    low = x.min(initial=0.0)
    if low < 0:
        return (
            f"holds {low:g}: counts cannot be negative. "
            "For real-valued columns use 'gaussian' or 'diagonal'."
        )
    odd = x[x != np.floor(x)]
    if len(odd):
        return (
            f"holds {odd[0]:g}: counts are whole numbers. Round them, or use 'gaussian' or "
            "'diagonal' for real-valued columns, 'gamma' for positive ones."
        )
    return None
