"""Checkpoints that were tampered with, their checksums made right again."""

import copy
import hashlib
import json
import struct

import numpy as np

PREFIX = struct.Struct("<8sIIQQ32s")
ODD = [
    None, True, False, -1, 0, 1, 2, 3, 255, 2**31, 2**32, 2**62, 2**63 - 1, 2**63, 2**64, 2**128,
    10**400, 0.0, -0.5, 0.5, 1e308, -1e308, 5e-324, 1e-12, "", "x", "gaussian", "product", "<f8",
    "<i8", "|b1", "|O", "PCG64", "MT19937", "array", "family", [], {}, [[]], [0], [0, 1], [1, 0],
    {"is": "array", "of": 0}, {"is": "float", "of": "nan"}, {"is": "tuple", "of": []},
    {"is": "dict", "of": []},
]  # fmt: skip
NUMBERS = np.array(
    [np.nan, np.inf, -np.inf, 0.0, -0.0, -1.0, 1e308, -1e308, 5e-324, 1e-300, 1e150, 2.0**63]
)

REALS = [0.0, -1.0, 1.0, 1e-300, 1e300, 1e150, -1e150, 0.5, 3.0, 1e16, -1e-9, -1e-6, 1e-12]
WHOLE = [0, 1, 2, 3, 5, 7, 23, 24, 25, 1000, 2**31, 2**40, 2**62]


def parts(data: bytes) -> tuple[dict, bytes]:
    """Return the header and the arrays of a checkpoint."""
    size = PREFIX.unpack(data[: PREFIX.size])[3]
    return json.loads(data[PREFIX.size : PREFIX.size + size]), data[PREFIX.size + size :]


def forged(header, arrays: bytes, *, version: int = 1, zero: int = 0) -> bytes:
    """Return a checkpoint with the right lengths and the right checksum."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    start = PREFIX.pack(b"\x89SCS\r\n\x1a\n", version, zero, len(text), len(arrays), bytes(32))
    digest = hashlib.sha256(start[:-32] + text + arrays).digest()
    return start[:-32] + digest + text + arrays


def places(tree, path=()):
    """Return the paths of all values in a tree."""
    yield path
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in items if isinstance(tree, dict | list) else ():
        yield from places(value, (*path, key)) if isinstance(value, dict | list) else [(*path, key)]


def at(tree, path):
    for key in path:
        tree = tree[key]
    return tree


def edited(header: dict, rng: np.random.Generator) -> dict:
    """Return a header with one to three of its values changed."""
    out = copy.deepcopy(header)
    for _ in range(rng.integers(1, 4)):
        paths = list(places(out))[1:]
        inner = [path for path in paths if path[0] == "content"]
        if inner and rng.random() < 0.8:  # the table of arrays is long, and refused at once
            paths = inner
        if not paths:
            break
        path = paths[rng.integers(len(paths))]
        parent, key = at(out, path[:-1]), path[-1]
        kind = rng.integers(6)
        if kind == 0:
            del parent[key]
        elif kind == 1 and type(parent[key]) is int:
            parent[key] += int(rng.choice([-1, 1, 7, 1000]))
        elif kind == 2:
            parent[key] = copy.deepcopy(at(out, paths[rng.integers(len(paths))]))
        elif kind == 3 and isinstance(parent, list):
            parent.insert(key, copy.deepcopy(parent[key]))
        elif kind == 4 and type(parent[key]) is float:
            parent[key] = float(NUMBERS[rng.integers(3, len(NUMBERS))]) * parent[key]
        else:
            parent[key] = copy.deepcopy(ODD[rng.integers(len(ODD))])
    return out


def renumbered(data: bytes, rng: np.random.Generator) -> bytes:
    """Return a checkpoint with numbers of some arrays changed to others of their own kind."""
    header, arrays = parts(data)
    raw, start, spans = bytearray(arrays), 0, []
    for kind, shape, _ in header["arrays"]:
        size = np.dtype(kind).itemsize * int(np.prod(shape))
        spans.append((np.dtype(kind), slice(start, start + size)))
        start += size + -size % 8
    for i in rng.integers(len(spans), size=rng.integers(1, 4)):
        kind, span = spans[i]
        values = np.frombuffer(bytes(raw[span]), kind).copy()
        at = slice(None) if rng.random() < 0.3 else rng.integers(max(len(values), 1), size=1)
        if len(values) == 0:
            continue
        if kind.kind == "f":
            with np.errstate(all="ignore"):
                by = rng.choice(REALS)
                values[at] = values[at] * by if rng.random() < 0.5 else by
        else:
            most = 1 if kind == np.bool_ else int(np.iinfo(kind).max)
            values[at] = int(rng.choice(WHOLE)) & most
        raw[span] = values.tobytes()
    return forged(header, bytes(raw))


def mutated(data: bytes, other: bytes, rng: np.random.Generator) -> bytes:
    """Return a checkpoint with something wrong with it, half of the time behind the checksum."""
    kind = rng.integers(14)
    raw = bytearray(data)
    if kind >= 10:  # numbers that may well be, in the wrong place
        return renumbered(data, rng)
    if kind == 0:  # flipped bytes
        for i in rng.integers(len(raw), size=rng.integers(1, 5)):
            raw[i] ^= int(rng.integers(1, 256))
        return bytes(raw)
    if kind == 1:  # cut short
        return data[: rng.integers(len(data))]
    if kind == 2:  # spliced
        cut, on = rng.integers(len(data)), rng.integers(len(other))
        return data[:cut] + other[on:]
    if kind == 3:  # lengths and versions that are not so
        i = int(rng.integers(8, 32))
        raw[i] = int(rng.integers(256))
        return bytes(raw)
    header, arrays = parts(data)
    if kind == 4:  # bytes of the header, checksum right
        text = bytearray(json.dumps(header).encode())
        for i in rng.integers(len(text), size=rng.integers(1, 4)):
            text[i] = int(rng.choice(bytearray(b'0123456789-.eE[]{}",: tfn')))
        return forged(bytes(text), arrays)
    if kind in (5, 6) and arrays:  # numbers in the arrays, checksum right
        numbers = bytearray(arrays)
        for _ in range(rng.integers(1, 4)):
            i = 8 * int(rng.integers(len(numbers) // 8))
            value = NUMBERS[rng.integers(len(NUMBERS))].tobytes()
            if rng.random() < 0.4:
                value = int(rng.choice([-(2**63), -1, 0, 1, 2, 1000, 2**40, 2**63 - 1])).to_bytes(
                    8, "little", signed=True
                )
            elif rng.random() < 0.3:
                value = rng.bytes(8)
            numbers[i : i + 8] = value
        return forged(header, bytes(numbers))
    if kind == 7:  # arrays of another file, checksum right
        return forged(edited(header, rng), parts(other)[1])
    return forged(edited(header, rng), arrays)
