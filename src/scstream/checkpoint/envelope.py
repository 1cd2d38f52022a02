"""The file: a prefix, a header of plain JSON, and raw arrays, under one checksum.

::

    prefix   64 bytes: magic (8), format version (u32), zero (u32), length of the header (u64),
             length of the arrays (u64), SHA-256 (32) of all bytes but these 32
    header   JSON in ASCII, filled up with spaces to a multiple of 64 bytes:
             {"arrays": [[dtype, shape, axes], ...], "content": {...}}
    arrays   their bytes, little-endian, each filled up with zeros to a multiple of 8 bytes

Numbers of the prefix are little-endian. ``axes`` is the order in which the array's axes lie in
memory: sums over an array are taken in that order, and a resumed run must round as the unbroken
one. In memory a checkpoint may be compressed as a whole, by zlib.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import struct
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from scstream.checkpoint.errors import CheckpointError, UnsupportedCheckpointError, require
from scstream.support.atomic import write_atomically

VERSION = 1
_MAGIC = b"\x89SCS\r\n\x1a\n"
_PREFIX = struct.Struct("<8sIIQQ32s")
_DIGEST_AT = _PREFIX.size - 32
_CHUNK = 2**20
_LONGEST_HEADER = 2**25
_MOST_CONTAINERS = 10**6  # lists and objects: as JSON two bytes, in memory a hundred
_MOST_AXES = 8
_WIDEST = 2**48  # entries along an axis; also of an array without any
_MOST_TIMES = 200  # that a compressed checkpoint is longer when it is decompressed
_DTYPES = {
    kind: np.dtype(kind)
    for kind in (
        "|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8",
    )
}  # fmt: skip

Arrays = list[NDArray[Any]]


def can_hold(array: NDArray[Any]) -> bool:
    """Whether a checkpoint takes arrays of this kind."""
    return array.dtype.newbyteorder("<").str in _DTYPES and array.ndim <= _MOST_AXES


def write(path: str | os.PathLike[str], content: dict[str, Any], arrays: Arrays) -> None:
    """Write a checkpoint, atomically."""
    write_atomically(path, _pieces(content, arrays))


def compressed(content: dict[str, Any], arrays: Arrays) -> bytes:
    """Return a checkpoint, compressed unless it is next to empty: that `decompressed` refuses."""
    whole = b"".join(_pieces(content, arrays))
    small = zlib.compress(whole)
    return small if len(whole) <= _MOST_TIMES * len(small) else whole


def decompressed(data: bytes) -> tuple[dict[str, Any], Arrays]:
    """Return the content and the arrays of a checkpoint in memory, compressed or not."""
    if data.startswith(_MAGIC):
        return _parts(io.BytesIO(data))
    engine = zlib.decompressobj()
    try:
        whole = engine.decompress(data, _MOST_TIMES * len(data))
    except zlib.error:
        raise CheckpointError("Not an scstream checkpoint, or it was changed.") from None
    require(not engine.unconsumed_tail, f"there are more than {_MOST_TIMES} bytes for each")
    require(engine.eof, "the end is missing")
    require(not engine.unused_data, "something was added")
    return _parts(io.BytesIO(whole))


def _pieces(content: dict[str, Any], arrays: Arrays) -> list[bytes | memoryview]:
    """Return a checkpoint's bytes, in pieces."""
    table: list[list[Any]] = []
    pieces: list[memoryview] = []
    for array in arrays:
        axes = _memory_order(array)
        flat = np.ascontiguousarray(array.transpose(axes), dtype=array.dtype.newbyteorder("<"))
        table.append([flat.dtype.str, list(array.shape), axes])
        pieces += [flat.reshape(-1).view(np.uint8).data, memoryview(bytes(-flat.nbytes % 8))]
    header = json.dumps({"arrays": table, "content": content}, allow_nan=False).encode("ascii")
    header += b" " * (-len(header) % 64)
    if len(header) > _LONGEST_HEADER or _containers(header) > _MOST_CONTAINERS:
        raise ValueError(
            "The model does not fit into a checkpoint: names, categories and extra take "
            f"{len(header)} bytes with {_containers(header)} brackets, and at most "
            f"{_LONGEST_HEADER} with {_MOST_CONTAINERS} are allowed. Keep less in extra."
        )
    size = sum(len(piece) for piece in pieces)
    prefix = _PREFIX.pack(_MAGIC, VERSION, 0, len(header), size, bytes(32))[:_DIGEST_AT]
    digest = hashlib.sha256()
    digest.update(prefix + header)
    for piece in pieces:
        digest.update(piece)
    return [prefix, digest.digest(), header, *pieces]


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Arrays]:
    """Return the content and the arrays of a checkpoint.

    For the arrays, about as much memory is asked for as the file is long.
    """
    with open(path, "rb") as file:
        return _parts(file)


def _parts(file: BinaryIO) -> tuple[dict[str, Any], Arrays]:
    header_size, size = _checked_prefix(file)
    header = _parsed(file.read(header_size))
    table: Any = header.get("arrays")
    content: Any = header.get("content")
    require(isinstance(table, list) and isinstance(content, dict), "the header lacks its parts")
    return content, list(_arrays(file, [_entry(row) for row in table], size))


def _checked_prefix(file: BinaryIO) -> tuple[int, int]:
    """Return both lengths; the file stands at the header, and its checksum is right."""
    start = file.read(_PREFIX.size)
    if len(start) >= len(_MAGIC) and not start.startswith(_MAGIC):
        raise CheckpointError("Not an scstream checkpoint: the header is missing.")
    if len(start) < _PREFIX.size:
        raise CheckpointError("The checkpoint is cut short: it is smaller than its header.")
    _, version, zero, header_size, size, digest = _PREFIX.unpack(start)
    require(header_size <= _LONGEST_HEADER, f"the header has {header_size} bytes")
    there, expected = file.seek(0, os.SEEK_END), _PREFIX.size + header_size + size
    file.seek(len(start))
    if there != expected:
        raise CheckpointError(
            f"The checkpoint has {there} bytes where {expected} belong: it was cut short, or "
            "something was added."
        )
    found, left = hashlib.sha256(start[:_DIGEST_AT]), header_size + size
    while left > 0 and (chunk := file.read(min(left, _CHUNK))):
        found.update(chunk)
        left -= len(chunk)
    if found.digest() != digest:
        raise CheckpointError(
            "The checkpoint's checksum is wrong: it was changed after it was written."
        )
    require(zero == 0 and version > 0, "the first bytes match no known format")
    if version > VERSION:  # the prefix is the same in all versions
        raise UnsupportedCheckpointError(
            f"The checkpoint has format version {version}; this scstream reads version "
            f"{VERSION}. Use the version of scstream that wrote it, or a later one."
        )
    file.seek(_PREFIX.size)
    return header_size, size


def _parsed(text: bytes) -> dict[str, Any]:
    require(_containers(text) <= _MOST_CONTAINERS, "the header has too many parts")
    try:
        header = json.loads(text.decode("ascii"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"The checkpoint's header is not JSON: {error}.") from None
    require(isinstance(header, dict), "the header is not an object")
    parsed: dict[str, Any] = header
    return parsed


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


def _containers(text: bytes) -> int:
    return text.count(b"[") + text.count(b"{")


def _entry(row: Any) -> tuple[np.dtype[Any], list[int], list[int]]:
    """Return kind, shape and memory order of an array, checked."""
    kind, shape, axes = row
    require(kind in _DTYPES, f"an array is of the kind {kind!r:.20}")
    numbers = all(type(n) is int and n >= 0 for n in (*shape, *axes))
    require(numbers and len(shape) <= _MOST_AXES, "an array has an impossible shape")
    require(math.prod(max(n, 1) for n in shape) <= _WIDEST, "an array has an impossible shape")
    require(sorted(axes) == list(range(len(shape))), "the axes of an array are not valid")
    return _DTYPES[kind], shape, axes


def _arrays(
    file: BinaryIO, entries: list[tuple[np.dtype[Any], list[int], list[int]]], size: int
) -> Iterator[NDArray[Any]]:
    lengths = [kind.itemsize * math.prod(shape) for kind, shape, _ in entries]
    fits = sum(length + -length % 8 for length in lengths) == size
    require(fits, "the arrays do not have the length that the header states")
    for (kind, shape, axes), length in zip(entries, lengths, strict=True):
        raw = file.read(length + -length % 8)
        require(len(raw) >= length, "the end is missing")  # the file shrinks while it is read
        plain = np.dtype(np.uint8) if kind == np.bool_ else kind
        array = np.frombuffer(raw, plain, length // plain.itemsize)
        sound = kind != np.bool_ or not np.any(array > 1)
        require(sound, "a truth value is neither true nor false")
        own = array.astype(kind.newbyteorder("="))  # a copy: aligned, and free to be written to
        yield own.reshape([shape[a] for a in axes]).transpose(np.argsort(axes))


def _memory_order(array: NDArray[Any]) -> list[int]:
    """Return the axes from the slowest to the fastest in memory."""
    if array.flags.c_contiguous:
        return list(range(array.ndim))
    return sorted(range(array.ndim), key=lambda a: -abs(array.strides[a]))
