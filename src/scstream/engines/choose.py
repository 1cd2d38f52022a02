"""Which engine a batch is given to: by name, by a client of a cluster, or by what is there."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from scstream.engines.base import Engine
from scstream.engines.cpu import CpuEngine
from scstream.engines.dask.engine import DaskEngine, current_client
from scstream.engines.dask.rows import is_collection, require_dask
from scstream.support.messages import note, warn

NAMES = ("auto", "cpu", "dask", "torch")
_LARGE = 2**20  # entries of a batch from which a GPU is worth the way there


def is_client(value: Any) -> bool:
    """Whether it is a client of a Dask cluster."""
    return all(hasattr(value, name) for name in ("submit", "scatter", "scheduler_info"))


def is_engine_choice(value: Any) -> bool:
    """Whether `make_engine` knows what to do with it."""
    named = isinstance(value, str) and value in NAMES
    return named or is_client(value) or (callable(value) and not isinstance(value, Engine))


def make_engine(engine: Any, device: str | None, n_threads: int, X: Any) -> Engine:
    """Return the engine for a batch.

    Parameters
    ----------
    engine : str, distributed.Client or callable
        "cpu", "torch", "dask" (the client that this process last made), "auto", a client, or
        whatever returns an engine when it is called.
    device : str or None
        For PyTorch: on this machine, or on each worker of a cluster. None is a GPU if there is
        one, else the CPU.
    n_threads : int
        For the CPU engine.
    X : array-like or Dask collection
        The batch, not yet checked.
    """
    if isinstance(engine, str) and engine == "auto":
        engine = _pick(X, device)
    made = _made(engine, device, n_threads)
    if is_collection(X) and not made.takes_collections:
        raise TypeError(
            f"X is a Dask collection, which engine={engine!r} cannot read. Use engine='dask' "
            "(or 'auto', or a distributed.Client), or give X.compute()."
        )
    return made


def engine_for_gaps(engine: Engine, n_threads: int) -> Engine:
    """Return an engine of the CPU in place of one of PyTorch, for rows that depend on labels."""
    warn(
        "PyTorch neither completes missing entries nor draws in heavy tails (family 'student'): "
        "these rows are processed on the CPU."
    )
    return DaskEngine(engine.client) if isinstance(engine, DaskEngine) else CpuEngine(n_threads)


def _made(engine: Any, device: str | None, n_threads: int) -> Engine:
    if is_client(engine):
        return _dask_engine(engine, device)
    if not isinstance(engine, str):
        made = engine()
        if not isinstance(made, Engine):
            raise TypeError(f"engine={engine!r} must return an Engine; it returned {made!r}.")
        return made
    if engine == "dask":
        return _dask_engine(current_client(), device)
    return CpuEngine(n_threads) if engine == "cpu" else _torch_engine(device)


def _dask_engine(client: Any, device: str | None) -> Engine:
    if client.asynchronous:
        raise ValueError("The Dask client must not be asynchronous: the sampler waits for it.")
    return DaskEngine(client, CpuEngine if device is None else partial(_torch_shard, device))


def _torch_engine(device: str | None) -> Engine:
    from scstream.engines.torch.engine import TorchEngine  # which needs PyTorch

    return TorchEngine(device or ("cuda" if _has_gpu() else "cpu"))


def _torch_shard(device: str, n_threads: int) -> Engine:
    """Return a worker's engine; PyTorch has threads of its own."""
    return _torch_engine(device)


def _pick(X: Any, device: str | None) -> str:
    """Return the name of the engine that suits a batch, and say it if it was not said before."""
    if is_collection(X):
        require_dask()
        _say("'dask': the batch is a Dask collection")
        return "dask"
    n, d = [*getattr(X, "shape", ()), 1, 1][:2]
    if device is not None:
        _say(f"'torch': device={device!r} was asked for")
        return "torch"
    if n * d >= _LARGE and _has_gpu():
        _say("'torch': the batch is large and there is a GPU")
        return "torch"
    _say("'cpu': the batch is small" if n * d < _LARGE else "'cpu': PyTorch finds no GPU")
    return "cpu"


@cache
def _say(words: str) -> None:
    note(f"engine='auto' takes {words}.")


def _has_gpu() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return bool(torch.cuda.is_available())
