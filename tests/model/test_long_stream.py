"""A stream may be long: neither memory nor the time of a batch grows with it."""

import pickle
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from streams import blobs, hyperbola

from scstream import Rules, ScStream
from scstream.estimator import asked, learning
from scstream.sampler.window import Forgetting

OPTIONS = {"half-life": {}, "no forgetting": {"half_life": None}, "kernel": {"kernel": hyperbola}}


@pytest.mark.parametrize("options", OPTIONS)
def test_what_the_model_holds_does_not_grow(options, monkeypatch) -> None:
    # A kernel keeps a record of each batch up to a bound, so do the history and the latest rows,
    # and the sketch of scores stands for so many: the bounds are brought within the reach of a
    # short stream. Where
    # scores are never forgotten, the sketch gets an entry more for each 2 % more of them.
    monkeypatch.setattr(learning, "_HISTORY", 20)
    monkeypatch.setattr(asked, "Forgetting", partial(Forgetting, max_records=20))
    rules = Rules(scored_rows=50, scores_kept=100.0, group_rows=1000)
    model = ScStream(random_state=0, rules=rules, **OPTIONS[options])
    sizes = []
    for b in range(120):
        model.partial_fit(blobs(50, b)[0])
        if b + 1 in (40, 120):
            assert model.n_clusters_ == 3
            scores = model._learner.scores
            assert len(scores.values) < 50 + np.log(scores.count) / np.log(1.02)
            assert scores.count < 1000 or options == "no forgetting"
            alike = model._learner.alike
            assert len(alike.rows) < rules.alike_rows
            held = scores.values, scores.weights, alike.rows, alike.labels
            sizes.append(len(pickle.dumps(model)) - sum(numbers.nbytes for numbers in held))
    assert sizes[1] < 1.02 * sizes[0]


def test_a_few_rows_at_a_time_are_kept_only_until_there_are_enough() -> None:
    model = ScStream(random_state=0, max_sweeps=3)
    sizes = []
    for b in range(140):
        model.partial_fit(blobs(10, b)[0])
        sizes.append(len(pickle.dumps(model._learner)))
    assert model._learner.warmup == ()
    assert max(sizes[100:]) < max(sizes[:100])


@pytest.mark.parametrize("seed", range(4))
def test_a_cluster_that_was_one_for_long_still_comes_apart(seed) -> None:
    # A sub-cluster that gets no points for long must not stand in the way of a better one.
    rng, model = np.random.default_rng(seed), ScStream("gaussian", random_state=seed)
    for b in range(160):
        X, y = rng.normal(size=(200, 2)), rng.integers(2, size=200)
        X[:100, 0] += 0.2 * max(b - 100, 0) * (y[:100] - 0.5)
        X[100:, 1] += 30.0
        model.partial_fit(X)
        assert model.n_clusters_ == 2 or b > 100
    assert model.n_clusters_ == 3


LONG = """
import time
import numpy as np
from scstream import ScStream

def resident():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))

centres = np.random.default_rng(0).uniform(-20, 20, (8, 2))
rng = np.random.default_rng(1)
model, seconds = ScStream(random_state=0), []
for b in range(10_000):
    if b % 400 == 399:  # clusters die and are born
        centres[(b // 400) % 8] = rng.uniform(-20, 20, 2)
    X = centres[rng.integers(8, size=1000)] + rng.standard_normal((1000, 2))
    start = time.perf_counter()
    model.partial_fit(X)
    seconds.append(time.perf_counter() - start)
    if b + 1 == 500:
        print(resident())
print(resident())
print(np.median(seconds[500:1500]), np.median(seconds[-1000:]))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads resident memory from /proc")
def test_ten_thousand_batches_take_no_more_memory_and_no_more_time() -> None:
    out = subprocess.run(
        [sys.executable, "-c", LONG], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    early, late = int(out[0]), int(out[1])
    assert late < 1.05 * early
    first, last = map(float, out[2].split())
    assert last < 1.5 * first
