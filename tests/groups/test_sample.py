"""The latest rows of a stream: bounded, whatever the batches are."""

import numpy as np
import pytest
from scipy import sparse

from scstream.groups.sample import Recent, stacked
from scstream.sampler.recipe import Batch
from scstream.sampler.rules import Rules

RULES = Rules(group_rows=100, group_chunk=20, group_least=4, group_numbers=1000)


def batch(X):
    return Batch(X, np.ones(X.shape[0]), 0.0, even=True)


def test_the_latest_rows_are_kept_and_small_batches_put_together():
    recent = Recent()
    for i in range(500):
        recent = recent.after(batch(np.full((1, 2), float(i))), RULES)
    rows = stacked(list(recent.batches))
    assert 80 <= len(rows) <= 100
    assert len(recent.batches) <= 6
    np.testing.assert_array_equal(rows[:, 0], np.arange(500 - len(rows), 500))


def test_a_large_batch_is_thinned_evenly():
    recent = Recent().after(batch(np.arange(1000.0)[:, None]), RULES)
    np.testing.assert_array_equal(stacked(list(recent.batches))[:, 0], np.arange(0, 1000, 10))


def test_wide_rows_are_few_and_sparse_ones_stay_sparse():
    wide = sparse.csr_array(np.eye(50, 500))
    recent = Recent().after(batch(wide), RULES).after(batch(wide[:1]), RULES)
    kept = stacked(list(recent.batches))
    assert sparse.issparse(kept)
    assert kept.shape[0] <= 5


def test_what_is_kept_is_a_copy():
    X = np.zeros((5, 2))
    recent = Recent().after(batch(X), RULES)
    X[:] = 1.0
    assert not recent.batches[0].any()


def plainly(sizes):
    """Return the rows, by number, of the chunks that are kept of batches of such sizes."""
    chunks, n = [], 0
    for size in sizes:
        new = list(range(n, n + size))
        n += size
        new = [new[i * size // 100] for i in range(100)] if size > 100 else new
        if chunks and len(chunks[-1]) + len(new) <= RULES.group_chunk:
            new = chunks.pop() + new
        chunks.append(new)
        while len(chunks) > 1 and sum(map(len, chunks)) > 100:
            chunks.pop(0)
    return chunks


@pytest.mark.parametrize("most", [1, 3, 12, 45, 130])
def test_chunks_are_those_of_rows_put_together_at_once(most):
    rng = np.random.default_rng(most)
    sizes, recent, n = [], Recent(), 0
    for step in range(60):
        sizes.append(int(rng.integers(0 if step else 1, most + 1)))
        rows = np.arange(n, n + sizes[-1], dtype=float)[:, None]
        n += sizes[-1]
        recent = recent.after(batch(rows), RULES)
        if step % 7 == 0:
            recent = Recent.of(recent.batches)  # as a checkpoint does
        kept = [chunk[:, 0].astype(int).tolist() for chunk in recent.batches]
        assert kept == plainly([size for size in sizes if size])
        assert recent.n_full + recent.n_latest == sum(map(len, kept))
