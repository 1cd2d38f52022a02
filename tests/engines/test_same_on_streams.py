"""Every engine comes to the labels of the one on the CPU, batch after batch."""

import numpy as np
import pytest
from evolving import CASES, check_engine, expected

from scstream.engines import CpuEngine


class OneMoreEngine(CpuEngine):
    """An engine that nobody knows: rows are passed over by nothing but its contract."""


@pytest.mark.parametrize("name", CASES)
def test_an_engine_of_ones_own(name):
    check_engine(name, OneMoreEngine)


@pytest.mark.parametrize("name", CASES)
def test_a_dask_cluster(name, client):
    check_engine(name, client)


@pytest.mark.parametrize("name", CASES)
def test_pytorch(name):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    from scstream.engines.torch.engine import TorchEngine

    check_engine(name, lambda: TorchEngine("cpu", "float64"))


def test_much_happens_on_these_streams():
    for kind in ("births", "deaths", "splits", "merges"):
        assert sum(any(b.events[kind] for b in expected(name)[1:]) for name in CASES) >= 2, kind
    found = [np.sum(b.labels < 0) for b in expected("gaussian-2, background for a while")]
    assert min(found[2:4]) >= 10
    assert sum(found[:2]) == found[-1] == 0
