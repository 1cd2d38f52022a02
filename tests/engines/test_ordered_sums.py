"""Sums by a fixed tree: no cut of the leaves into runs changes a bit or makes many parts."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from scstream.engines import ordered_sums
from scstream.engines.dask.shard import cut_evenly
from scstream.engines.ordered_sums import Part, Tree


def leaves(n):
    """Return values whose sum hangs on the order of addition."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 3)) * 10.0 ** rng.integers(-8, 8, size=(n, 1))


def parts(values, first, last):
    """Return the parts of a run of leaves."""
    run = Tree(Part(i, 1, (values[i].copy(),)) for i in range(first, last))
    return run.closed() if last == len(values) else run.parts


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 61, 64, 100, 129])
def test_no_cut_changes_a_bit(n):
    # broken on purpose (neighbours added without regard to where they begin): it fails
    values = leaves(n)
    (whole,) = Tree(Part(i, 1, (x.copy(),)) for i, x in enumerate(values)).total()
    np.testing.assert_allclose(whole, values.sum(axis=0), rtol=1e-6)
    rng = np.random.default_rng(1)
    for _ in range(20):
        cuts = np.unique([0, n, *rng.integers(n + 1, size=rng.integers(6))])
        runs = [parts(values, a, b) for a, b in itertools.pairwise(cuts)]
        (total,) = Tree(part for run in runs for part in run).total()
        assert_array_equal(total, whole)


def test_the_order_of_addition_matters_to_these_numbers():
    values = leaves(100)
    (whole,) = Tree(Part(i, 1, (x.copy(),)) for i, x in enumerate(values)).total()
    forwards = np.cumsum(values, axis=0)[-1]
    assert np.any(whole != forwards)


def test_parts_without_a_promise_are_just_added_up():
    values = leaves(5)
    (total,) = Tree(Part(0, 0, (x.copy(),)) for x in values).total()
    np.testing.assert_allclose(total, values.sum(axis=0))


@pytest.mark.parametrize("workers", [1, 2, 3, 5, 7, 64, 1000])
def test_runs_are_even_and_their_parts_few_however_many_rows(workers):
    for n in (1, 5_000, 10**6 + 1, 10**8 + 12345, 10**10):
        edges = np.array(cut_evenly(n, [1] * workers))
        assert edges[0] == 0
        assert edges[-1] == n
        assert np.all(np.diff(edges) > 0)
        assert np.all(edges[:-1] % ordered_sums.LEAF_ROWS == 0)
        assert len(edges) <= workers + 1
        if n > 100 * workers * ordered_sums.LEAF_ROWS:
            assert len(edges) == workers + 1
            assert np.diff(edges).max() < 1.07 * n / workers
    few = [most_parts(n, workers) for n in (10**7, 10**7 + 3, 10**8 + 12345)]
    assert max(few) <= 12


def most_parts(n, workers):
    """Return how many parts a run is sent as, at most."""
    edges = -(-np.array(cut_evenly(n, [1] * workers)) // ordered_sums.LEAF_ROWS)
    values = np.zeros((edges[-1], 1))
    return max(len(parts(values, a, b)) for a, b in itertools.pairwise(edges))


def test_uneven_workers_get_uneven_runs():
    assert cut_evenly(2**22, [1, 3]) == [0, 2**20, 2**22]
