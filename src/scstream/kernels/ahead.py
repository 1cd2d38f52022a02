"""A second process compiles half of what a first batch needs, while this one compiles the rest.

It is started by the first kernel of a batch that is not on disk, where there are two cores and a
Python to start, and writes to the same folder. Who needs a kernel that it has in hand compiles what
was left for such moments, and then waits for it.
Small batches of Gaussian clusters have kernels of their own, Student-t ones two more, and so have
large batches. Those of all other batches are compiled while this process compiles the large one
that labels rows.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
from collections.abc import Callable, Collection
from importlib import import_module
from pathlib import Path
from threading import Condition, Thread
from time import monotonic
from typing import Any

from numba import bool_, float32, float64, int64, types, uint64
from numba.core import config

_HELPER = "SCSTREAM_COMPILES_AHEAD"  # is set in the second process
_BEGINS = "matrices.prior"  # what a small batch of Gaussian clusters needs first
_BEGINS_HEAVY = "heavy_batch.sweep"  # one of Student-t clusters, for long
_BEGINS_LARGE = "large_rows.sweep"  # a large one, for long
_BEGINS_OTHERS = "screened_blocks.label_block"  # and any other batch, for long
_SECONDS = {
    "small_batch": 12,
    "small_divisions": 12,
    "matrices": 12,
    "pooling": 12,
    "large_rows": 8,
}  # on two cores; those of other batches: 6


def signatures() -> dict[str, Any]:
    """Return the types of the arguments of all kernels that a second process may compile."""
    return {
        **_of_small_batches(),
        **_of_heavy_batches(),
        **_of_large_batches(),
        **_of_other_batches(),
    }


def _of_other_batches() -> dict[str, Any]:
    """Return those of large batches and other families, but for the kernel that labels rows."""
    from scstream.kernels.labelling import Pairs

    f1, f2, f3 = float64[::1], float64[:, ::1], float64[:, :, ::1]
    i1, i2, b1 = int64[::1], int64[:, ::1], bool_[::1]
    pairs = types.NamedTuple((f2, f1, f1), Pairs)
    return {
        "scores.pair_products": (f2, f2, i1, f2),
        "labelling.share_pair": (f2, i1, f1, f1),
        "labelling.tally": (i1, i1, i1, f1, f1, f1, i2, i2, f2),
        "labelling.add_by_share": (f2, f1, i1, f1, f3),
        "mixture.neighbours": (i2, i2, i2),
        "mixture.log_split": (float64, f2, f2, f1, f1, float64, f1),
        "labelling.rename": (i2, i2, i1, i1),
        "labelling.least": (int64, int64, int64, int64, i1, i1, f1),
        "labelling.resplit_block": (f2, f1, i1, b1, pairs, bool_, i1, f3, f1),
        "labelling.best_pair": (f2, i1, f1),
        "labelling.add_by_label": (f2, f1, i1, i1, f3),
        "labelling.add_doubts": (i1, f1, f1, f1),
        "labelling.take_trial": (b1, i1, i1, i1, i2),
        "mixture.dirichlets": (f3, f3, float64, f2, f1),
        "mixture.log_weights": (f1, f1, f1, f1),
        "labelling.uniforms": (int64, int64, int64, int64, f2),
        "labelling.draw_pair": (f2, f1, i1, f1),
        "mixture.log_joint": (f2, f1, float64),
    }


def _of_large_batches() -> dict[str, Any]:
    """Return those of large batches of Gaussian clusters, but for the kernel that sweeps."""
    from scstream.kernels.crew import Crew
    from scstream.kernels.labelling import Pairs
    from scstream.kernels.large_rows import Rows, Scratch
    from scstream.kernels.large_tiles import Run, Tiles
    from scstream.kernels.nearby import Box
    from scstream.kernels.sharing import Shares, Totals

    f1, f2, i1, i2 = float64[::1], float64[:, ::1], int64[::1], int64[:, ::1]
    s1, s2, f3, b1 = float32[::1], float32[:, ::1], float64[:, :, ::1], bool_[::1]
    i3, pairs = int64[:, :, ::1], types.NamedTuple((f2, f1, f1), Pairs)
    box = types.NamedTuple((f2, f2, f2, f2, f2, i2), Box)
    tiles = types.NamedTuple(
        (s2, s2, s2, s2, s2, s2, f2, i2, f2, f2, i2, i2, f2, f2, f2, i2, i2, box), Tiles
    )
    run, rows = types.NamedTuple((i2, i2, f3, i2), Run), types.NamedTuple((f1, s1, f1, f1), Rows)
    totals, own = (types.NamedTuple(of, Totals) for of in ((f2, i2, i2, f2), (f3, i3, i3, f3)))
    scratch = types.NamedTuple((f3, f2, f2, i2, f2, run, tiles, own), Scratch)
    crew, labels = types.NamedTuple((int64, i1), Crew), types.UniTuple(i1, 2)
    shares = types.NamedTuple((int64, i2, i2, i1, crew), Shares)
    prior, past = types.Tuple((f1, float64, float64, int64)), types.Tuple((f3, f2))
    return {
        "large_rows.resplit": (
            rows, f1, b1, pairs, bool_, shares, scratch, labels, totals,
        ),
        "crew.serve": (i1, int64),
        "cuts.shared_directions": (crew, f2, f2, i1, int64, f1, int64, f2, i1, f2),
        "gaussian_moves.judge": (
            types.Tuple((i1, i1, bool_)), types.Tuple((f3, f1)), past, past, prior, float64,
            types.UniTuple(float64, 3), f1, types.Tuple((f2, f1)),
        ),
        "labelling.rename": (i2, i2, i1, i1),
        "labelling.take_trial": (b1, i1, i1, i1, i2),
        "mixture.log_joint": (f2, f1, float64),
        "mixture.dirichlets": (f3, f3, float64, f2, f1),
        "mixture.log_weights": (f1, f1, f1, f1),
        "labelling.least": (int64, int64, int64, int64, i1, i1, f1),
        "small_batch.densities": _of_small_batches()["small_batch.densities"],
    }  # fmt: skip


def _of_small_batches() -> dict[str, Any]:
    """Return those of small batches of Gaussian clusters, in the order in which they are needed."""
    f1, f2, f3, f4 = float64[::1], float64[:, ::1], float64[:, :, ::1], float64[:, :, :, ::1]
    i1, i2, b1 = int64[::1], int64[:, ::1], bool_[::1]
    prior, room = types.Tuple((f1, float64, float64, int64)), types.Tuple((f1, i1, float32[::1]))
    sums, levels = types.Tuple((f3, i2, i2, f2)), types.Tuple((f2, f1))
    known = types.Tuple((f2, f1, bool_))
    past, rows = types.Tuple((f3, f2)), types.Tuple((f2, f1, i1, i1))
    who, how = types.Tuple((i1, i1, f2, bool_)), types.Tuple((int64, int64, bool_))
    tried, limits = types.Tuple((f3, f1)), types.UniTuple(float64, 2)
    five = types.UniTuple(float64, 5)
    ratio, merges = types.UniTuple(float64, 3), types.Tuple((i2, i2, f1, f1))
    frame, decisions = types.UniTuple(f1, 2), types.Tuple((f1, bool_, float64, uint64[::1]))
    margins = types.Tuple((float64, float64, float64, float64, int64, float64))
    return {
        "pooling.outlying": (f2, int64),
        "pooling.pooled": (f2, f2),
        "mixture.many_rows": (i2, int64, b1),
        "mixture.standing": (f3, f3, types.UniTuple(f2, 2), f2, f2, f2),
        "labelling.rename": (i2, i2, i1, i1),
        "labelling.named": (i1, i1, i1),
        "mixture.log_joint": (f2, f1, float64),
        "draws.log_uniforms": (uint64[::1], f1),
        "mixture.log_split": (float64, f2, f2, f1, f1, float64, f1),
        "small_divisions.divide": (
            rows, past, past, who, prior, how, limits, ratio, room, types.Tuple((tried, levels)),
        ),
        "labelling.take_trial": (b1, i1, i1, i1, i2),
        "labelling.least": (int64, int64, int64, int64, i1, i1, f1),
        "small_batch.assign": (f2, frame, f2, float64, prior, room, i1, i1),
        "small_batch.moves": (
            past, sums, known, decisions, i1, margins, ratio, prior, room, merges,
        ),
        "matrices.student_level": (f2, f1, float64, int64, f1, f1, f1),
        "matrices.student": (f2, int64, f1, f2),
        "scores.products": (f2, f2, f2),
        "scores.student": (f2, f1, f1),
        "scores.log_totals": (f2, f1, f1, f1, f1),
        "sketches.merge": (types.UniTuple(f1, 2), types.UniTuple(f1, 2), i1, float64, f2),
        "small_batch.densities": (f2, frame, f2, float64, prior, room, f1),
        "mixture.faded": (float64, f4, f3, types.Tuple((f4, f3))),
        "mixture.older": (i1, i1, i1),
        "small_batch.forget": (past, f3, f1, five, float64, prior, room, past),
        "pooling.expected": (f2, f2, f2, float64, float64, f1, f2),
        "mixture.recent": (float64, f1, f2, f1),
        "mixture.most": (f1, f2, f1),
        "sketches.follow": (f1, f1, f1, float64, f1),
        "cuts.between": (f3, f1, float64, f2, f2, f1),
        "cuts.discriminant": (f2, f1, f2, f3, f2, f1),
        "cuts.truncate": (f2, f2, f1, float64, f1, f2),
    }  # fmt: skip


def _of_heavy_batches() -> dict[str, Any]:
    """Return those of small batches of Student-t clusters alone, but for the one that sweeps."""
    f1, f2, f3 = float64[::1], float64[:, ::1], float64[:, :, ::1]
    i1, i2 = int64[::1], int64[:, ::1]
    past, now = types.Tuple((f3, f2)), types.Tuple((f3, i2, i2, f2))
    rows, room = types.Tuple((f2, f1, i1, i1, f2)), types.Tuple((f1, i1, float32[::1]))
    prior = types.Tuple((f1, float64, float64, int64))
    tails = types.Tuple((float64, f1, float64, float64))
    ratio, search = types.UniTuple(float64, 3), types.Tuple((int64, float64))
    merges = types.Tuple((i2, i2, f1, f1))
    return {
        "heavy_moves.merged": (
            past, now, f1, rows, tails, prior, ratio, search, room, merges,
        ),
        "heavy_moves.together": (
            f3, f3, i2, rows, tails, prior, int64, room, types.Tuple((f2, f2, f3, f2)),
        ),
    }  # fmt: skip


class _Helper:
    """A second process for some kernels, seen from this one.

    Parameters
    ----------
    kernels : callable
        Returns the kernels, see `signatures`.
    meanwhile : collection of str
        Those that this process compiles while it waits for one that comes after them.
    """

    def __init__(
        self, kernels: Callable[[], dict[str, Any]], meanwhile: Collection[str] = ()
    ) -> None:
        self._kernels = kernels
        self.meanwhile = sorted(meanwhile)
        self._left = set(meanwhile)
        self._process: subprocess.Popen[str] | None = None
        self._in_hand: frozenset[str] | None = None
        self._done: set[str] = set()
        self._news = Condition()
        self.last_done = 0.0

    def start(self) -> None:
        """Start it, unless that was done before."""
        if self._in_hand is not None:
            return
        self._in_hand = frozenset()
        environment = {**os.environ, _HELPER: "1"}
        environment["PYTHONPATH"] = os.pathsep.join(p or os.getcwd() for p in sys.path)
        environment["NUMBA_CACHE_DIR"] = getattr(config, "CACHE_DIR", "")
        wanted = f"a.{self._kernels.__name__}(), but={self.meanwhile!r}"
        script = f"import {__name__} as a; a.help_out({wanted})"
        command = [sys.executable, "-W", "ignore", "-c", script]
        try:
            self._process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        except OSError:
            return
        self._in_hand = frozenset(self._kernels()) - {*self.meanwhile}
        self._listener = Thread(target=self._listen, args=(self._process.stdout,), daemon=True)
        self._listener.start()
        atexit.register(self.stop)

    def _listen(self, said: Any) -> None:
        """Take note of what is done, until there is no more to come."""
        with said:
            for line in said:
                with self._news:
                    self._done.add(line.strip())
                    self.last_done = monotonic()
                    self._news.notify_all()
        with self._news:
            self._in_hand = frozenset(self._done)
            self._news.notify_all()

    def wait_for(self, name: str) -> bool:
        """Wait until a kernel is on disk; false if this will not happen."""
        if self._process is None or name not in (self._in_hand or ()):
            return False
        kernels = self._kernels()
        order = list(kernels)
        for mine in order[: order.index(name)]:
            if mine in self._left and name not in self._done:
                self._left.remove(mine)
                _compile(mine, kernels[mine])
        with self._news:
            self._news.wait_for(lambda: name in self._done or name not in (self._in_hand or ()))
        return name in self._done

    def stop(self) -> None:
        """End it, done or not."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._listener.join()
            self._process = None


_HELPERS = {
    _BEGINS: _Helper(_of_small_batches, {"small_batch.assign", "small_batch.densities"}),
    _BEGINS_HEAVY: _Helper(_of_heavy_batches),
    _BEGINS_LARGE: _Helper(_of_large_batches),
    _BEGINS_OTHERS: _Helper(_of_other_batches),
}


def name_of(function: Any) -> str:
    """Return the name of a kernel, with its module's."""
    return f"{function.__module__.rpartition('.')[2]}.{function.__name__}"


def is_helper() -> bool:
    """Whether this is the second process."""
    return _HELPER in os.environ


def start_for(name: str) -> None:
    """Start the second process that belongs to the first kernel of a batch."""
    if name in _HELPERS and can_help():
        _HELPERS[name].start()


def can_help() -> bool:
    """Whether a second process may be started, and has a core to run on."""
    python = Path(sys.executable or "").name.startswith("python")
    return python and not getattr(sys, "frozen", False) and _cores() > 1 and not is_helper()


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def waited_for(name: str) -> bool:
    """Wait for a kernel that the second process has in hand; false if it has not."""
    return any(helper.wait_for(name) for helper in _HELPERS.values())


def last_done() -> float:
    """Return the moment when a kernel that was waited for was last done."""
    return max(helper.last_done for helper in _HELPERS.values())


def seconds_for(name: str) -> int:
    """Return about how long compiling takes that begins with a kernel."""
    seconds = _SECONDS.get(name.partition(".")[0], 6)
    return seconds if can_help() else round(1.5 * seconds)


def help_out(kernels: dict[str, Any], but: Collection[str] = ()) -> None:
    """Be the second process: compile all kernels but some, and say what is done."""
    for name, arguments in kernels.items():
        if name not in but:
            _compile(name, arguments)
            print(name, flush=True)


def _compile(name: str, arguments: Any) -> None:
    module, _, kernel = name.partition(".")
    getattr(import_module(f"scstream.kernels.{module}"), kernel).compile(arguments)
