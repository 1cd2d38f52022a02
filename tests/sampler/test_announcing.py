"""A word about first batches that take long."""

import numpy as np
import pytest
from scipy import sparse

from scstream import ScStream
from scstream.sampler import announcing
from scstream.sampler.announcing import announce_long_start, announce_memory, machine_memory
from scstream.sampler.rules import RULES


@pytest.mark.parametrize(
    ("n", "d", "p", "said"),
    [
        pytest.param(250, 10_000, 30_001, True, id="10,000 independent columns"),
        pytest.param(20_000, 64, 2_145, True, id="64 columns, all covariances"),
        pytest.param(1_000, 64, 2_145, False, id="the same of few rows"),
        pytest.param(250, 128, 136, False, id="15 directions"),
        pytest.param(20, 10_000, 30_001, False, id="a few rows"),
        pytest.param(1_000_000, 10, 66, False, id="many rows of 10 columns"),
    ],
)
def test_long_starts_are_announced(n, d, p, said, caplog):
    announce_long_start(np.broadcast_to(0.0, (n, d)), n, p, RULES)
    announce_memory(n, p, RULES)
    assert ("verbose=True" in caplog.text) is said
    assert "memory" not in caplog.text


@pytest.mark.parametrize(
    ("d", "long", "much"), [(2**12, False, False), (2**16, False, False), (2**18, True, True)]
)
def test_sparse_rows_take_as_long_as_their_entries_and_groups(d, long, much, caplog):
    # 1.4 s, 10 s and 40 s for 1,000 lines of a log; .1, 1.4 and 6 GB
    rows = sparse.csr_array((np.ones(10**4), np.arange(10**4) % d, np.arange(0, 10**4 + 1, 10)))
    rows.resize(1000, d)
    announce_long_start(rows, 1000, d + 1, RULES)
    announce_memory(1000, d + 1, RULES)
    assert ("verbose=True" in caplog.text) is long
    assert ("of memory" in caplog.text) is much


@pytest.mark.parametrize("verbose", [False, True])
def test_what_no_memory_can_hold_is_refused_before_it_is_tried(verbose, monkeypatch):
    monkeypatch.setattr(announcing, "machine_memory", lambda: 7e9)
    words = np.random.default_rng(0).permutation(2**20)[:4000]
    lines = sparse.csr_array((np.ones(4000), words, np.arange(0, 4001, 4)), shape=(1000, 2**20))
    model = ScStream("multinomial", random_state=0, verbose=verbose)
    with pytest.raises(MemoryError, match="about 23 GB of memory; fewer columns take less"):
        model.partial_fit(lines)
    assert not hasattr(model, "n_clusters_")
    assert 1e8 < machine_memory() < 1e15


@pytest.mark.slow
def test_the_model_announces_unless_progress_is_shown(caplog):
    rng = np.random.default_rng(0)
    X = 5.0 * rng.integers(2, size=(300, 1)) + rng.normal(size=(300, 4000))
    ScStream("diagonal", random_state=0, max_sweeps=1).fit(X)
    assert "takes about" in caplog.text
    caplog.clear()
    ScStream("diagonal", random_state=0, max_sweeps=1, verbose=True).fit(X)
    assert "takes about" not in caplog.text


def test_a_start_from_labels_is_not_long(caplog):
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    X = 5.0 * y[:, None] + rng.normal(size=(300, 4000))
    ScStream("diagonal", random_state=0, max_sweeps=1).partial_fit(X, labels=y)
    assert "takes about" not in caplog.text
