"""Threads of the native core: the same bits on any number of them, errors, and forks."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from scstream import core
from scstream.engines import CpuEngine
from scstream.engines.base import Key
from scstream.engines.chunks import Sizes
from scstream.families import Gaussian
from scstream.sampler.sweep import predictive

pytestmark = pytest.mark.skipif(core.name() != "native", reason="the plain core has no threads")
ROWS, CLUSTERS = 10_500, 7


def passes(threads):
    """Return what sweeps, tries and labels of others are, on some threads."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 3)) + 4.0 * rng.integers(3, size=(ROWS, 1))
    weight = rng.uniform(0.5, 2.0, size=ROWS)
    family = Gaussian().prepare(X)
    T, label = family.statistics(X), rng.integers(2 * CLUSTERS, size=ROWS)
    parts = np.stack([T[label == c].sum(axis=0) for c in range(2 * CLUSTERS)])
    whole = parts[::2] + parts[1::2]
    score = predictive(family, whole, whole[:, 0], 1.0)
    sub = family.predictive_score(parts, np.log(parts[:, 0]))
    engine, found = CpuEngine(threads, sizes=Sizes(chunk_rows=512)), []
    engine.load(family, X, weight)
    for key in (Key(1, 2, 3), None):
        sums = engine.sweep(score, sub, CLUSTERS, key)
        found += [sums.current, sums.rows, sums.rivals, sums.entropy]
        found += [engine.labels.copy(), engine.sublabels.copy()]
        found += engine.resplit(sub, np.arange(CLUSTERS) != 2)
        found.append(engine.adopt(np.arange(CLUSTERS) % 2 == 0))
        swap = np.arange(2 * CLUSTERS).reshape(CLUSTERS, 2) % CLUSTERS
        engine.relabel(swap, 1 - swap % 2)
        found += [engine.labels.copy(), engine.sublabels.copy()]
    return [*found, engine.assign(family, X, score)]


def test_any_number_of_threads_gives_the_same_bits():
    alone = passes(1)
    assert len(np.unique(alone[-1])) > 2
    for threads in (2, 3, 8):
        for one, other in zip(alone, passes(threads), strict=True):
            np.testing.assert_array_equal(one, other)


def test_several_callers_at_once_get_what_each_would_alone():
    alone, found = passes(1), {}
    callers = [
        threading.Thread(target=lambda i=i: found.setdefault(i, passes(3))) for i in range(4)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    for i in range(4):
        for one, other in zip(alone, found[i], strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_works_alone_and_ends():
    """In a process of its own: warnings about forks of threads would be errors here."""
    text = """
import os, sys, numpy as np
sys.path.insert(0, {here!r})
from test_pool import passes
alone = passes(1)
passes(3)
child = os.fork()
if child == 0:
    same = all(np.array_equal(a, b) for a, b in zip(alone, passes(3)))
    sys.exit(7 if same else 1)
_, status = os.waitpid(child, 0)
passes(3)
sys.exit(os.waitstatus_to_exitcode(status))
"""
    text = text.format(here=os.path.dirname(__file__))
    run = subprocess.run([sys.executable, "-c", text], timeout=100, check=False)
    assert run.returncode == 7


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits memory so")
def test_an_error_on_a_thread_is_raised():
    """Scores of so many components for a tile take 256 MB, and there is no room for them."""
    text = """
import resource, numpy as np
from scstream import core
from scstream.core import Rows, Scores
none, k, n = np.zeros(0), 1_000_000, 10_000
rows, out = Rows(np.zeros((n, 1)), np.zeros(1), np.ones(1)), np.empty(n, np.int64)
core.best_labels(rows, Scores(np.zeros((3, 3)), none, none), out, 3)
many = Scores(np.zeros((k, 3)), none, none)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**27, used + 2**27))
try:
    core.best_labels(rows, many, out, 3)
except MemoryError:
    core.best_labels(rows, Scores(np.zeros((3, 3)), none, none), out, 3)
    print("raised")
"""
    run = subprocess.run(
        [sys.executable, "-c", text], timeout=100, capture_output=True, check=False
    )
    assert run.stdout == b"raised\n", run.stderr
