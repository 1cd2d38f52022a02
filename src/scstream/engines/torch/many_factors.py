"""The Triton kernel that takes forms of 9 to 128 columns about their centres, one a program."""

# mypy: ignore-errors
# Triton reads annotations as code and knows no types of Python's: kernels carry none.

from __future__ import annotations

from scstream.engines.torch.triton import jit, thirds, tl


@jit(do_not_specialize=["k"])
def factor_many(
    eta, power, const, factors, offset, numbers, centre, found, k,
    d: tl.constexpr, width: tl.constexpr, flat: tl.constexpr,
):  # fmt: skip
    """Write a form as ``value -+ |z L - offset|^2``, L being Cholesky's factor of its matrix.

    ``eta`` (k, p) are the forms; those with a power are Student-t densities, whose matrix is
    positive, the others fall with the distance. L goes to ``factors`` (3, k, width, width) in
    thirds, and value, power and const to ``numbers``. ``found`` (k, 2) says whether the matrix is
    indefinite, and the length of L. A flat form has no matrix: its offset is its slope.
    """
    c = tl.program_id(0)
    p: tl.constexpr = 1 + d + d * (d + 1) // 2
    at = eta + c * p
    i = tl.arange(0, width)
    strength = tl.load(power + c)
    x = tl.load(at + 1 + i, mask=i < d, other=0.0)
    value = tl.load(at)
    bad = value * 0.0
    length = value * 0.0
    if flat:
        tl.store(centre + c * width + i, tl.zeros((width,), tl.float32))
    else:
        r, s = i[:, None], i[None, :]
        sign = tl.where(strength > 0.0, 1.0, -1.0).to(tl.float64)
        A = tl.load(at + _place(r, s, d), mask=(r < d) & (s < d), other=0.0)
        A, x, bad = _factored(A * tl.where(r == s, sign, 0.5 * sign), -0.5 * sign * x, i, d)
        value -= sign * tl.sum(x * x, 0) + tl.where(strength > 0.0, 1.0, 0.0)
        length = tl.sqrt(tl.sum(tl.sum(A * A, 1), 0))
        middle = tl.sum(tl.where(r == s, x[:, None], 0.0), 0)
        tl.store(centre + c * width + i, _solved(A, middle, i, d).to(tl.float32))
        a1, a2, a3 = thirds(A.to(tl.float32))
        to = factors + c * width * width + r * width + s
        whole = k * width * width
        tl.store(to, a1)
        tl.store(to + whole, a2)
        tl.store(to + 2 * whole, a3)
    tl.store(offset + c * width + i, x.to(tl.float32))
    tl.store(numbers + 3 * c, value.to(tl.float32))
    tl.store(numbers + 3 * c + 1, strength.to(tl.float32))
    tl.store(numbers + 3 * c + 2, tl.load(const + c).to(tl.float32))
    tl.store(found + 2 * c, bad)
    tl.store(found + 2 * c + 1, length)


@jit
def _place(r, s, d: tl.constexpr):
    """Return where the entries of a symmetric matrix are in a packed form."""
    low, high = tl.minimum(r, s), tl.maximum(r, s)
    return 1 + d + low * d - (low * (low - 1)) // 2 + (high - low)


@jit
def _factored(A, x, i, d: tl.constexpr):
    """Return Cholesky's factor L of a matrix, the solution of ``L y = x``, and 1 if there is none.

    The matrix stays symmetric below and to the right of the columns that are done.
    """
    r, s = i[:, None], i[None, :]
    bad = tl.sum(x, 0) * 0.0
    for t in range(d):
        down, along = tl.sum(tl.where(s == t, A, 0.0), 1), tl.sum(tl.where(r == t, A, 0.0), 0)
        pivot = tl.sum(tl.where(i == t, down, 0.0), 0)
        bad = tl.where(pivot > 0.0, bad, 1.0)
        root = tl.sqrt(pivot)
        down, along = tl.where(i < t, 0.0, down / root), along / root
        own = tl.sum(tl.where(i == t, x, 0.0), 0) / root
        x = tl.where(i == t, own, tl.where(i > t, x - down * own, x))
        rest = tl.where(s > t, A - down[:, None] * along[None, :], A)
        A = tl.where(s == t, down[:, None], rest)
    return tl.where(s <= r, A, 0.0), x, bad


@jit
def _solved(L, x, i, d: tl.constexpr):
    """Return the solution of ``L' y = x``."""
    for step in range(d):
        t = d - 1 - step
        along = tl.sum(tl.where(i[:, None] == t, L, 0.0), 0)
        own = tl.sum(tl.where(i == t, x, 0.0), 0) / tl.sum(tl.where(i == t, along, 0.0), 0)
        x = tl.where(i == t, own, tl.where(i < t, x - along * own, x))
    return x
