"""Which engine a batch is given to, and what is said when it cannot be."""

import sys

import numpy as np
import pytest

from scstream import ScStream
from scstream.engines import CpuEngine, DaskEngine, choose, make_engine
from scstream.engines.dask.engine import current_client

X = np.random.default_rng(0).normal(size=(60, 2))


def test_names_and_factories():
    assert make_engine("cpu", None, 3, X).n_threads == 3
    assert isinstance(make_engine(CpuEngine, None, 3, X), CpuEngine)
    assert make_engine(lambda: CpuEngine(7), None, 3, X).n_threads == 7
    with pytest.raises(TypeError, match="must return an Engine; it returned 3"):
        make_engine(lambda: 3, None, 1, X)


def test_a_client_is_a_cluster(client):
    by_client, by_name = (make_engine(e, None, 1, X) for e in (client, "dask"))
    assert isinstance(by_client, DaskEngine)
    assert by_client.client is client
    assert by_name.client is current_client()


def test_auto_picks_and_says_so_once(client, monkeypatch, caplog):
    caplog.set_level("INFO", logger="scstream")
    da = pytest.importorskip("dask.array", reason="Dask is not installed")
    choose._say.cache_clear()
    monkeypatch.setattr(choose, "_has_gpu", lambda: False)
    large = np.zeros((2**19, 2))
    for _ in range(2):
        assert isinstance(make_engine("auto", None, 1, X), CpuEngine)
        assert isinstance(make_engine("auto", None, 1, large), CpuEngine)
        assert isinstance(make_engine("auto", None, 1, da.from_array(X)), DaskEngine)
    said = caplog.messages
    assert [line.split("takes ")[1].split(":")[0] for line in said] == ["'cpu'", "'cpu'", "'dask'"]
    monkeypatch.setattr(choose, "_has_gpu", lambda: True)
    assert choose._pick(X, None) == "cpu"
    assert choose._pick(large, None) == "torch"
    assert choose._pick(X, "cuda") == "torch"
    assert caplog.text.count("'torch'") == 2


def test_the_default_says_nothing_and_is_the_cpu(capsys):
    model = ScStream(random_state=0, max_sweeps=3).fit(X)
    assert model.engine == "cpu"
    auto = ScStream(random_state=0, max_sweeps=3, engine="auto").fit(X)
    np.testing.assert_array_equal(auto.labels_, model.labels_)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("engine", "module", "extra"), [("dask", "distributed", "dask"), ("torch", "torch", "gpu")]
)
def test_without_the_extra_its_name_is_said(monkeypatch, engine, module, extra):
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, "scstream.engines.torch.engine", raising=False)
    model = ScStream(engine=engine)
    with pytest.raises(ImportError, match=rf"scstream\[{extra}\]"):
        model.partial_fit(X)
    assert model.n_batches_ == 0
    assert len(ScStream(random_state=0, max_sweeps=3).fit(X).labels_) == 60


def test_no_cluster_is_said(monkeypatch):
    distributed = pytest.importorskip("distributed", reason="Dask's distributed is not installed")

    def none():
        raise ValueError("no clients found")

    monkeypatch.setattr(distributed.Client, "current", none)
    with pytest.raises(RuntimeError, match=r"not connected to one.*distributed.Client\(\)"):
        ScStream(engine="dask").fit(X)


def test_an_asynchronous_client_is_refused():
    class Client:
        asynchronous = True
        submit = scatter = scheduler_info = None

    with pytest.raises(ValueError, match="must not be asynchronous"):
        ScStream(engine=Client()).fit(X)


def test_a_device_needs_an_engine_that_has_devices():
    with pytest.raises(ValueError, match="device='cuda' is for PyTorch"):
        ScStream(device="cuda").fit(X)


def test_dask_collections_need_the_dask_engine():
    da = pytest.importorskip("dask.array", reason="Dask is not installed")
    with pytest.raises(TypeError, match="engine='cpu' cannot read"):
        ScStream().fit(da.from_array(X))
