"""Learning a batch in parts: each of several workers learns some of its rows, and these are merged.

`scstream.spark` does it with Spark's tasks, `learn_in_parts` with the workers of a Dask cluster.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scstream.engines import DaskEngine
from scstream.engines.dask.rows import blocks_of, check_collection, is_collection
from scstream.families.scores import stack
from scstream.merging import divide, merge
from scstream.model import ScStream

__all__ = ["learn_in_parts"]


def divided(model: ScStream, n: int) -> list[bytes]:
    """Return what n workers go on from: at most n models, one for the first rows of a stream."""
    if not model.n_batches_ or model._learner.warmup:
        n = 1
    return [part.to_bytes() for part in divide(model, n)] if n > 1 else [model.to_bytes()]


def learned(part: bytes, X: Any, time: Any = None) -> bytes:
    """Return a worker's model after it has learned its rows."""
    model = ScStream.from_bytes(part)
    asked, model.n_jobs = model.n_jobs, 1  # the workers share out the cores
    model.partial_fit(X, time=time).n_jobs = asked
    return model.to_bytes()


def merged(parts: Sequence[bytes], after: Mapping[int, bytes]) -> ScStream:
    """Return one model of parts, some of which have learned rows since: those of these numbers."""
    return merge([after.get(i, part) for i, part in enumerate(parts)])


def learn_in_parts(
    model: ScStream, X: Any, *, time: Any = None, client: Any = None, n_parts: int | None = None
) -> ScStream:
    """Return a model that has learned a batch, a part of it on each worker of a Dask cluster.

    Each worker learns its rows from its share of the model, and sends some kilobytes back; these
    are merged here. The engine "dask" gives the labels of one machine instead, and sends messages
    in every sweep. See docs/scaling.md for when to use which. The first rows of a stream are
    learned by that engine.

    Parameters
    ----------
    model : ScStream
        Stays as it is.
    X : Dask array or Dask data frame (n, d)
        The batch. Runs of successive chunks are parts.
    time : float, datetime, numpy.datetime64, pandas.Timestamp or str, optional
        When the batch arrived, as for `ScStream.partial_fit`.
    client : distributed.Client, optional
        The cluster; by default the client that this process last made.
    n_parts : int, optional
        How many parts there are at most; by default as many as workers.

    Returns
    -------
    ScStream
        The new model. It has no ``labels_`` of the batch: ask for ``predict(X)``.
    """
    if not is_collection(X):
        raise TypeError(f"X must be a Dask array or data frame; got {type(X).__name__}.")
    check_collection(X)
    client = DaskEngine(client).client
    workers = len(client.nthreads())
    if n_parts is not None and n_parts < 1:
        raise ValueError(f"n_parts must be at least 1; got {n_parts!r}.")
    blocks = blocks_of(X)
    parts = divided(model, min(n_parts or workers, len(blocks)))
    if len(parts) == 1:
        return _learned_as_one(model, X, time, client)
    from dask.delayed import delayed

    learn = delayed(_learned_blocks, pure=False)
    edges = np.linspace(0, len(blocks), len(parts) + 1).round().astype(int).tolist()
    tasks = [
        learn(part, blocks[a:b], time)
        for part, a, b in zip(parts, edges[:-1], edges[1:], strict=True)
    ]
    found = client.gather(client.compute(tasks))
    return merged(parts, {i: part for i, part in enumerate(found) if part is not None})


def _learned_as_one(model: ScStream, X: Any, time: Any, client: Any) -> ScStream:
    """Return the model after a batch that all workers have learned together."""
    new = copy.copy(model)
    new.engine = client
    new.partial_fit(X, time=time).engine = model.engine
    return new


def _learned_blocks(part: bytes, blocks: Sequence[Any], time: Any) -> bytes | None:
    """Return a worker's model after it has learned the rows of some chunks, None if none."""
    some = [block for block in blocks if len(block)]
    if not some:
        return None
    if hasattr(some[0], "columns"):
        import pandas as pd

        return learned(part, pd.concat(some, ignore_index=True), time)
    return learned(part, stack(some), time)
