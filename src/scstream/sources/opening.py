"""The reader of a text file: as it is, unpacked, or from standard input."""

from __future__ import annotations

import codecs
import os
import stat

from scstream.sources.files import FileReader
from scstream.sources.guess.encoding import (
    LOOK,
    check_is_text,
    compression_of,
    damaged,
    encoding_of,
    open_packed,
    words_beyond,
)
from scstream.sources.listing import Listing
from scstream.sources.options import SourceOptions
from scstream.sources.readers import DecodedReader, FilesReader, InputReader, Reader
from scstream.support.advice import Advice
from scstream.support.messages import note


def open_reader(files: Listing, options: SourceOptions) -> Reader:
    """Return the reader of files, or of standard input for ``-``."""
    if files.paths == ["-"]:
        if options.follow:
            raise ValueError("Standard input is read until it ends; it cannot be followed.")
        _check_encoding("Standard input", options)
        return InputReader(options.live, options.wait)
    if len(files.paths) == 1:
        return _open_one(files, files.paths[0], options, {})
    if options.follow:
        raise ValueError("Only one file can be followed.")
    known: dict[str, tuple[str | None, str]] = {}
    return FilesReader(files.paths, lambda path: _open_one(files, path, options, known))


def _open_one(
    files: Listing, spec: str, options: SourceOptions, known: dict[str, tuple[str | None, str]]
) -> Reader:
    """Return the reader of a file; ``known`` has how those are packed that were looked at."""
    here = files.system is None
    if here and not stat.S_ISREG(os.stat(spec).st_mode):  # a pipe, whose bytes come but once
        _check_encoding(spec, options)
        return FileReader(spec, options.follow)
    compression, encoding = known.get(spec) or _packing(files, spec, options)
    known[spec] = compression, encoding
    if compression is None and encoding == "utf-8" and here:
        return FileReader(spec, options.follow)
    if options.follow:
        what = f"compressed ({compression})" if compression else f"in {encoding}"
        what = what if here else "not on this machine"
        raise ValueError(f"{spec} is {what}; only plain text in UTF-8 can be followed.")
    return DecodedReader(spec, compression, encoding, None if here else files.open(spec))


def _check_encoding(name: str, options: SourceOptions) -> None:
    """Raise `ValueError` if the user says that a pipe is in another encoding than UTF-8."""
    encoding = options.encoding
    if encoding is not None and codecs.lookup(encoding).name not in ("utf-8", "ascii"):
        raise ValueError(
            f"{name} is read as UTF-8 only. Convert it before piping it in, for example with: "
            f"iconv -f {encoding} -t utf-8"
        )


def _packing(files: Listing, path: str, options: SourceOptions) -> tuple[str | None, str]:
    """Return how a file is compressed, and its encoding."""
    with files.open(path) as file:
        first = file.read(16)
    check_is_text(path, first)
    compression = compression_of(first)
    if options.encoding is not None:
        return compression, codecs.lookup(options.encoding).name
    raw = None if files.system is None else files.open(path)
    with damaged(path), open_packed(path, compression, raw) as file:
        head = file.read(LOOK)
    try:
        found = encoding_of(head)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    if found == "cp1252":
        note(
            f"{path} is not UTF-8; it is read as {found} (it now reads: {words_beyond(head)})",
            Advice("encoding"),
        )
    return compression, found
