"""What a source is asked for: the choices that sources of all kinds share."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scstream.sources.access import Access
from scstream.support.printable import printable_name

FORMATS = ("csv", "tsv", "jsonl", "parquet", "arrow", "npy")


@dataclass(frozen=True)
class SourceOptions:
    """How a stream is read.

    What is not given is found out from the first rows: the encoding, the separator, the decimal
    point, the header, the clock, and columns that cannot be clustered (identifiers, free text,
    constants), which are left out.

    Attributes
    ----------
    batch_size : int
        Rows of a batch, unless `period` is given.
    columns : sequence of str or int, optional
        The columns to learn from, by name or by number from 0; all but the time's by default.
    exclude : sequence of str or int
        Columns to leave out.
    format : {"csv", "tsv", "jsonl", "parquet", "arrow", "npy"}, optional
        By default what the file's name ends in says, or else its first bytes.
    include : sequence of str or int
        Columns to learn from although they look as if they could not be clustered.
    number : sequence of str or int
        Columns that hold numbers even where their names say that these are codes.
    encoding : str, optional
        The encoding of text; by default UTF-8, or what a look at the file says.
    header : bool, optional
        Whether the first line of CSV and TSV names the columns.
    separator : str, optional
        What stands between fields; a comma in CSV, a tab in TSV.
    decimal : str, optional
        The decimal point of CSV and TSV; a point by default.
    missing : sequence of str
        Words for a missing value besides the empty field, NA, N/A, NaN, null and none; also
        numbers, however these are written.
    text : sequence of str or int
        Columns that hold words even where they look like numbers.
    numeric : bool
        Whether all columns hold numbers: a word in the first row is then no category.
    complete : bool
        Whether a row must have a value in every column: the family takes nothing as missing.
    time_column : str or int, optional
        The column with the times: numbers, or dates, which become seconds; "none" for no clock.
    period : float, optional
        The length of time that a batch covers.
    follow : bool
        Whether to wait at the end of a file for more.
    wait : float, optional
        Seconds after its first row at which a batch is closed early, where rows come later.
    live : bool
        Whether standard input continues where it is after a resume. By default it is expected to
        come again from its beginning, and what was read before is skipped.
    on_error : {"stop", "reject"}
        What becomes of a row that cannot be read.
    keep_rows : bool
        Whether batches carry the records as they came.
    access : Access, optional
        How to log in to a broker: what neither its URL nor this says is taken from the
        environment.
    on_columns : callable, optional
        Called with what each column is taken for, a list of `Role`, once a look has said so.
    keep : bool
        Whether a look leaves no column out by itself: the family says what becomes of each.
    kinds : mapping of str to {"number", "text"}, optional
        What the columns hold, where a model has learned from them before.
    """

    batch_size: int = 1000
    columns: Sequence[str | int] | None = None
    exclude: Sequence[str | int] = ()
    format: str | None = None
    header: bool | None = None
    separator: str | None = None
    decimal: str | None = None
    missing: Sequence[str] = ()
    text: Sequence[str | int] = ()
    numeric: bool = False
    complete: bool = False
    time_column: str | int | None = None
    period: float | None = None
    follow: bool = False
    wait: float | None = None
    live: bool = False
    on_error: str = "stop"
    keep_rows: bool = False
    access: Access | None = None
    include: Sequence[str | int] = ()
    number: Sequence[str | int] = ()
    encoding: str | None = None
    on_columns: Callable[[Any], object] | None = None
    keep: bool = False
    kinds: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        for name, value in (("separator", self.separator), ("decimal", self.decimal)):
            if value is not None and (len(value) != 1 or not value.isascii() or value in '"\r\n'):
                raise ValueError(f"{name} must be one ASCII character; got {value!r}.")
        if self.batch_size < 1:
            raise ValueError(f"batch_size must be at least 1; got {self.batch_size}.")
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except LookupError:
                raise ValueError(
                    f"There is no encoding {self.encoding!r}; choose, for example, utf-8, "
                    "latin-1 or utf-16."
                ) from None
        if self.period is not None and not 0 < self.period < float("inf"):
            raise ValueError(f"period must be positive; got {self.period:g}.")
        if self.wait is not None and not self.wait > 0:
            raise ValueError(f"wait must be positive; got {self.wait:g}.")
        if self.on_error not in ("stop", "reject"):
            raise ValueError(f"on_error must be 'stop' or 'reject'; got {self.on_error!r}.")
        if self.format is not None and self.format not in FORMATS:
            raise ValueError(f"format must be one of {', '.join(FORMATS)}; got {self.format!r}.")


def for_family(family: Any, columns: Sequence[str | int] | None = None) -> dict[str, Any]:
    """Return what a family says about the columns, as `SourceOptions`, beside those named."""
    from scstream.families import BY_NAME

    if not hasattr(family, "blocks"):
        family = getattr(family, "name", family)
        plain = family in BY_NAME
        return {
            "columns": columns,
            "numeric": plain and family != "categorical",
            "complete": plain and not BY_NAME[family].missing,
            "keep": plain and BY_NAME[family].text,
        }
    named = [column for _, some in family.blocks for column in some]
    by_name = all(isinstance(column, str) for column in named)
    return {"columns": named if columns is None and by_name else columns, "keep": not by_name}


def find_column(column: str | int, names: Sequence[str]) -> int:
    """Return where the column of that name, or else of that number from 0, is."""
    if isinstance(column, str) and column in names:
        return list(names).index(column)
    text = str(column)
    if text.isascii() and text.isdecimal() and int(text) < len(names):
        return int(text)
    shown = ", ".join(map(printable_name, names[:20])) + (", ..." if len(names) > 20 else "")
    raise ValueError(f"There is no column {text!r}; there are {len(names)}: {shown}.")
