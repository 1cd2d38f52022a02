"""Sinks: where labels, events and other findings of a run go."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from scstream.sinks.base import FIELDS as FIELDS
from scstream.sinks.base import WRITTEN
from scstream.sinks.base import Output as Output
from scstream.sinks.base import Recorder as Recorder
from scstream.sinks.base import Sink as Sink
from scstream.sources.access import Access
from scstream.sources.schemes import opener_of

# What comes before "://", and the module whose ``open_url`` returns the sink.
SCHEMES = {
    "kafka": "scstream.sinks.kafka",
    "redis": "scstream.sinks.redis",
    "rediss": "scstream.sinks.redis",
}

FORMATS = ("csv", "tsv", "jsonl", "parquet")

_ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}


def open_sink(
    path: str | Path,
    *,
    format: str | None = None,
    fields: Sequence[str] = WRITTEN,
    append: bool = False,
    parts: bool = False,
    overwrite: bool = False,
    access: Access | None = None,
) -> Sink:
    """Return the sink for a file name or a URL.

    Parameters
    ----------
    path : str or Path
        ``-`` is standard output; a URL is one such as ``kafka://server:9092/topic``.
    format : {"csv", "tsv", "jsonl", "parquet"}, optional
        By default what the name ends in says; CSV for standard output.
    fields : sequence of {"label", "probability", "score", "anomaly", "group"}
        What is written of each row.
    append : bool, default=False
        Whether the input's columns are written too, before these.
    parts : bool, default=False
        Whether Parquet is written as a folder of parts, which a run with checkpoints needs.
    overwrite : bool, default=False
        Whether an existing file may be replaced. Otherwise the sink refuses to start, unless
        the file is empty or a checkpoint says that it is this run's own.
    access : Access, optional
        How to log in to a broker: what its URL does not say.

    Returns
    -------
    Sink
    """
    if "://" in str(path):
        if format is not None:
            raise ValueError(f"{path} is a URL; the format {format} is for files.")
        sink: Sink = opener_of(str(path), "sinks", SCHEMES)(
            str(path), fields=fields, append=append, access=access
        )
        return sink
    kind = format or ("csv" if str(path) == "-" else _ENDINGS.get(Path(path).suffix.lower()))
    if kind is None or kind not in FORMATS:
        raise ValueError(
            f"The format of {path} cannot be inferred from its name: give one of "
            f"{', '.join(FORMATS)}."
        )
    if kind == "parquet":
        if str(path) == "-":
            raise ValueError("Parquet cannot be written to standard output.")
        from scstream.sinks.parquet import ParquetSink

        return ParquetSink(path, fields=fields, append=append, parts=parts, overwrite=overwrite)
    from scstream.sinks.lines import LineSink

    return LineSink(path, kind, fields=fields, append=append, overwrite=overwrite)
