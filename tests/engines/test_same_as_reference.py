"""Every engine comes to the labels of the reference, batch after batch."""

import pytest
from evolving import check_against_reference

from scstream.engines import CpuEngine

NAMES = [
    "gaussian-2, half-life",
    "gaussian-2, outliers",
    "gaussian-2, background for a while",
    "gaussian-2, weights",
    "gaussian-5, kernel",
    "poisson, half-life",
    "multinomial, kernel",
    "multinomial, outliers",
    "product, half-life",
    "far from 0",
    "gone far",
]


class OneMoreEngine(CpuEngine):
    """An engine that nobody knows: rows are passed over by nothing but its contract."""


@pytest.mark.parametrize("name", NAMES)
def test_an_engine_of_ones_own(name):
    check_against_reference(name, engine=OneMoreEngine)


@pytest.mark.parametrize("name", NAMES)
def test_a_dask_cluster(name, client):
    check_against_reference(name, engine=client)


@pytest.mark.parametrize("name", NAMES)
def test_pytorch(name):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    from scstream.engines.torch.engine import TorchEngine

    check_against_reference(name, engine=lambda: TorchEngine("cpu", "float64"))
