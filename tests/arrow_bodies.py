"""Mutated Arrow bodies are read under a memory limit: ``python arrow_bodies.py NUMBER``.

Ends with an error if one is neither read nor refused, or if a word is read that it does not hold.
"""

from __future__ import annotations

import io
import resource
import sys
from collections.abc import Iterator
from decimal import Decimal

import numpy as np
import pyarrow as pa

from scstream.service.arrow_rows import read_arrow
from scstream.service.refused import Refused
from scstream.service.settings import Settings

LIMIT = 2**30  # bytes of memory beyond what the imports take
_EXTREMES = (0, 1, -1, 8, 127, 2**15, 2**31 - 1, -(2**31), 750_000_000, 2**62, 2**63 - 1, -(2**63))


def body_of(table: pa.Table | pa.RecordBatch, **options: object) -> bytes:
    """Return a table as an Arrow stream."""
    out = io.BytesIO()
    with pa.ipc.new_stream(out, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write(table)
    return out.getvalue()


def seeds() -> Iterator[bytes]:
    """Return bodies of every kind of column, those that are refused as well."""
    words = ["", "low", "high", None, "a word of more than twelve letters", "low"]
    plain = {
        "number": [1.5, None, -2.0, 0.0, 1e300, 3.0],
        "whole": pa.array(range(6), pa.int8()),
        "truth": [True, False, None, True, True, False],
        "word": words,
        "large": pa.array(words, pa.large_string()),
        "view": pa.array(words, pa.string_view()),
        "category": pa.array(words).dictionary_encode(),
        "code": pa.array([1, 2, 1, 2, None, 1]).dictionary_encode(),
        "nothing": pa.nulls(6),
        "amount": [Decimal("1.25")] * 6,
        "half": pa.array(np.arange(6, dtype=np.float16)),
        "moment": pa.array([0, 1, 2, None, 4, 5], pa.timestamp("ms")),
    }
    for name, column in plain.items():
        yield body_of(pa.table({name: column}))
    whole = pa.table(plain)
    yield body_of(whole)
    yield body_of(pa.concat_tables([whole, whole, whole]))
    yield body_of(whole.slice(0, 0))
    long = pa.table({"x": np.zeros(1000), "y": ["low", "high"] * 500})
    yield body_of(long, compression="zstd")
    yield body_of(long, compression="lz4")
    nested = {
        "list": [[1, 2], [], None],
        "object": [{"a": 1}, None, {"a": 2}],
        "map": pa.array([[("a", 1)], [], None], pa.map_(pa.string(), pa.int64())),
        "runs": pa.RunEndEncodedArray.from_arrays(pa.array([1, 3], pa.int32()), [1.0, 2.0]),
        "union": pa.UnionArray.from_dense(
            pa.array([0, 1, 0], pa.int8()),
            pa.array([0, 0, 1], pa.int32()),
            [pa.array([1, 2]), pa.array(["a"])],
        ),
        "bytes": pa.array([b"a", b"b", None]),
    }
    for name, column in nested.items():
        yield body_of(pa.table({name: column}))


def mutated(body: bytes, rng: np.random.Generator) -> bytes:
    """Return a body with some bytes, numbers or parts changed."""
    out = bytearray(body)
    for _ in range(int(rng.integers(1, 6))):
        at = int(rng.integers(len(out)))
        kind = rng.integers(6)
        size = 8 if kind == 1 else 4
        if kind == 0:
            out[at] = rng.integers(256)
        elif kind in (1, 2):
            number = _EXTREMES[rng.integers(len(_EXTREMES))] % 2 ** (8 * size)
            at -= at % size
            out[at : at + size] = number.to_bytes(size, "little")
        elif kind == 3:
            out[at] ^= 1 << int(rng.integers(8))
        elif kind == 4 and rng.random() < 0.2:
            del out[at:]
            break
        elif kind == 5 and rng.random() < 0.3:
            end = at + 8 * int(rng.integers(1, 9))
            out[at:at] = out[at:end]
    return bytes(out) or b"\0"


def check(body: bytes) -> bool:
    """Read a body, and return whether it was sound."""
    rows = refused = None
    try:
        rows = read_arrow(body, Settings())
    except Refused as error:
        refused = error
    if rows is None:
        assert refused.status in (400, 413, 422), refused.status
        assert len(refused.reason) < 200, refused.reason
        assert "to decode" not in refused.reason  # there was enough memory
        return False
    assert rows.n <= Settings().most_rows
    for column in rows.values:
        assert len(column) == rows.n
        for value in column.tolist() if column.dtype.kind == "O" else ():
            held = not isinstance(value, str) or value.encode() in body
            assert held or set(value) <= set("lowhigh"), value  # those that are compressed
    return True


def main(n: int) -> None:
    """Read so many mutated bodies."""
    rng, bodies = np.random.default_rng(0), list(seeds())
    sound = [check(body) for body in bodies]
    assert sum(sound) >= 16, sound
    assert not any(sound[-6:]), sound
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + LIMIT, now + LIMIT))
    read = sum(check(mutated(bodies[i % len(bodies)], rng)) for i in range(n))
    assert 0 < read < n
    print(f"{read:,} of {n:,} bodies were sound")


if __name__ == "__main__":
    main(int(sys.argv[1]))
