"""Sources: where the rows of a stream come from.

A source of a new kind is a module with a function ``open_url(url, options)`` and one line here.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from scstream.sources.base import Batch as Batch
from scstream.sources.base import MalformedRow as MalformedRow
from scstream.sources.base import Place as Place
from scstream.sources.base import Reject as Reject
from scstream.sources.base import Source as Source
from scstream.sources.options import FORMATS as FORMATS
from scstream.sources.options import SourceOptions as SourceOptions

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
    ".npy": "npy",
}

_ONLY_FOR = {
    "header": ("csv", "tsv"),
    "separator": ("csv", "tsv"),
    "decimal": ("csv", "tsv"),
    "encoding": ("csv", "tsv", "jsonl"),
}
_PACKED = {".gz", ".bz2", ".xz", ".zst", ".zip"}  # behind the ending that says the format


def open_source(spec: str | Path, options: SourceOptions | None = None) -> Source:
    r"""Return the source for a file name, ``-`` or a URL.

    Parameters
    ----------
    spec : str or Path
        A file, ``-`` for standard input, or a URL such as ``kafka://broker:9092/topic``.
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
    ...     [batch.X.tolist() for batch in source]
    [[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0]]]
    """
    options = SourceOptions() if options is None else options
    scheme, mark, _ = str(spec).partition("://")
    if mark:
        if scheme not in SCHEMES:
            known = ", ".join(f"{name}://" for name in SCHEMES)
            raise ValueError(f"Unknown kind of source {scheme}://; choose from {known} and files.")
        source: Source = import_module(SCHEMES[scheme]).open_url(str(spec), options)
        return source
    return _open_file(str(spec), options)


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
    if head.startswith(b"\x93NUMPY"):
        return "npy"
    return "jsonl" if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"{", b"[")) else "csv"


def _open_file(spec: str, options: SourceOptions) -> Source:
    kind = format_of(spec, options.format)
    for name, kinds in _ONLY_FOR.items():
        if getattr(options, name) is not None and kind not in kinds:
            raise ValueError(
                f"{spec} has the format {kind}; the option {name} is for {', '.join(kinds)} only."
            )
    if kind in ("parquet", "npy"):
        from scstream.sources.table import open_table

        return open_table(spec, kind, options)
    from scstream.sources.text import open_text

    return open_text(spec, kind, options)
