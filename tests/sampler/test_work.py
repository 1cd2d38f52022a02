"""The work of a batch, counted rather than timed.

What makes a batch slow is found here on any machine, however busy: a Python loop over clusters,
merges tried for all pairs, more passes over the data, arrays as long as the batch. Each count is
shown to notice what it is there for.
"""

import sys
import tracemalloc
from collections import Counter
from math import ceil, sqrt
from pathlib import Path

import numpy as np
import pytest
from streams import box

import scstream
from scstream import Rules, ScStream, core
from scstream.families import BY_NAME
from scstream.sampler import learner
from scstream.sampler.rules import RULES

needs_native = pytest.mark.skipif(
    core.name() == "plain", reason="the plain core loops over clusters, as its formulas do"
)
PACKAGE = str(Path(scstream.__file__).parent)
CASES = {
    "gaussian": {},
    "outliers": {"outlier_weight": 0.01},
    "kernel": {"kernel": box},
    "two sweeps": {"sweeps": 2},
    "16-D": {"columns": 16, "rows": 240, "rules": Rules(left_out=50.0)},
    "diagonal": {"family": "diagonal"},
    "counts": {"family": "multinomial"},
}
NEIGHBOURS, ROUNDS = RULES.neighbours, RULES.refine_rounds
A_ROW = 4.0  # bytes for each row that sweeps and moves may take: half a number


def batch(k, *, rows=None, columns=2, family="gaussian", seed=0):
    """Return points of k clusters far apart, as many of each, and whose they are."""
    rng = np.random.default_rng(seed)
    y = np.arange(10 * k if rows is None else rows) % k
    if family == "multinomial":
        probability = np.full((k, 160), 0.002)
        probability[np.arange(k), 2 * np.arange(k)] = probability[
            np.arange(k), 2 * np.arange(k) + 1
        ] = 0.3
        probability /= probability.sum(axis=1, keepdims=True)
        return np.stack([rng.multinomial(60, probability[i]) for i in y]), y
    centres = np.zeros((k, columns))
    side = ceil(sqrt(k))
    centres[:, 0], centres[:, 1] = 30.0 * (np.arange(k) % side), 30.0 * (np.arange(k) // side)
    return centres[y] + rng.standard_normal((len(y), columns)), y


def steady(k, *, rows=None, columns=2, family="gaussian", **options):
    """Return a model of k clusters, and its next batches.

    The clusters are far apart, and new ones so improbable that nothing is split or merged.
    """
    shape = {"rows": rows, "columns": columns, "family": family}
    if "kernel" not in options:
        options["half_life"] = None
    prior = family
    if family in BY_NAME and family != "multinomial":
        mean = np.full(columns, 100.0)
        prior = BY_NAME[family](mean, 0.001, np.ones(columns), 100.0)
    model = ScStream(
        prior, alpha=1e-6, random_state=0, n_jobs=1, max_sweeps=1, splits=False, merges=False,
        **options,
    )  # fmt: skip
    X, y = batch(k, **shape)
    model.partial_fit(X, labels=y).set_params(splits=True, merges=True)
    if columns >= 16:
        model.set_params(max_clusters=k)  # no room for clusters on trial
    for seed in (1, 2):
        model.partial_fit(batch(k, **shape, seed=seed)[0])
    return model, [batch(k, **shape, seed=seed)[0] for seed in range(3, 23)]


def learned(model, X):
    """Learn a batch that changes no cluster."""
    k = model.n_clusters_
    model.partial_fit(X)
    record = model.history_[-1]
    assert (model.n_clusters_, record.splits, record.merges) == (k, (), ())


def counted(job):
    """Return how many functions a job calls, and how many lines of the package it runs.

    A loop counts in both ways, unless it calls nothing, and then still in the second.
    """
    count = Counter()

    def line(frame, event, argument):
        count["lines"] += event == "line"
        return line

    def called(frame, event, argument):
        return line if frame.f_code.co_filename.startswith(PACKAGE) else None

    def profile(frame, event, argument):
        count["calls"] += event in ("call", "c_call")

    before = sys.gettrace(), sys.getprofile()
    sys.settrace(called)
    sys.setprofile(profile)
    try:
        job()
    finally:
        sys.setprofile(before[1])
        sys.settrace(before[0])
    return count


def python_work(k, case):
    """Return the calls and lines of some batches, each (20,)."""
    model, batches = steady(k, **CASES[case])
    assert model.n_clusters_ == k
    counts = [counted(lambda X=X: learned(model, X)) for X in batches]
    return {what: [count[what] for count in counts] for what in ("calls", "lines")}


def grows(few, many):
    """Whether a count of work grows from 20 to 80 clusters by one for every cluster.

    A batch in which some division is changed takes a few steps more, however many are changed. Such
    a batch may be the one that takes most or least: work that grows does so in both.
    """
    return min(max(many) - max(few), min(many) - min(few)) > 80 - 20


# -- no Python loop over clusters ----------------------------------------------------------------


@needs_native
@pytest.mark.parametrize("case", CASES)
def test_the_work_of_the_interpreter_does_not_grow_with_the_clusters(case):
    few, many = python_work(20, case), python_work(80, case)
    assert min(few["calls"]) > 50
    assert not grows(few["calls"], many["calls"]), (few, many)
    assert not grows(few["lines"], many["lines"]), (few, many)


# -- no merge of all pairs -----------------------------------------------------------------------


# -- a fixed number of passes over the data ------------------------------------------------------


# -- memory --------------------------------------------------------------------------------------


def memory_a_row(monkeypatch, **options):
    """Return how many bytes the sweeps and moves of a batch add for each further row, at most.

    That is beyond what the engine holds of the batch once it is loaded.
    """
    seen, run = [], learner.later_batch

    def later_batch(*arguments):
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        out = run(*arguments)
        seen.append(tracemalloc.get_traced_memory()[1] - before)
        return out

    sizes = (20_000, 60_000)
    model, _ = steady(5, rows=sizes[0], **options)
    with monkeypatch.context() as patch:
        patch.setattr(learner, "later_batch", later_batch)
        batches = [batch(5, rows=n, seed=n)[0] for n in sizes]
        tracemalloc.start()
        try:
            for X in [X for X in batches for _ in range(8)]:
                learned(model, X)  # another thread may be at work
        finally:
            tracemalloc.stop()
    return (min(seen[8:]) - min(seen[:8])) / (sizes[1] - sizes[0])


@needs_native
@pytest.mark.parametrize("family", ["gaussian", "diagonal"])
def test_sweeps_and_moves_hold_no_array_of_scores_as_long_as_the_batch(family, monkeypatch):
    assert memory_a_row(monkeypatch, family=family) <= A_ROW
