"""How much components can score in a sweep, given what they scored in the one before.

Of each row a sweep knows what all components but the best two scored at most, s. Parameters have
changed since, but little. Scores of a component were ``-q(x)``, and are ``-q(x)`` with another q,
or fall with it as Student-t scores do; both q are convex quadratic functions. For any share ``c``
of the first that leaves their difference convex, ``q_now(x) >= c q_then(x) + e``, e being the least
difference, which is known in closed form. So what scored s at most scores at most what
``q = e - c s`` makes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scstream.families.contract import Array
from scstream.families.packed import upper
from scstream.kernels.large_tiles import Carried
from scstream.kernels.nearby import Components

_LN2 = float(np.log(2.0))
_SHARE = (
    0.99  # of the largest c: .95 settles 74 % of the rows of 80 clusters in 5-D, .99 81, .995 81
)
_STEPS, _BITS = 65, 128.0  # how many scores bounds are computed for, down to how far from the best
_SLACK = 1e-10  # of bounds by float64, relative to all that is added up


class Bounds(NamedTuple):
    """What components score at most that scored ``low + i step`` at most, in units of log 2.

    It is a convex function: in between it is below the line through its neighbours.
    """

    bound: Array
    low: float
    step: float


_NO_BOUNDS = Bounds(np.zeros(0), 0.0, 1.0)
_NO_ROWS = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.float32)
NOTHING = Carried(*_NO_ROWS, *_NO_BOUNDS)


@dataclass
class Carry:
    """What the last sweep over the n rows of a batch that drew labels leaves for the next."""

    n: int
    before: Array | None = None  # the parameters of that sweep
    rows: tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]] = _NO_ROWS

    def make_room(self) -> None:
        """Make room for what is known about each row, unless there is."""
        if len(self.rows[0]) < self.n:
            first, second = np.empty((2, self.n), np.int32)
            self.rows = first, second, np.empty(self.n, np.float32)

    def filled(self, eta: Array) -> Carried:
        """Return what a sweep fills that draws labels by products with parameters."""
        self.make_room()
        self.before = eta
        return Carried(*self.rows, *_NO_BOUNDS)

    def told(self, by: Components, d: int) -> Carried:
        """Return what that sweep tells one that takes the best labels."""
        if self.before is None or self.before.shape != by.eta.shape:
            return NOTHING
        bounds = bounds_of(self.before, by.eta, by.const, by.power, d)
        return NOTHING if bounds is None else Carried(*self.rows, *bounds)


class _Quadratic(NamedTuple):
    """Functions ``level + slope x + x' bend x / 2``: (k,), (k, d) and (k, d, d)."""

    level: Array
    slope: Array
    bend: Array

    def least(self) -> Array:
        """Return the least values (k,), less what rounding may have added."""
        x = np.linalg.solve(self.bend, -self.slope[..., None])[..., 0]
        down = 0.5 * (self.slope * x).sum(axis=1)
        size = abs(self.level) + (abs(self.slope) * abs(x)).sum(axis=1)
        out: Array = self.level + down - _SLACK * size
        return out


def bounds_of(before: Array, eta: Array, const: Array, power: Array, d: int) -> Bounds | None:
    """Return bounds of the scores by parameters eta, given products with those before.

    Scores now are as in `Products`. Returns None if some function is not convex.
    """
    student = power > 0.0 if len(power) else np.zeros(len(eta), dtype=bool)
    flat = (before[:, 1:] == 0.0).all(axis=1) & (eta[:, 1:] == 0.0).all(axis=1)
    then = _quadratic(-before, d, flat)
    now = _quadratic(np.where(student[:, None], eta, -eta), d, flat)
    try:
        root = np.linalg.inv(np.linalg.cholesky(then.bend))
        share = _SHARE * np.linalg.eigvalsh(root @ now.bend @ root.transpose(0, 2, 1))[:, 0]
        high = float(-then.least().min()) / _LN2
        least = _Quadratic(
            now.level - share * then.level,
            now.slope - share[:, None] * then.slope,
            now.bend - share[:, None, None] * then.bend,
        ).least()
    except np.linalg.LinAlgError:
        return None
    if not (np.isfinite(high) and np.isfinite(least).all() and (share > 0.0).all()):
        return None
    scores = high + _BITS * np.linspace(-1.0, 0.0, _STEPS)
    most = (share * _LN2)[:, None] * scores - least[:, None]
    if len(power):
        q = np.maximum(-most, 1.0)
        falls = np.log(q) - (q + most)  # a line below 1, so that bounds are convex
        most = np.where(student[:, None], const[:, None] - power[:, None] * falls, most)
    return Bounds(most.max(axis=0), float(scores[0]), _BITS / (_STEPS - 1))


def _quadratic(eta: Array, d: int, flat: NDArray[np.bool_]) -> _Quadratic:
    """Return the functions that products are with; those that are flat get a bend for both."""
    i, j = upper(d)
    bend = np.empty((len(eta), d, d))
    bend[:, i, j] = bend[:, j, i] = eta[:, 1 + d :]
    bend[:, range(d), range(d)] *= 2.0
    bend[flat] = np.eye(d)
    return _Quadratic(eta[:, 0], eta[:, 1 : 1 + d], bend)
