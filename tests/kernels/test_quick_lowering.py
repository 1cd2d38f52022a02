"""Functions compiled in our own short way do what Python does."""

import numpy as np
import pytest

from scstream.kernels.compiling import bare, brief, part

X = np.arange(24.0).reshape(2, 3, 4)


def last_of(x):
    return x[-1, -1, -1] + x[-2, 0, 1]


def from_the_end(x):
    total = 0.0
    for i in range(len(x)):
        j = i - len(x)
        total = 2.0 * total + x[j, 0, -1 - i]
    return total


def strided(x):
    other = x[:, ::-1, 1]
    total = 0.0
    for i in range(other.shape[0]):
        for j in range(other.shape[1]):
            total = 3.0 * total + other[i, j]
    return total


def carried(x):
    """Use a variable that is assigned once in the text, and many times as the loop runs."""
    before = total = 0.0
    for i in range(x.shape[2]):
        total = 2.0 * total + before
        before = x[1, 2, i]
    return total + 100.0 * before


def chosen(x):
    """Use a variable that is assigned on one of two ways only."""
    total = 0.0
    for i in range(x.shape[2]):
        if i % 2 == 1:
            step = x[0, 1, i]
            total += step
        else:
            total -= 0.5 * x[0, 2, i]
    return total


def ranges(x):
    count = 0
    for _ in range(3, 1):
        count += 1
    for _ in range(-2):
        count += 10
    for i in range(-2, 2):
        count = 7 * count + i
    for i in range(5, -3, -2):
        count = 7 * count + i
    for i in range(len(x), len(x)):
        count += i + 1000
    return count


def larger(x):
    return max(x[0, 0, 1], 2.0) + min(x[1, 1, 1], 3) + max(1, 2) - min(-1, x[0, 0, 2])


def powers(x):
    d = x.shape[1]
    return (d + 1) ** 2 + x[0, 1, 1] ** 2 + x[1, 0, 0] ** 0.5


def changed(x):
    """Use a variable that a loop assigns anew."""
    n = x.shape[2]
    for i in range(2):
        n = n * 3 - i
    y = np.int64(n) if x[0, 0, 0] > 1.0 else np.int64(-n)
    return y


def rows(x):
    """Use rows of tables, and tables of a stack, from both ends."""
    total = 0.0
    for i in range(len(x)):
        table = x[i - len(x)]
        row, other = table[-1], x[i][i]
        for j in range(len(row)):
            total = 2.0 * total + row[j] - other[len(row) - 1 - j]
        total += 10.0 * len(table) + 7.0 * table[1:].shape[0] + table[:, 1][2]
    return total


def stretches(x):
    """Use stretches that begin and end anywhere."""
    flat = x.reshape(x.size)
    table = x.reshape(x.shape[0] * x.shape[1], x.shape[2])
    total = 0.0
    for a in range(-9, 10):
        for b in range(-9, 10):
            some, line = table[a:b], flat[a : 3 * b]
            total += (a + 20) * len(some) * some.shape[1] + 0.5 * len(line)
            for i in range(len(some)):
                total += some[i, -1]
            for i in range(len(line)):
                total = 0.999 * total + line[i]
    return total + len(table[2:]) + table[:2][1, 0] + table[:][0, 1]


def reshaped(x):
    """Use arrays of other sizes, some of which follow from the rest."""
    a, b, c = x.shape
    table, flat, stack = x.reshape(a * b, c), x.reshape(-1), x[1].reshape(c, 1, b)
    total = 10.0 * len(flat) + stack[2, 0, 1] + stack.shape[2] + flat[-1]
    for i in range(len(table)):
        row = table[i]
        for j in range(len(row)):
            total = 0.5 * total + row[j]
    every_other = x.reshape(c, a, b)[::2]  # found by its strides, not by its shape
    total += 3.0 * every_other[1, 1, 2]
    return total + table[1:3].reshape(2, 2, 2)[1, 0, 1] + x.reshape(2, -1)[1, 3]


def bits(x):
    return np.float64(x[0, 1, 1]).view(np.int64) + np.float32(x[1, 2, 3]).view(np.int32)


def later(x):
    """Use a place that was not negative at first."""
    i, total = 0, 0.0
    for j in range(3):
        total = 2.0 * total + x[i, j, 0]
        i = i - 1 if j == 0 else i + 2
    return total


CASES = [
    reshaped,
    bits,
    rows,
    stretches,
    later,
    last_of,
    from_the_end,
    strided,
    carried,
    chosen,
    ranges,
    larger,
    powers,
    changed,
]


@pytest.mark.parametrize("decorator", [bare, brief])
@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_the_result_is_python_s(function, decorator):
    made = decorator(function)
    made._cache.__dict__["files"] = None  # nothing of this test is kept on disk
    assert made(X) == function(X)


@bare
def write(x, out):
    for i in range(out.shape[0]):
        out[i - len(out), -1] = x[0, i, 0]
        out[i, 0] = i > 0


def test_places_are_written_from_the_end_too():
    write._cache.__dict__["files"] = None
    out = np.full((3, 2), np.nan)
    write(X, out)
    np.testing.assert_array_equal(out, [[0.0, 0.0], [1.0, 4.0], [1.0, 8.0]])


@bare
def total_of(x):
    total = 0.0
    for i in range(len(x)):
        total += x[i]
    return total


@part
def twice(x):
    return 2.0 * total_of(x)


@brief
def four_times(x):
    return twice(x) + 2.0 * total_of(x)


def test_a_kernel_is_a_part_of_others_and_is_called_by_itself():
    for kernel in (total_of, four_times):
        kernel._cache.__dict__["files"] = None
    x = np.arange(5.0)
    assert four_times(x) == 40.0
    assert total_of(x) == 10.0
    assert len(total_of.signatures) == 1
