"""Files of Parquet and Arrow, one or many, here or in the cloud (``scstream[parquet]``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from numpy.typing import NDArray

from scstream.sources.frames import FramesSource
from scstream.sources.listing import Listing
from scstream.sources.options import SourceOptions
from scstream.sources.table import CHUNK_ROWS, TableSource, array_of
from scstream.support.extras import need_package

_WORDS = {"parquet": "a Parquet file", "arrow": "an Arrow or Feather file"}
_AHEAD = 2  # record batches that are read ahead


class DatasetSource(TableSource):
    """Reads Parquet, Arrow and Feather files as one table, one group of rows after the other."""

    def __init__(self, files: Listing, kind: str, options: SourceOptions) -> None:
        super().__init__(files.name, options)
        dataset = need_package("pyarrow.dataset", "parquet", "Parquet and Arrow need pyarrow")
        self._parts, self._sizes = [], []
        for path in files.paths:
            try:
                with files.open(path):  # pyarrow words it otherwise if there is no such file
                    pass
                one = dataset.dataset(
                    path, filesystem=files.system, format="ipc" if kind == "arrow" else kind
                )
                self._parts += list(one.get_fragments())
                self._sizes.append(one.count_rows())
            except (OSError, ValueError) as error:
                if isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError):
                    raise
                raise ValueError(f"{path} is not {_WORDS[kind]}: {error}") from None
            self._check_columns(path, one.schema.names)
        self._schema = self._parts[0].physical_schema

    def _check_columns(self, path: str, names: Sequence[str]) -> None:
        lacking = [name for name in self._parts[0].physical_schema.names if name not in names]
        if lacking:
            raise ValueError(
                f"{path} lacks the columns {', '.join(map(repr, lacking[:20]))} of the files "
                "before it."
            )

    @property
    def names(self) -> Sequence[str]:
        """The columns' names."""
        return list(self._schema.names)

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return sum(self._sizes)

    def _lots(self, start: int) -> Iterator[list[NDArray[Any]]]:
        for part, n in zip(self._parts, self._sizes, strict=True):
            if start >= n:
                start -= n
                continue
            groups = part.split_by_row_group() if hasattr(part, "row_groups") else [part]
            for group in groups:
                rows = group.row_groups[0].num_rows if group is not part else n
                if start < rows:
                    yield from self._rows_of(group, start)
                start = max(0, start - rows)

    def _rows_of(self, group: Any, start: int) -> Iterator[list[NDArray[Any]]]:
        """Give the rows of a part from a row on."""
        lots = group.to_batches(
            columns=self.names, batch_size=CHUNK_ROWS, batch_readahead=_AHEAD, use_threads=False
        )
        for lot in lots:
            if start < lot.num_rows:
                yield [array_of(column) for column in lot.slice(start).columns]
            start = max(0, start - lot.num_rows)


class _StreamFile:
    """A file in the format of Arrow streams, which can be read again."""

    def __init__(self, files: Listing) -> None:
        self._files = files

    def __iter__(self) -> Iterator[Any]:
        ipc = need_package("pyarrow.ipc", "parquet", "Arrow needs pyarrow")
        for path in self._files.paths:
            with self._files.open(path) as raw, ipc.open_stream(raw) as lots:
                yield from lots


def open_arrow(files: Listing, kind: str, options: SourceOptions) -> TableSource:
    """Return the source of Parquet or Arrow files; the latter have one of two formats."""
    if kind == "arrow":
        with files.open(files.paths[0]) as raw:
            streams = raw.read(4) == b"\xff" * 4
        if streams:
            return FramesSource(_StreamFile(files), options, files.name)
    return DatasetSource(files, kind, options)
