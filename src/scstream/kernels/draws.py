"""Compiled draws of uniforms, normals and gammas, which are NumPy's of the same generator.

NumPy takes longer to check what it is asked for than to draw the parameters of some dozens of
clusters. The normals are those of a ziggurat (Marsaglia and Tsang 2000a, in the form of Doornik
2005), the gammas those of Marsaglia and Tsang (2000b).
"""

from __future__ import annotations

from math import erfc, exp, log, log1p, pi, sqrt
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import config, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from scstream.kernels.compiling import bare, part

_TAIL = 3.6541528853610088  # where the ziggurat's lowest layer becomes the tail
_BYTE, _BIT, _BITS = np.uint64(0xFF), np.uint64(1), np.uint64(2**52 - 1)
_S8, _S9, _S11, _S58, _S63, _S64 = (np.uint64(i) for i in (8, 9, 11, 58, 63, 64))
_FACTOR = (np.uint64(0x2360ED051FC65DA4), np.uint64(0x4385DF649FCCF645))
_WORD = 2**64 - 1
_UNIT = 2.0**-53


def _layers() -> tuple[NDArray[np.float64], NDArray[np.uint64], NDArray[np.float64]]:
    """Return the ziggurat's widths for a bit, what is surely inside, and heights: (256,) each."""
    area = _TAIL * exp(-0.5 * _TAIL**2) + sqrt(0.5 * pi) * erfc(_TAIL / sqrt(2.0))
    x, height = np.empty(256), np.ones(256)
    x[255], height[255] = _TAIL, exp(-0.5 * _TAIL**2)
    for i in range(254, 0, -1):
        x[i] = sqrt(-2.0 * log(area / x[i + 1] + height[i + 1]))
        height[i] = exp(-0.5 * x[i] ** 2)
    x[0] = area / height[255]
    inside = np.zeros(256)
    inside[2:] = x[1:255] / x[2:]
    inside[0] = _TAIL / x[0]
    return x * 2.0**-52, (inside * 2.0**52).astype(np.uint64), height


_WIDTH, _INSIDE, _HEIGHT = _layers()


Words = NDArray[np.uint64]


class _AnySeed(np.random.bit_generator.ISeedSequence):
    """Seeds a generator whose state is set at once; NumPy's own takes longer than that."""

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> NDArray[Any]:
        return _ZEROS[:n_words].astype(dtype, copy=False)


_ZEROS = np.zeros(8, dtype=np.uint64)
_ANY_SEED = _AnySeed()


def words_of(rng: np.random.Generator) -> Words:
    """Return the state (6,) of a generator PCG64.

    The first four words are for compiled draws, see `_word`. The last two are half a word that
    NumPy may have left for later.
    """
    whole: dict[str, Any] = rng.bit_generator.state  # type: ignore[assignment]
    at, step = whole["state"]["state"], whole["state"]["inc"]
    words = (at >> 64, at & _WORD, step >> 64, step & _WORD, whole["has_uint32"], whole["uinteger"])
    return np.array(words, dtype=np.uint64)


def generator_of(words: Words) -> np.random.Generator:
    """Return the generator with the given state."""
    at, at_low, step, step_low, half, rest = words.tolist()
    bits = np.random.PCG64(_ANY_SEED)  # type: ignore[arg-type] # any ISeedSequence will do
    bits.state = {
        "bit_generator": "PCG64",
        "state": {"state": at << 64 | at_low, "inc": step << 64 | step_low},
        "has_uint32": half,
        "uinteger": rest,
    }
    return np.random.Generator(bits)


class Draws:
    """The draws of one generator, which NumPy and compiled code make in turns.

    To hand over takes longer than most draws, so who drew last keeps the state.

    Parameters
    ----------
    words : ndarray (6,)
        The state, see `words_of`, which moves on.
    """

    def __init__(self, words: Words) -> None:
        self._words = words
        self._generator: np.random.Generator | None = None

    @staticmethod
    def of(rng: np.random.Generator) -> Draws:
        """Return the draws that a generator would make; it stays where it is."""
        return Draws(words_of(rng))

    @property
    def words(self) -> Words:
        """The state (6,), for compiled code that moves it on."""
        if self._generator is not None:
            self._words, self._generator = words_of(self._generator), None
        return self._words

    @property
    def generator(self) -> np.random.Generator:
        """The generator, until the words are asked for."""
        if self._generator is None:
            self._generator = generator_of(self._words)
        return self._generator

    def log_uniforms(self, size: int) -> NDArray[np.float64]:
        """Return logarithms of uniforms in [0, 1)."""
        if self._generator is not None:
            return np.log(self._generator.random(size))
        out = np.empty(size)
        log_uniforms(self._words, out)
        return out


def _high_word_plain(a: Any, b: Any) -> Any:
    """Return the high word of a product of two words."""
    return np.uint64(int(a) * int(b) >> 64)


def _high_word_of(typing: Any, a: Any, b: Any) -> Any:
    """Return the same, by the one instruction that processors have for it."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        long, word = ir.IntType(128), ir.IntType(64)
        first, second = (builder.zext(factor, long) for factor in arguments)
        return builder.trunc(builder.lshr(builder.mul(first, second), long(64)), word)

    return types.uint64(types.uint64, types.uint64), code


_intrinsic: Any = intrinsic
_plain = getattr(config, "DISABLE_JIT", False)
_high_word: Any = _high_word_plain if _plain else _intrinsic(_high_word_of)


@part
def _next(high: Any, low: Any, step: Any, step_low: Any) -> Any:
    """Return the next state of a generator PCG64 (O'Neill 2014), all in high and low words."""
    product = low * _FACTOR[1]
    below = product + step_low
    above = _high_word(low, _FACTOR[1]) + np.uint64(below < product)
    return above + high * _FACTOR[1] + low * _FACTOR[0] + step, below


@part
def _mixed(high: Any, low: Any) -> Any:
    """Return the word that a state gives."""
    mixed, turn = high ^ low, high >> _S58
    return (mixed >> turn) | (mixed << ((_S64 - turn) & _S63))


@part
def _word(state: Any) -> Any:
    """Return the next word of a generator, whose state moves on.

    The state is high and low word of a number of 128 bits, and then of its increment.
    """
    high, low = _next(state[0], state[1], state[2], state[3])
    state[0], state[1] = high, low
    return _mixed(high, low)


@part
def uniform(state: Any) -> Any:
    """Return a uniform in [0, 1)."""
    return np.float64(_word(state) >> _S11) * _UNIT


@bare
def log_uniforms(state: Any, out: Any) -> None:
    """Fill logarithms of uniforms in [0, 1)."""
    for i in range(len(out)):
        out[i] = log(uniform(state))


@part
def normal(state: Any) -> Any:
    """Return a standard normal."""
    while True:
        r = _word(state)
        layer = np.int64(r & _BYTE)
        size = (r >> _S9) & _BITS
        x = np.float64(size) * _WIDTH[layer]
        if (r >> _S8) & _BIT:
            x = -x
        if size < _INSIDE[layer]:
            return x
        if layer > 0:
            low = _HEIGHT[layer]
            if (_HEIGHT[layer - 1] - low) * uniform(state) + low < exp(-0.5 * x * x):
                return x
        else:
            while True:
                more = -log1p(-uniform(state)) / _TAIL
                level = -log1p(-uniform(state))
                if level + level > more * more:
                    return -_TAIL - more if (size >> _S8) & _BIT else _TAIL + more


@part
def _likely(r: Any) -> Any:
    """Return the normal that a word makes by itself, and whether it does, as nearly all do."""
    layer, size = np.int64(r & _BYTE), (r >> _S9) & _BITS
    x = np.float64(size) * _WIDTH[layer]
    if (r >> _S8) & _BIT:
        x = -x
    return x, size < _INSIDE[layer]


@part
def _normal_from(high: Any, low: Any, state: Any) -> Any:
    """Return a standard normal, and the state after it: high and low word, which come at hand.

    They stay out of memory as long as words make normals by themselves.
    """
    after, after_low = _next(high, low, state[2], state[3])
    x, fine = _likely(_mixed(after, after_low))
    if not fine:
        state[0], state[1] = high, low
        x = normal(state)
        after, after_low = state[0], state[1]
    return x, after, after_low


@part
def normals(state: Any, out: Any) -> None:
    """Fill standard normals (m,)."""
    high, low = state[0], state[1]
    for i in range(len(out)):
        out[i], high, low = _normal_from(high, low, state)
    state[0], state[1] = high, low


@part
def gammas(state: Any, x: Any) -> None:
    """Replace shapes (m,) above 1 by gammas that have them."""
    high, low = state[0], state[1]
    for i in range(len(x)):
        b = x[i] - 1.0 / 3.0
        c = 1.0 / sqrt(9.0 * b)
        while True:
            z, high, low = _normal_from(high, low, state)
            v = 1.0 + c * z
            if v <= 0.0:
                continue
            v = v * v * v
            high, low = _next(high, low, state[2], state[3])
            u, square = np.float64(_mixed(high, low) >> _S11) * _UNIT, z * z
            if u < 1.0 - 0.0331 * square * square:
                break
            if log(u) < 0.5 * square + b * (1.0 - v + log(v)):
                break
        x[i] = b * v
    state[0], state[1] = high, low
