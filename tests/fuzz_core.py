"""Spoiled calls of the compiled core: no crash, no write outside of outputs, plain errors.

``python -m tests.fuzz_core --cases 10000`` records the calls that ``tests/core`` and some streams
make, spoils an argument or two of each, and calls again. No function is left out.
"""

from __future__ import annotations

import argparse
import faulthandler
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import scstream

NAME = "scstream.core.native._compiled"
CORE = Path(__file__).parent / "core"
A_FUNCTION = 16  # calls that are kept of each function
SMALL = 2**16  # bytes of arrays that a call may have
GUARD = 64  # bytes before and behind an array that nothing may change
PATIENCE = 60.0  # seconds that a call may take
KINDS = ("f8", "f4", "i8", "i4", "u1", "?", "c16", "U3", "O", ">f8", ">i8")
FLOATS = (np.nan, np.inf, -np.inf, 0.0, -1.0, 1e308, 5e-324, 1e19)
INTS = (-1, -2, 0, 1, 7, 10**6, 2**31, 2**62, -(2**62), 2**63 - 1, -(2**63))
SCALARS = (None, "x", 1.5, np.nan, -1, 0, 3, 2**62, 2**63, 2**64, -(2**63), 10**30, (), [1.0])
SIGNS = np.frombuffer(b',;"\n\r\t .-+e0123456789x\x00\xff', np.uint8)


class Recorder(ModuleType):
    """The compiled core, which keeps copies of the arguments of some calls."""

    def __init__(self, core):
        super().__init__(NAME)
        self.core, self.calls = core, {}
        self._rng = np.random.default_rng(0)

    def __getattr__(self, name):
        function = getattr(self.core, name)
        calls = self.calls.setdefault(name, [])

        def call(*args):
            result = function(*args)
            if size(args) <= SMALL or not calls:
                place = len(calls) if len(calls) < A_FUNCTION else self._rng.integers(A_FUNCTION)
                calls[place : place + 1] = [copied(args)]
            return result

        return call


class Native:
    """Chooses the tests of the compiled core."""

    @staticmethod
    def pytest_collection_modifyitems(items):
        items[:] = [item for item in items if "[plain" not in item.name]


def recorded(core):
    """Return calls by function that the tests of the core make."""
    recorder = sys.modules[NAME] = Recorder(core)
    if pytest.main(["-q", "--no-header", "-p", "no:cacheprovider", str(CORE)], [Native()]) != 0:
        sys.exit("The tests of the core fail.")
    scstream.core._core = recorder
    learn_streams()
    functions = {name for name in dir(core) if not name.startswith("_")}
    missing = sorted(functions - {name for name, calls in recorder.calls.items() if calls})
    if missing:
        sys.exit(f"Neither tests/core nor a stream calls the compiled {', '.join(missing)}.")
    return recorder.calls


def learn_streams():
    """Learn some streams, which call what the steps of a batch take together."""
    rng = np.random.default_rng(0)
    for family, d in (("gaussian", 2), ("gaussian", 7), ("gaussian", 20), ("student", 2)):
        model, centre = scstream.ScStream(family, random_state=0), 4.0 * rng.normal(size=(5, d))
        for b in range(6):
            model.partial_fit(centre[rng.integers(2 + b // 2, size=80)] + rng.normal(size=(80, d)))


def size(value):
    """Return how many bytes arrays have."""
    if isinstance(value, tuple):
        return sum(map(size, value))
    return value.nbytes if isinstance(value, np.ndarray) else 0


def copied(value):
    if isinstance(value, tuple):
        return tuple(map(copied, value))
    return value.copy() if isinstance(value, np.ndarray) else value


def leaves(value, path=()):
    """Yield the path to each argument, tuples and what is in them."""
    if path:
        yield path, value
    if isinstance(value, tuple):
        for i, part in enumerate(value):
            yield from leaves(part, (*path, i))


def replaced(value, path, new):
    if not path:
        return new
    i, *rest = path
    return (*value[:i], replaced(value[i], rest, new), *value[i + 1 :])


def outputs_of(function, args):
    """Return the paths of arrays that a function refuses if they are read-only."""
    found = set()
    for path, value in leaves(args):
        if isinstance(value, np.ndarray):
            fixed = value.copy()
            fixed.flags.writeable = False
            try:
                function(*replaced(copied(args), path, fixed))
            except TypeError:
                found.add(path)
    return found


def spoiled(rng, value):
    """Return something else in place of an argument."""
    if not isinstance(value, np.ndarray):
        if isinstance(value, tuple) and rng.random() < 0.7:
            return [value[:-1], (*value, None), value[::-1], list(value)][rng.integers(4)]
        return SCALARS[rng.integers(len(SCALARS))]
    way = rng.integers(6)
    if way == 0:
        with np.errstate(all="ignore"):
            try:
                return value.astype(KINDS[rng.integers(len(KINDS))])
            except (TypeError, ValueError):
                return None
    if way == 1:
        return shaped(rng, value)
    if way == 2 and rng.random() < 0.3:
        return SCALARS[rng.integers(len(SCALARS))]
    return with_values(rng, value)


def shaped(rng, value):
    """Return an array with another shape."""
    axis = int(rng.integers(max(value.ndim, 1)))
    if value.ndim == 0 or (value.ndim and value.shape[axis] == 0):
        return np.zeros((3, *value.shape[1:]), value.dtype)
    n = value.shape[axis]
    return [
        lambda: value[None],
        lambda: value[0].copy(),
        lambda: value.ravel(),
        lambda: np.take(value, [], axis=axis),
        lambda: np.take(value, range(n - 1), axis=axis),
        lambda: np.take(value, [*range(n), n - 1], axis=axis),
        lambda: np.concatenate([value, value], axis=axis),
        lambda: value.T.copy(),
    ][rng.integers(8)]()


def with_values(rng, value):
    """Return an array with some other numbers in it."""
    out = value.copy()
    some = rng.random(out.shape) < rng.choice([0.02, 0.3, 1.0])
    if out.dtype.kind == "f":
        out[some] = rng.choice(FLOATS, size=int(some.sum()))
    elif out.dtype == np.int64:
        with np.errstate(over="ignore"):
            near = [*out.shape, out.max(initial=0) + 1, out.min(initial=0) - 1]
        out[some] = rng.choice(np.array([*INTS, *near]), size=int(some.sum()))
    elif out.dtype == np.uint8:
        out[some] = rng.choice(SIGNS, size=int(some.sum()))
    else:
        out[some] = rng.integers(2, size=int(some.sum())).astype(out.dtype)
    return out


class Guarded:
    """The arrays of a call, each in memory of its own whose rims are looked at afterwards."""

    def __init__(self, rng, args, outputs):
        self._rng, self._outputs, self._memory = rng, outputs, []
        self.args = self._laid_out(args, ())

    def _laid_out(self, value, path):
        if isinstance(value, tuple):
            return tuple(self._laid_out(part, (*path, i)) for i, part in enumerate(value))
        if not isinstance(value, np.ndarray) or value.dtype.hasobject:
            return value
        rim = GUARD * int(self._rng.integers(2))  # without, tools that watch memory see more
        memory = np.full(value.nbytes + 2 * rim, 0xA5, np.uint8)
        out = memory[rim : rim + value.nbytes].view(value.dtype).reshape(value.shape)
        out[...] = value
        inside = slice(rim, rim + value.nbytes) if path in self._outputs else slice(0, 0)
        before = memory.copy()
        self._memory.append((path, memory, before, inside))
        way = self._rng.integers(40)
        if way < 3:
            out = [out.T, out[::-1], out[::2]][way] if out.ndim else out
        elif way == 3:
            out.flags.writeable = False
        return out

    def changed(self):
        """Return where something was changed that is no output."""
        for path, memory, before, inside in self._memory:
            before[inside] = memory[inside]
            if not np.array_equal(before, memory):
                return path
        return None


def tried(rng, function, args, outputs):
    """Call with something spoiled; return what is wrong with how it went, None if nothing is."""
    paths = list(leaves(args))
    for _ in range(rng.integers(1, 4)):
        path, value = paths[rng.integers(len(paths))]
        other = paths[rng.integers(len(paths))][1]
        try:
            args = replaced(args, path, other if rng.random() < 0.05 else spoiled(rng, value))
        except (IndexError, TypeError):  # an earlier one left nothing there
            continue
    guarded = Guarded(rng, args, outputs)
    try:
        function(*guarded.args)
    except (TypeError, ValueError):
        pass
    except BaseException as error:
        return f"raises {error!r}"
    where = guarded.changed()
    return None if where is None else f"writes where it should not, near argument {where}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=10_000, help="calls in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="this function alone")
    parser.add_argument("--trace", action="store_true", help="name each call before it is made")
    given = parser.parse_args()
    import scstream.core.native._compiled as core

    calls = {name: some for name, some in recorded(core).items() if given.only in (None, name)}
    faulthandler.enable()
    wrong = 0
    outputs = {name: outputs_of(getattr(core, name), some[0]) for name, some in calls.items()}
    for case in range(given.cases):
        rng = np.random.default_rng([given.seed, case])
        name = list(calls)[case % len(calls)]
        if given.trace:
            print(f"case {case}: {name}", flush=True)
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        args = calls[name][rng.integers(len(calls[name]))]
        said = tried(rng, getattr(core, name), args, outputs[name])
        if said:
            wrong += 1
            print(f"case {case} of seed {given.seed}: {name} {said}", flush=True)
    faulthandler.cancel_dump_traceback_later()
    print(f"{given.cases} calls of {len(calls)} functions, {wrong} of them wrong")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
