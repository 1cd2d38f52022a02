"""Sources: where the rows of a stream come from.

A source of a new kind is a module with a function ``open_url(url, options)``, and one line here or
an entry point of the group ``scstream.sources`` in a package of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from scstream.sources.base import Batch as Batch
from scstream.sources.base import MalformedRow as MalformedRow
from scstream.sources.base import Place as Place
from scstream.sources.base import Reject as Reject
from scstream.sources.base import Source as Source
from scstream.sources.listing import CLOUDS, Listing, listed
from scstream.sources.options import FORMATS as FORMATS
from scstream.sources.options import SourceOptions as SourceOptions
from scstream.sources.schemes import opener_of

# What comes before "://", and the module whose ``open_url(url, options)`` returns the source.
SCHEMES = {
    "kafka": "scstream.sources.kafka",
    "redis": "scstream.sources.redis",
    "rediss": "scstream.sources.redis",
}

_ENDINGS = {
    ".csv": "csv",
    ".txt": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".npy": "npy",
}

_ONLY_FOR = {
    "header": ("csv", "tsv"),
    "separator": ("csv", "tsv"),
    "decimal": ("csv", "tsv"),
    "encoding": ("csv", "tsv", "jsonl"),
}
_PACKED = {".gz", ".bz2", ".xz", ".zst", ".zip"}  # behind the ending that says the format


def open_source(source: Any, options: SourceOptions | None = None) -> Source:
    r"""Return the source of rows in files, behind a URL or in memory.

    Parameters
    ----------
    source : str, Path, sequence of these, or table
        A file, a folder, a pattern such as ``day*.csv``, several of these, ``-`` for standard
        input; a URL such as ``kafka://broker:9092/topic`` or ``s3://bucket/day*.csv``; or a table
        or an iterable of tables: data frames, arrays, record batches, the result of a query.
    options : SourceOptions, optional

    Returns
    -------
    Source

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from scstream.sources import SourceOptions, open_source
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "points.csv"
    >>> _ = file.write_text("x,y\n1,2\n3,4\n5,6\n")
    >>> with open_source(file, SourceOptions(batch_size=2)) as source:
    ...     [(list(batch.X.labels), batch.n) for batch in source]
    [(['x', 'y'], 2), (['x', 'y'], 1)]
    """
    options = SourceOptions() if options is None else options
    specs = _names_of_files(source)
    if specs is None:
        from scstream.sources.frames import FramesSource

        return FramesSource(source, options)
    scheme, mark, _ = specs[0].partition("://")
    if mark and scheme not in CLOUDS:
        if len(specs) > 1:
            raise ValueError(f"A stream behind a URL is read alone, and {specs[1]!r} comes, too.")
        opened: Source = opener_of(specs[0], "sources", SCHEMES)(specs[0], options)
        return opened
    if "-" in specs:
        if len(specs) > 1:
            raise ValueError("Standard input (-) is read alone, not among files.")
        return _open_files(Listing(specs), options)
    endings = {*_ENDINGS} if options.format is None else _endings_of(options.format)
    return _open_files(listed(specs, sorted({*endings, *_PACKED})), options)


def _names_of_files(source: Any) -> list[str] | None:
    """Return the names of files or the URL; None for what is in memory."""
    if isinstance(source, str | PathLike):
        return [str(source)]
    named = isinstance(source, Sequence) and len(source) > 0
    if named and all(isinstance(one, str | PathLike) for one in source):
        return list(map(str, source))
    return None


def _endings_of(format: str) -> set[str]:
    return {ending for ending, kind in _ENDINGS.items() if kind == format}


def format_of(spec: str, given: str | None) -> str:
    """Return the format of a file: the given one, or that of its name."""
    if given is not None:
        return given
    if spec == "-":
        return "csv"
    path = Path(spec)
    if path.suffix.lower() in _PACKED:
        path = path.with_suffix("")
    known = _ENDINGS.get(path.suffix.lower())
    return known or _format_by_content(spec)


def _format_by_content(spec: str) -> str:
    """Return the format of a file whose name does not say it, by its first bytes."""
    if not Path(spec).is_file():  # a pipe; or there is none, which opening it will say
        return "csv"
    with open(spec, "rb") as file:
        head = file.read(64)
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"ARROW1"):
        return "arrow"
    if head.startswith(b"\x93NUMPY"):
        return "npy"
    return "jsonl" if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")) else "csv"


def _open_files(files: Listing, options: SourceOptions) -> Source:
    kinds = {path: format_of(path, options.format) for path in files.paths}
    first, kind = next(iter(kinds.items()))
    if other := next((path for path in kinds if kinds[path] != kind), None):
        raise ValueError(
            f"Files of one stream have one format: {first} is {kind}, and {other} is "
            f"{kinds[other]}."
        )
    for name, formats in _ONLY_FOR.items():
        if getattr(options, name) is not None and kind not in formats:
            raise ValueError(
                f"{first} has the format {kind}; the option {name} is for {', '.join(formats)} "
                "only."
            )
    if kind in ("npy", "parquet", "arrow") and files.paths == ["-"]:
        raise ValueError("Standard input is read as CSV, TSV or JSON lines only.")
    if kind == "npy":
        from scstream.sources.frames import open_npy

        if len(kinds) > 1 or files.system is not None:
            raise ValueError("A NumPy array is read alone, from this machine.")
        return open_npy(first, options)
    if kind in ("parquet", "arrow"):
        from scstream.sources.frames import open_arrow

        return open_arrow(files, kind, options)
    from scstream.sources.text import open_text

    return open_text(files, kind, options)
