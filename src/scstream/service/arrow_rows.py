"""Rows of an Arrow stream: checked message by message before anything is decoded."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scstream.families.columns import Columns
from scstream.service.refused import Refused, check_names, check_size
from scstream.service.settings import Settings
from scstream.sources.table import array_of

_MOST_MESSAGES = 10_000
_EXPANSION = 4  # decoded bytes for each byte that a body may have


def read_arrow(body: bytes, settings: Settings) -> Columns:
    """Return the rows of an Arrow stream, or raise `Refused`.

    What is compressed is counted before it is decompressed. Each record batch is counted and
    validated in full before any of its values is read.
    """
    try:
        import pyarrow as pa
    except ImportError:
        raise Refused(
            415, "This service does not accept Arrow: it needs the extra 'parquet'."
        ) from None
    try:
        _check_messages(pa.ipc.MessageReader.open_stream(pa.py_buffer(body)), settings)
        with pa.ipc.open_stream(pa.py_buffer(body)) as reader:
            names = list(reader.schema.names)
            check_names(names)
            for field in reader.schema:
                if not _is_plain(field.type, pa):
                    raise Refused(
                        422,
                        f"A column of type {str(field.type)[:50]} is not accepted: send numbers, "
                        "truth values, words or dates.",
                    )
            lots = list(_decoded(reader, settings, pa))
    except MemoryError:
        raise Refused(413, "The Arrow stream is too large to decode.") from None
    except (pa.ArrowException, OSError, ValueError, ArithmeticError, struct.error):
        raise Refused(400, "The body is not a valid Arrow stream.") from None
    columns = [np.concatenate(parts) for parts in zip(*lots, strict=True)]
    return Columns(columns, names, len(columns[0]) if columns else 0)


def _check_messages(messages: Any, settings: Settings) -> None:
    """Raise `Refused` for messages that must not be decoded; their layout is checked by pyarrow."""
    left = _EXPANSION * settings.most_bytes
    for i, message in enumerate(messages):
        if i >= _MOST_MESSAGES:
            raise Refused(413, f"At most {_MOST_MESSAGES:,} record batches are taken at once.")
        data = bytes(message.metadata)
        header = _Table(data, struct.unpack_from("<I", data)[0]).table(2)
        if message.type == "schema":
            if b"ARROW:extension:name" in data:  # its description would be parsed
                raise Refused(422, "Arrow's extension types are not accepted.")
            continue
        if message.type == "dictionary":
            if header.number(2, "<b"):  # they would be joined before they can be validated
                raise Refused(422, "Dictionaries that grow are not accepted: send each one whole.")
            header = header.table(1)
        if any(length < 0 for length, _ in header.pairs(1)):
            raise ValueError("a column has a negative length")
        if header.slot(3):  # compressed: each buffer begins with its length
            for offset, length in header.pairs(2):
                size = struct.unpack_from("<q", message.body, offset)[0] if length > 0 else 0
                left -= max(size, 0)
        if left < 0:
            raise Refused(413, "The Arrow stream is too large when it is decompressed.")


class _Table:
    """A table of the messages' format, FlatBuffers: fields by number, all of them optional."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self._at = at
        self._fields = at - self._read("<i", at)
        self._size = self._read("<H", self._fields)

    def _read(self, kind: str, at: int) -> int:
        return int(struct.unpack_from(kind, self._data, at)[0])

    def slot(self, i: int) -> int:
        """Return where a field is; 0 if it is not there."""
        there = 4 + 2 * i < self._size and self._read("<H", self._fields + 4 + 2 * i)
        return self._at + there if there else 0

    def number(self, i: int, kind: str) -> int:
        """Return a number, 0 if it is not there."""
        return self._read(kind, self.slot(i)) if self.slot(i) else 0

    def table(self, i: int) -> _Table:
        """Return a table within this one."""
        at = self.slot(i)
        if not at:
            raise ValueError("a field is missing")
        return _Table(self._data, at + self._read("<I", at))

    def pairs(self, i: int) -> list[tuple[int, int]]:
        """Return the pairs of numbers in a vector."""
        at = self.slot(i)
        begin = at + self._read("<I", at) if at else len(self._data)
        end = begin + 4 + 16 * self._read("<I", begin) if at else begin
        return list(struct.iter_unpack("<qq", self._data[begin + 4 : end]))


def _is_plain(kind: Any, pa: Any) -> bool:
    """Whether a type holds numbers, truth values, words or dates, or a dictionary of them."""
    types = pa.types
    if types.is_dictionary(kind):
        return not types.is_dictionary(kind.value_type) and _is_plain(kind.value_type, pa)
    tests = (
        types.is_null, types.is_boolean, types.is_integer, types.is_floating, types.is_decimal,
        types.is_date, types.is_timestamp, types.is_duration, _is_text,
    )  # fmt: skip
    return any(test(kind) for test in tests)


def _is_text(kind: Any) -> bool:
    return str(kind) in ("string", "large_string", "string_view")


def _decoded(batches: Any, settings: Settings, pa: Any) -> Iterator[list[NDArray[Any]]]:
    """Return the columns of each record batch once it is valid, and its rows are counted."""
    rows = words = 0
    for batch in batches:
        rows += batch.num_rows
        check_size(rows, batch.num_columns, settings)
        for column in batch.columns:
            if pa.types.is_dictionary(column.type):
                words += len(column.dictionary)
        if words > settings.most_values:
            raise Refused(413, "The dictionaries are too large: send fewer record batches.")
        batch.validate(full=True)
        yield [_column(column, settings, pa) for column in batch.columns]


def _column(column: Any, settings: Settings, pa: Any) -> NDArray[Any]:
    if pa.types.is_dictionary(column.type):
        return _of_dictionary(column, settings, pa)
    _check_words(column, settings)
    return array_of(column)


def _of_dictionary(column: Any, settings: Settings, pa: Any) -> NDArray[Any]:
    """Return a column of places in a dictionary as its words; each word is one object."""
    words, places = column.dictionary, column.indices
    if len(words) > len(places):
        _check_words(words, settings)
        return _column(words.take(places), settings, pa)
    found = np.append(_column(words, settings, pa), [None])
    places = places.cast(pa.int64()).fill_null(len(words))
    out: NDArray[Any] = found[places.to_numpy(zero_copy_only=False)]
    return out


def _check_words(column: Any, settings: Settings) -> None:
    """Raise `Refused` for words that are too long."""
    if not _is_text(column.type):
        return
    lengths = _lengths(column)
    if lengths.max(initial=0) > settings.longest_word:
        raise Refused(422, f"A word is longer than {settings.longest_word:,} bytes.")
    if lengths.sum() > _EXPANSION * settings.most_bytes:
        raise Refused(413, "The words of a column are too long together.")


def _lengths(column: Any) -> NDArray[np.int64]:
    """Return the lengths of words in bytes, 0 for those that are missing."""
    import pyarrow.compute as pc

    if str(column.type) == "string_view":  # 16 bytes each, of which the length comes first
        views = np.frombuffer(column.buffers()[1] or b"", "<i4")[::4]
        lengths = views[column.offset : column.offset + len(column)].astype(np.int64)
        lengths[column.is_null().to_numpy(zero_copy_only=False)] = 0
        return lengths
    counted = pc.binary_length(column).fill_null(0).to_numpy(zero_copy_only=False)
    return np.asarray(counted, dtype=np.int64)
