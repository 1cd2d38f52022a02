"""Parquet: one file, or a folder of parts where a run must be able to go back."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from scstream.sinks.base import (
    WRITTEN,
    FieldSink,
    check_format,
    column_names,
    count_of,
    dicts_of,
    names_of,
)  # fmt: skip
from scstream.sources.base import Batch, Place
from scstream.sources.records import ColumnRecords
from scstream.sources.table import require_parquet
from scstream.support.atomic import Replacement
from scstream.support.paths import (
    check_file,
    check_place,
    exists,
    identity,
    is_special,
    look,
    os_error,
)

_GROUP = 1 << 16  # rows that are written at once
_PART = re.compile(r"\.?part-(\d{6,})\.parquet(\.\w+\.scstream-tmp\.parquet)?", re.ASCII)
_FORMAT = "parquet"


class ParquetSink(FieldSink):
    """Writes Parquet.

    A Parquet file is sound only once it is closed, and cannot be cut. Where a run keeps
    checkpoints, the output is therefore a folder of files, one from each checkpoint to the next,
    which all readers of Parquet take for one table.

    Parameters
    ----------
    path : str or Path
    fields : sequence of {"label", "probability", "score", "anomaly", "group"}
    append : bool
        Whether the input's columns come first. Otherwise it is the number of the row.
    parts : bool
        Whether to write a folder of files, one for each `sync`.
    overwrite : bool
        Whether an existing file, or folder of such parts, may be replaced. A folder that
        holds anything else is never touched.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        fields: Sequence[str] = WRITTEN,
        append: bool = False,
        parts: bool = False,
        overwrite: bool = False,
    ) -> None:
        super().__init__(fields, append=append)
        self._parquet = require_parquet()
        self.path = Path(path)
        self.parts = parts
        self.overwrite = overwrite
        self._part = 0
        self._bytes = 0  # of all parts together
        self._schema: Any = None
        self._writer: Any = None
        self._new: Replacement | None = None  # the file that is being written
        self._held: list[Any] = []

    def check(self, place: Place) -> None:
        """Make sure that the output can be begun at a place."""
        check_format(place, _FORMAT, self.path)
        found = look(self.path)
        if found is not None and is_special(found):
            raise ValueError(f"{self.path} is not a regular file, which Parquet needs.")
        if not self.parts or (found is not None and not stat.S_ISDIR(found.st_mode)):
            check_file(self.path, overwrite=self.overwrite)
        elif found is None and "parts" not in place:
            check_place(self.path)
        elif "parts" in place:
            self._check_parts(count_of(place, "parts"), place.get("bytes"))
        elif found is not None and place.get("file") != identity(found):
            self._check_folder()

    def _check_folder(self) -> None:
        """Raise an error if a folder holds something, or more than may be replaced."""
        names = os.listdir(self.path)
        strange = sorted(name for name in names if _PART.fullmatch(name) is None)
        if strange:
            raise ValueError(
                f"{self.path} is a folder that holds other files ({strange[0]!r}). Name another "
                "output: scstream never replaces a folder that it did not write."
            )
        if names and not self.overwrite:
            raise exists(self.path)

    def _check_parts(self, parts: int, size: int | None) -> None:
        """Raise an error unless the first parts are there, with so many bytes together."""
        total = 0
        for number in range(parts):
            found = look(self._name(number))
            if found is None:
                raise ValueError(
                    f"{self._name(number)} is missing, which the checkpoint knows of. Put it back, "
                    "or start over: remove the checkpoints and name another output."
                )
            total += found.st_size
        if size is not None and total != size:
            raise ValueError(
                f"{self.path} was changed: its parts have {total:,} bytes where {size:,} were "
                "written. Put them back, or start over: remove the checkpoints and name another "
                "output."
            )

    def truncate(self, place: Place) -> None:
        """Go back to a place: the parts after it are removed."""
        import pyarrow as pa

        self.check(place)
        self._part, self._rows = count_of(place, "parts"), count_of(place, "rows")
        self._bytes = count_of(place, "bytes")
        if "schema" in place:
            kinds = [(name, pa.type_for_alias(kind)) for name, kind in place["schema"]]
            self._schema = pa.schema(kinds)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not self.parts:
            return
        if self.path.is_file():
            self.path.unlink()
        self.path.mkdir(exist_ok=True)
        for file in self.path.iterdir():
            match = _PART.fullmatch(file.name)
            if match is not None and int(match[1]) >= self._part:
                file.unlink()

    def place(self) -> Place:
        """Return how many parts, bytes and rows there are."""
        place: Place = {"parts": self._part, "rows": self._rows, "format": _FORMAT}
        place["bytes"] = self._bytes
        if self._schema is not None:
            place["schema"] = [[field.name, str(field.type)] for field in self._schema]
        return place

    def identity(self) -> Place:
        """Return what identifies the folder among others of its name."""
        found = look(self.path)
        return {} if found is None or not self.parts else {"file": identity(found)}

    def verify(self) -> None:
        """Make sure that all parts are as they were left."""
        if self.parts:
            self._check_parts(self._part, self._bytes)

    def _write(self, batch: Batch, found: list[Any]) -> None:
        import pyarrow as pa

        names, columns = self._first_columns(batch)
        names += column_names(self.fields, names)
        table = pa.table([*columns, *map(pa.array, found)], names=names)
        self._held.append(self._cast(table))
        if sum(held.num_rows for held in self._held) >= _GROUP:
            self._write_held()

    def _first_columns(self, batch: Batch) -> tuple[list[str], list[Any]]:
        """Return names and columns of what comes first: the input's columns, or row numbers."""
        import pyarrow as pa

        rows = batch.rows
        if not self.append:
            return ["row"], [pa.array(self._numbers(batch))]
        if isinstance(rows, ColumnRecords):
            return list(rows.names), [pa.array(column) for column in rows.columns]
        names, dicts = names_of(rows), dicts_of(rows)
        return names, [_array([row.get(name) for row in dicts]) for name in names]

    def _cast(self, table: Any) -> Any:
        """Return a table with the columns' types as they were at first."""
        import pyarrow as pa

        if self._schema is None:
            self._schema = table.schema
        try:
            return table.cast(self._schema)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
            raise ValueError(
                f"The type of a column has changed, and Parquet does not allow that: {error}. "
                "Write CSV or JSON lines instead."
            ) from None

    def _write_held(self) -> None:
        if not self._held:
            return
        import pyarrow as pa

        with self._clean():
            if self._writer is None:
                self._new = Replacement(self._name(self._part))  # readers skip hidden files
                self._writer = self._parquet.ParquetWriter(self._new.path, self._schema)
            self._writer.write_table(pa.concat_tables(self._held))
        self._held = []

    @contextlib.contextmanager
    def _clean(self) -> Iterator[None]:
        """Leave nothing of a file that the disk has no room for, and name the output."""
        try:
            yield
        except OSError as error:
            self._discard()
            raise os_error(error, self.path) from error

    def _name(self, number: int) -> Path:
        return self.path / f"part-{number:06d}.parquet" if self.parts else self.path

    def _end_part(self) -> None:
        """Close the file, bring it to the disk and give it its name."""
        self._write_held()
        if self._writer is None or self._new is None:
            return
        with self._clean():
            self._writer.close()
            with open(self._new.path, "r+b") as file:  # Windows syncs only what may be written
                os.fsync(file.fileno())
                self._bytes += os.fstat(file.fileno()).st_size
        self._writer = None
        if not self.parts:
            check_file(self._new.target, overwrite=self.overwrite)  # it may have come since
        self._new.commit()
        self._new = None
        self._part += 1

    def sync(self) -> None:
        """End the part, if there are parts."""
        self.verify()
        if self.parts:
            self._end_part()

    def close(self) -> None:
        """End the file."""
        self._end_part()

    def _discard(self) -> None:
        """Remove what was written of a file that is not finished."""
        self._held = []
        if self._writer is not None:
            with contextlib.suppress(OSError):
                self._writer.close()
            self._writer = None
        if self._new is not None:
            self._new.discard()
            self._new = None


def _array(values: list[Any]) -> Any:
    """Return plain values as a column: numbers as such, anything else as text."""
    import pyarrow as pa

    if all(v is None or isinstance(v, int | float) for v in values):
        return pa.array([None if v is None else float(v) for v in values], pa.float64())
    return pa.array([v if v is None or isinstance(v, str) else str(v) for v in values])
