"""Separated text: numbers, fields and records, on both cores."""

import csv
import io

import numpy as np
import pytest

from scstream.core import SKIP, Form, Found, plain, powers_of_ten

SIGNS = [b",", b'"', b"\n", b"\r\n", b"\r", b" ", b"1", b"-2.5", b".", b"1e3", b"x", b"0", b"e"]


def form(roles, separator=",", point="."):
    return Form(ord(separator), ord(point), np.array(roles, np.int64), powers_of_ten())


def scanned(core, text, roles, final=True, room=None, **given):
    """Return what is found, cut down to the records and odd fields that there are."""
    n_numbers = sum(role >= 0 for role in roles)
    n_texts = sum(role < SKIP for role in roles)
    found = Found.room(text.count(b"\n") + 1 if room is None else room, n_numbers, n_texts)
    found.numbers[:], found.spans[:] = 0.0, 0
    block = np.frombuffer(text, np.uint8)
    rows, n_odd, at, breaks = core.scan(block, final, form(roles, **given), found)
    return Found(*(part[:rows] for part in found[:4]), found.odd[:n_odd]), rows, at, breaks


def numbers(core, texts, **given):
    text = "".join(f"{one}\n" for one in texts).encode()
    return scanned(core, text, [0], **given)[0].numbers[:, 0].tolist()


def test_numbers_are_those_that_python_reads(core):
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**63, size=4000, dtype=np.uint64).view(np.float64)
    texts = [repr(x) for x in bits[np.isfinite(bits)].tolist()]
    texts += [repr(x) for x in rng.normal(size=4000).tolist()]
    texts += [f"{x:.19g}" for x in rng.normal(size=1000).tolist()]
    texts += [f"{x:.3f}" for x in rng.normal(size=1000).tolist()]
    found = numbers(core, texts)
    plain = [(t, v) for t, v in zip(texts, found, strict=True) if v == v]
    assert len(plain) > 0.9 * len(texts)  # the others are left to Python
    assert [v for _, v in plain] == [float(t) for t, _ in plain]


def test_forms_of_numbers(core):
    texts = ["0", "-0", "+.5", "5.", "1E-05", "-1.25e+10", "  7 ", "1e22"]
    found = numbers(core, texts)
    assert found == [float(text) for text in texts]
    assert np.signbit(found[1])
    others = ["", "-", ".", "1e", "1e+", "1_0", "0x1", "1 2", "--1", "inf", "nan", "1,5"]
    assert np.isnan(numbers(core, [f'"{text}"' for text in others])).all()
    assert numbers(core, ['"1,5"', "2"], separator=";", point=",") == [1.5, 2.0]


def test_records_are_those_of_the_csv_module(core):
    text = b'a,1,"x ""y"", z"\r\nb,2,"two\nlines"\n\nc,3,\n"d",4,e'
    found, rows, at, breaks = scanned(core, text, [-2, 0, -3])
    told = list(csv.reader(io.StringIO(text.decode())))
    assert rows == 4
    assert at == len(text)
    assert breaks == 5
    assert found.fields.tolist() == [3] * 4
    assert found.numbers[:, 0].tolist() == [1.0, 2.0, 3.0, 4.0]
    texts = [[text[a:b].decode().replace('""', '"') for a, b in row] for row in found.spans]
    assert texts == [[row[0], row[2]] for row in told if row]
    assert found.bounds[:, 3].tolist() == [0, 1, 4, 5]


def test_both_cores_find_the_same_in_any_text():
    native = pytest.importorskip(
        "scstream.core.native._compiled", reason="the native core was not built"
    )
    rng = np.random.default_rng(1)
    for _ in range(4000):
        text = b"".join(SIGNS[i] for i in rng.integers(len(SIGNS), size=rng.integers(40)))
        roles = [[0, -2, 1], [0], [SKIP, 0], []][rng.integers(4)]
        final, room = bool(rng.integers(2)), None if rng.integers(4) else 2
        one, *counts = scanned(plain, text, roles, final, room)
        other, *others = scanned(native, text, roles, final, room)
        assert counts == others, text
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=repr(text))


def test_numbers_are_written_between_texts(core):
    rng = np.random.default_rng(2)
    values = rng.integers(-(10**12), 10**12, size=(50, 2))
    values[:3, 0] = 0, -1, 5
    starts = [f"row {i}" * (i % 3) for i in range(50)]
    ends = np.cumsum([len(start) for start in starts])
    bounds = np.column_stack([ends - [len(start) for start in starts], ends])
    glue, out = np.frombuffer(b"<;>\n", np.uint8), np.zeros(10_000, np.uint8)
    data = np.frombuffer("".join(starts).encode(), np.uint8)
    used = core.lay_out(values, np.array([3, 0]), glue, np.array([0, 1, 2, 4]), data, bounds, out)
    told = [
        f"{start}<{'-' * (a < 0)}{abs(a) // 1000}.{abs(a) % 1000:03d};{b}>\n"
        for start, (a, b) in zip(starts, values.tolist(), strict=True)
    ]
    assert out[:used].tobytes().decode() == "".join(told)


def test_native_arrays_of_other_kinds_are_refused():
    native = pytest.importorskip(
        "scstream.core.native._compiled", reason="the native core was not built"
    )
    text, good = np.frombuffer(b"1,2\n", np.uint8), Found.room(2, 2, 0)
    for wrong in (
        good._replace(numbers=np.empty((2, 2), np.float32)),
        good._replace(numbers=np.empty((4, 2))[::2]),
        good._replace(odd=np.empty((1, 4), np.int64)),
        good._replace(bounds=np.empty((2, 4), np.int64)),
        good._replace(fields=np.empty(3, np.int64)),
        good[:3],
    ):
        with pytest.raises((TypeError, ValueError)):
            native.scan(text, True, form([0, 1]), wrong)
    for roles in ([0, 2], [-2], [0, -3]):
        with pytest.raises(ValueError, match="a role has no column"):
            native.scan(text, True, form(roles), good)
    ints = np.zeros((1, 1), np.int64)
    for bounds in (np.array([[0, 9]]), np.array([[-1, 0]]), np.array([[2, 1]])):
        with pytest.raises(ValueError, match="begins outside"):
            native.lay_out(
                ints, ints[0], text, np.array([0, 1, 4]), text, bounds, np.zeros(99, np.uint8)
            )
    with pytest.raises(ValueError, match="no room"):
        native.lay_out(
            ints, ints[0], text, np.array([0, 1, 4]), text, ints.repeat(2, 1),
            np.zeros(9, np.uint8),
        )  # fmt: skip
