"""Contestants of MOA, from the jar inside the ``capymoa`` package, through JPype.

Only the jar is used, so nothing that capymoa itself imports is needed. Clusters are found
anew after each batch and numbered by their match with those of the batch before.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.contestants.base import Contestant, Task
from benchmarks.contestants.matching import Prototypes, weighted_k_means
from benchmarks.contestants.scales import dense, spread

if TYPE_CHECKING:
    import optuna

_CLUSTERERS = "moa.clusterers."
_INSTANCES = "com.yahoo.labs.samoa.instances."
_Rows = NDArray[np.float64]

# D-Stream of MOA
_MARGIN = 3  # cells that it counts in a column beyond those between the extremes
_LARGEST_GRID = 2**31 - 1  # cells that it can count
_USUAL_FACTOR = 3.0  # of the paper


@cache
def _java(name: str) -> Any:
    """Return a class of MOA or of Java, after starting the virtual machine if need be."""
    import jpype

    if not jpype.isJVMStarted():
        package = find_spec("capymoa")
        if package is None or package.origin is None:
            raise RuntimeError("MOA's jar was not found: install capymoa, which contains it")
        jar = Path(package.origin).parent / "jar" / "moa.jar"
        if not jar.is_file():
            raise RuntimeError(f"MOA's jar was not found: there is no {jar}; reinstall capymoa")
        try:
            jpype.startJVM("-Djava.awt.headless=true", classpath=[str(jar)])
        except Exception as error:
            raise RuntimeError(
                f"Java did not start, which MOA needs ({error}): install Java 17 or newer and, "
                "if it is not found by itself, set JAVA_HOME"
            ) from error
    return jpype.JClass(name)


class _Moa:
    """A clusterer of MOA; a row belongs to the macro-cluster with the nearest centre."""

    def __init__(self, name: str, options: dict[str, Any]) -> None:
        self.clusterer = _java(_CLUSTERERS + name)()
        for option, value in options.items():
            getattr(self.clusterer, f"{option}Option").setValue(value)
        self.clusterer.prepareForUse()
        self._header: Any = None
        self._prototypes = Prototypes()

    def predict(self, X: Any) -> NDArray[np.int64]:
        return self._prototypes.predict(X)

    def partial_fit(self, X: Any) -> None:
        self._learn(dense(X))
        self._prototypes.update(_centres(self.clusterer.getClusteringResult(), X.shape[1]))

    def _learn(self, X: _Rows) -> None:
        import jpype

        if self._header is None:
            self._header = _header(X.shape[1])
        instance = _java(_INSTANCES + "DenseInstance")
        for values in jpype.JArray.of(X):
            row = instance(1.0, values)
            row.setDataset(self._header)
            self.clusterer.trainOnInstance(row)


class _ClusTree(_Moa):
    """ClusTree has micro-clusters only: weighted k-means, told K, finds the macro-clusters."""

    def __init__(self, n_clusters: int, options: dict[str, Any]) -> None:
        super().__init__("clustree.ClusTree", options)
        self._n_clusters = n_clusters

    def partial_fit(self, X: Any) -> None:
        self._learn(dense(X))
        micro = self.clusterer.getMicroClusteringResult()
        centres = _centres(micro, X.shape[1])
        weights = [cluster.getWeight() for cluster in micro.getClustering()]
        self._prototypes.update(centres, weighted_k_means(centres, weights, self._n_clusters))


class _StreamKM(_Moa):
    """StreamKM++, with rows moved by a millionth of their spread.

    Where there are fewer different rows than clusters, MOA would end with an error.
    """

    JITTER = 1e-6

    def __init__(self, first: _Rows, seed: int, options: dict[str, Any]) -> None:
        super().__init__("streamkm.StreamKM", options)
        self._rng = np.random.default_rng(seed)
        self._jitter = self.JITTER * spread(first)[1]

    def _learn(self, X: _Rows) -> None:
        super()._learn(X + self._jitter * self._rng.standard_normal(X.shape))


class _DStream(_Moa):
    """D-Stream has clusters of grid cells: a row belongs to the cluster of the nearest cell.

    That is its own cell, unless this is in no cluster. MOA's cells have width 1, so columns
    are scaled to have a given number of cells over the first batch. They start far above 0:
    MOA cuts decimals off, so the two cells beside 0 would be one.

    MOA counts the cells of the whole grid in 32 bits. With 14 columns or more that overflows
    even with two cells to a column, and the threshold of a dense cell is off with it.
    """

    LOWEST_CELL = 10_000  # of the first batch, in each column

    def __init__(self, first: _Rows, cells: int, options: dict[str, Any]) -> None:
        super().__init__("dstream.Dstream", options)
        width = np.ptp(first, axis=0) / cells
        self._scale = 1 / np.where(width > 0, width, 1)
        self._low = first.min(axis=0)

    def predict(self, X: Any) -> NDArray[np.int64]:
        return self._prototypes.predict(np.trunc(self._scaled(X)))

    def partial_fit(self, X: Any) -> None:
        self._learn(self._scaled(X))
        cells, labels = [], []
        for label, cluster in enumerate(self.clusterer.getClusteringResult().getClustering()):
            for cell in cluster.getGrids().keySet():
                cells.append(np.array(cell.getCoordinates()))
                labels.append(label)
        self._prototypes.update(np.reshape(cells, (-1, X.shape[1])), labels)

    def _scaled(self, X: Any) -> _Rows:
        return (dense(X) - self._low) * self._scale + self.LOWEST_CELL


def _header(d: int) -> Any:
    """Return MOA's description of rows with d numbers."""
    attributes = _java("java.util.ArrayList")()
    for column in range(d):
        attributes.add(_java(_INSTANCES + "Attribute")(f"x{column}"))
    rows = _java(_INSTANCES + "Instances")("rows", attributes, 0)
    return _java(_INSTANCES + "InstancesHeader")(rows)


def _centres(clustering: Any, d: int) -> _Rows:
    """Return the centres (k, d) of MOA's clusters."""
    centres = [np.array(cluster.getCenter()) for cluster in clustering.getClustering()]
    return np.reshape(centres, (-1, d)).astype(np.float64)


def _clustree(task: Task, seed: int, max_height: int = 8, window: float = 1.0) -> _ClusTree:
    options = {"maxHeight": max_height, "horizon": round(window * task.batch_size)}
    return _ClusTree(task.n_clusters, options)


def _clustree_space(trial: optuna.Trial, task: Task) -> dict[str, Any]:
    return {
        "max_height": trial.suggest_int("max_height", 4, 10),
        "window": trial.suggest_float("window", 0.2, 10.0, log=True),
    }


def _streamkm(task: Task, seed: int, coreset_size: int | None = None) -> _StreamKM:
    """StreamKM++ told K; a core set no larger than a batch, which MOA would fill up with zeros."""
    options = {
        "numClusters": task.n_clusters,
        "sizeCoreset": coreset_size or min(200 * task.n_clusters, task.first.shape[0]),
        "randomSeed": seed + 1,
    }
    return _StreamKM(dense(task.first), seed, options)


def _streamkm_space(trial: optuna.Trial, task: Task) -> dict[str, Any]:
    rows = task.first.shape[0]
    smallest = min(2 * task.n_clusters, rows)
    return {"coreset_size": trial.suggest_int("coreset_size", smallest, rows, log=True)}


def _dstream(
    task: Task,
    seed: int,
    cells: int | None = None,
    window: float = 1.0,
    dense_from: float = 2.5,
    sparse_to: float = 0.8,
) -> _DStream:
    """D-Stream; ``cells`` to a column, ``window`` in batches until a weight is down to 1/e.

    ``dense_from`` is the weight of a dense cell. MOA, as the paper, states it as a multiple of
    the weight of a cell if all were alike; but in ten dimensions nearly all are empty, and by
    the paper's factor of 3 a cell would be dense that held one row long ago.
    """
    cells = cells or _usual_cells(task)
    decay = float(np.clip(np.exp(-1 / (window * task.batch_size)), 0.001, 0.999))
    grid = (cells + _MARGIN) ** task.n_features
    factor = dense_from * grid * (1 - decay) if grid <= _LARGEST_GRID else _USUAL_FACTOR
    options = {"decayFactor": decay, "cm": max(1.01, factor), "cl": sparse_to}
    return _DStream(dense(task.first), cells, options)


def _usual_cells(task: Task) -> int:
    """As many as a batch has rows in the whole grid; but four, if so many can be counted."""
    even = round(task.batch_size ** (1 / task.n_features))
    countable = int(_LARGEST_GRID ** (1 / task.n_features)) - _MARGIN
    return max(2, min(max(4, even), countable))


def _dstream_space(trial: optuna.Trial, task: Task) -> dict[str, Any]:
    return {
        "cells": trial.suggest_int("cells", 2, max(5, 3 * _usual_cells(task)), log=True),
        "window": trial.suggest_float("window", 0.1, 1.0, log=True),
        "dense_from": trial.suggest_float("dense_from", 1.0, 30.0, log=True),
        "sparse_to": trial.suggest_float("sparse_to", 0.1, 0.99),
    }


_NEEDS = ("jpype", "capymoa")

CONTESTANTS = (
    Contestant(
        name="D-Stream",
        make=_dstream,
        space=_dstream_space,
        needs=_NEEDS,
        random=False,
    ),
    Contestant(
        name="StreamKM++",
        make=_streamkm,
        space=_streamkm_space,
        told_k=True,
        needs=_NEEDS,
    ),
    Contestant(
        name="ClusTree",
        make=_clustree,
        space=_clustree_space,
        told_k=True,
        needs=_NEEDS,
        random=False,
    ),
)
