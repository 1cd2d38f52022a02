"""How the bytes of a text file are packed: its compression and its encoding."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, BinaryIO

from scstream.support.advice import Advice, advised

LOOK = 1 << 18  # bytes that are looked at
_ZEROS = 0.05  # share of zero bytes in text with letters of two bytes, at least
_WRONG = 0.1  # wrong bytes in UTF-8 for each character beyond ASCII, at most
_FOREIGN = 0.6  # share of letters with accents in words that have some, at most
_WORD = re.compile(r"[^\W\d_]+")
_MARKS = (  # of an encoding; the longer ones first
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_OTHERS = {
    b"FEA1": "a file of Feather",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"\x89HDF": "a file of HDF5",
    b"SQLite format 3": "a database of SQLite",
    b"%PDF": "a PDF",
}  # by their first bytes
_PACKED = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
}


def check_is_text(path: str, head: bytes) -> None:
    """Raise `ValueError` for a file of another kind, by its first bytes."""
    for mark, what in _OTHERS.items():
        if head.startswith(mark):
            raise ValueError(f"{path} is {what}, which is not read. Save it as CSV or Parquet.")


def compression_of(head: bytes) -> str | None:
    """Return how a file is compressed, by its first bytes; None if it is not.

    Examples
    --------
    >>> compression_of(b"BZh91AY"), compression_of(b"x,y")
    ('bzip2', None)
    """
    return next((name for mark, name in _PACKED.items() if head.startswith(mark)), None)


def encoding_of(head: bytes) -> str:
    """Return the encoding of text, from its first bytes: UTF-8 if possible.

    Raises
    ------
    ValueError
        If it is neither one of Unicode nor cp1252.

    Examples
    --------
    >>> [encoding_of("é a".encode(name)) for name in ("utf-8", "utf-16", "cp1252")]
    ['utf-8', 'utf-16', 'cp1252']
    """
    name = unicode_of(head)
    if name is None and not _reads_western(head):
        raise advised(
            ValueError(
                "its encoding is neither UTF-8 nor UTF-16 nor Windows-1252. Name it, such as "
                "cp1251 (Russia), cp932 (Japan), gb18030 (China) or latin-1 (which takes any bytes)"
            ),
            Advice("encoding"),
        )
    return name or "cp1252"


def _reads_western(head: bytes) -> bool:
    """Whether a text in cp1252 reads as words of Latin letters, few of them with accents.

    Nearly any bytes can be decoded.
    """
    text = decoded(head, "cp1252")
    if text is None:
        return False
    fields = dict.fromkeys(re.split(r"[\x00-\x1f\",;]+", text))  # each value once
    text = "\n".join(field for field in fields if not field.isascii())
    words = "".join(word for word in _WORD.findall(text) if not word.isascii())
    return sum(letter > "\x7f" for letter in words) <= max(3.0, _FOREIGN * len(words))


def words_beyond(head: bytes) -> str:
    """Return the first words beyond ASCII, as cp1252 reads them."""
    words = re.findall(r"[^\s,;|\"]+", head.decode("cp1252", "replace"))
    return " ".join(list(dict.fromkeys(w for w in words if not w.isascii()))[:3])[:40]


def unicode_of(head: bytes) -> str | None:
    """Return the encoding of text if it is one of Unicode, None for all others.

    UTF-8 with a few wrong bytes is UTF-8: the rows that hold them are reported.
    """
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name
    wide = _wide(head)
    if wide is not None:
        return wide
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(head, final=False)
    wrong = text.count("\ufffd")
    right = sum(character > "\x7f" for character in text) - wrong
    return "utf-8" if wrong <= _WRONG * right else None


def _wide(head: bytes) -> str | None:
    """Return the UTF-16 of text without a mark, None if it is none.

    Digits, separators and line ends have a zero byte on one side of two, whatever the letters.
    """
    even, odd = head[::2].count(0), head[1::2].count(0)
    if even + odd < _ZEROS * len(head) or min(even, odd) > _ZEROS * max(even, odd):
        return None
    name = "utf-16-le" if odd > even else "utf-16-be"
    return name if decoded(head, name) is not None else None


def decoded(head: bytes, encoding: str) -> str | None:
    """Return the first bytes of a text, None if they are not in this encoding."""
    try:
        return codecs.getincrementaldecoder(encoding)().decode(head, final=False)
    except UnicodeDecodeError:
        return None


def open_packed(path: str, compression: str | None, raw: BinaryIO | None = None) -> BinaryIO:
    """Return a file, unpacked while it is read; ``raw`` are its bytes if it is elsewhere."""
    if compression is None:
        return raw or open(path, "rb")
    openers: dict[str, Callable[[Any], Any]] = {
        "gzip": gzip.open,
        "bzip2": bz2.open,
        "xz": lzma.open,
        "zip": _open_zip,
        "zstd": _open_zstd,
    }
    with damaged(path):
        file: BinaryIO = openers[compression](raw or path)
        return file


def _open_zip(path: Any) -> Any:
    archive = zipfile.ZipFile(path)
    members = [info for info in archive.infolist() if not info.is_dir()]
    if members and all(info.filename.endswith(".npy") for info in members):
        archive.close()
        raise ValueError(f"{path} holds NumPy arrays. Save one of them as .npy with numpy.save.")
    if len(members) == 1:
        return archive.open(members[0])
    archive.close()
    if any(info.filename == "xl/workbook.xml" for info in members):
        raise ValueError(f"{path} is an Excel workbook. Save the sheet as CSV and run that file.")
    raise ValueError(f"{path} holds {len(members)} files. Unpack it and name one of them.")


def _open_zstd(path: Any) -> Any:
    try:
        zstd = import_module("compression.zstd")  # of Python 3.14 and newer
        return zstd.open(path)
    except ImportError:
        pass
    try:
        import pyarrow as pa
    except ImportError:
        raise ImportError(
            f"{path} is compressed with Zstandard, which needs pyarrow before Python 3.14. Install "
            'it with: pip install "scstream[parquet]"'
        ) from None
    return pa.input_stream(path, compression="zstd")


@contextmanager
def damaged(path: str) -> Iterator[None]:
    """Turn what a damaged file provokes into an error that says so."""
    try:
        yield
    except (EOFError, lzma.LZMAError, zipfile.BadZipFile, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ValueError(
            f"{path} cannot be unpacked: {error}. It is damaged or incomplete."
        ) from error


def refuse_packed(head: bytes, name: str, encoding: str | None = None) -> None:
    """Raise `ValueError` for standard input or a pipe that should have been unpacked before."""
    compression = compression_of(head)
    if compression is not None:
        raise ValueError(f"{name} is compressed ({compression}). Unpack it before piping it in.")
    if encoding is not None:
        return
    if unicode_of(head[:LOOK]) != "utf-8":
        raise advised(
            ValueError(
                f"{name} is not in UTF-8. Convert it before piping it in, for example with: iconv "
                "-f cp1252 -t utf-8."
            ),
            Advice("encoding", "utf-8", "if only a few bytes are wrong"),
        )
