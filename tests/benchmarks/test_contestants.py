"""Contestants of scikit-learn, river and MOA: each learns, predicts and survives odd batches."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from benchmarks.contestants import moa, ours, river_methods, scikit
from benchmarks.contestants.base import Contestant, Model, Task
from benchmarks.contestants.matching import NOWHERE, Numbering, Prototypes
from scstream.datasets import gaussian_stream
from scstream.evaluate import prequential
from scstream.sampler.generic import GenericSteps
from scstream.sampler.rules import Rules

_ALL = {c.name: c for c in (*scikit.CONTESTANTS, *river_methods.CONTESTANTS, *moa.CONTESTANTS)}

# Mean ARI on four Gaussians that hardly overlap, well below what was measured.
_LEAST_ARI = {
    "BIRCH": 0.9,
    "Mini-Batch K-Means": 0.9,
    "Bayesian GMM, refitted": 0.9,
    "CluStream (river)": 0.5,
    "DBSTREAM": 0.4,
    "DenStream": 0.2,
    "STREAMKMeans": 0.4,
    "CluStream (MOA)": 0.9,
    "D-Stream": 0.9,
    "StreamKM++": 0.9,
    "ClusTree": 0.6,
}


@pytest.fixture(params=_ALL)
def contestant(request: pytest.FixtureRequest) -> Contestant:
    found = _ALL[request.param]
    for module in found.needs:
        if find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    if "jpype" in found.needs and shutil.which("java") is None:
        pytest.skip("Java is not installed")
    return found


def make(contestant: Contestant, X: np.ndarray, n_clusters: int, **settings: object) -> Model:
    return contestant.make(task(contestant, X, n_clusters), 0, **settings)


def task(contestant: Contestant, X: np.ndarray, n_clusters: int) -> Task:
    kind = contestant.kinds[0]
    return Task("test", kind, X.shape[1], X.shape[0], n_clusters, rows(contestant, X), {})


def rows(contestant: Contestant, X: np.ndarray) -> np.ndarray | csr_array:
    """Give the rows in the form that the protocol would give them."""
    return X if "real" in contestant.kinds else csr_array(X)


@pytest.mark.parametrize("contestant", _LEAST_ARI, indirect=True)
def test_finds_clusters_that_lie_apart(contestant: Contestant) -> None:
    stream = gaussian_stream(n_batches=4, batch_size=300, n_clusters=4, speed=1, random_state=0)
    batches = [(batch.X, batch.y) for batch in stream]
    result = prequential(make(contestant, batches[0][0], n_clusters=4), batches)
    assert result.ari.mean() > _LEAST_ARI[contestant.name]
    assert result.full_ari > 0.7 * result.ari.mean()  # labels last


def test_finds_topics_of_unit_rows() -> None:
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(30, 0.1), size=3)
    batches = []
    for _ in range(3):
        y = rng.integers(3, size=200)
        lengths = rng.integers(5, 500, size=200)
        X = csr_array(rng.multinomial(lengths, topics[y]).astype(float))
        batches.append((X, y))
    first = batches[0][0]
    known = Task("test", "counts", 30, 200, 3, first, {})
    unit = _ALL["Mini-Batch K-Means, unit rows"].make(known, 0)
    raw = _ALL["Mini-Batch K-Means"].make(known, 0)
    assert prequential(unit, batches).ari.mean() > prequential(raw, batches).ari.mean() + 0.2


@pytest.mark.parametrize("contestant", ["BIRCH", "Mini-Batch K-Means"], indirect=True)
def test_sparse_counts_are_clustered_as_dense_ones(contestant: Contestant) -> None:
    X = np.random.default_rng(0).poisson(0.5, size=(200, 10)).astype(float)
    dense, sparse = (make(contestant, X, n_clusters=3) for _ in range(2))
    dense.partial_fit(X)
    sparse.partial_fit(csr_array(X))
    np.testing.assert_array_equal(sparse.predict(csr_array(X)), dense.predict(X))


def test_labels_are_integers_and_predicting_learns_nothing(contestant: Contestant) -> None:
    X = np.abs(np.random.default_rng(0).normal(size=(120, 3)))
    model, twin = (make(contestant, X, n_clusters=3) for _ in range(2))
    for batch in (X[:60], X[60:]):
        model.partial_fit(rows(contestant, batch))
        twin.partial_fit(rows(contestant, batch))
        labels = model.predict(rows(contestant, X))
        assert labels.shape == (120,)
        assert np.issubdtype(labels.dtype, np.integer)
        np.testing.assert_array_equal(model.predict(rows(contestant, X)), labels)
    np.testing.assert_array_equal(twin.predict(rows(contestant, X)), labels)


def _duplicates(rng: np.random.Generator) -> np.ndarray:
    return np.repeat(rng.normal(size=(15, 4)), 6, axis=0)


def _constant_columns(rng: np.random.Generator) -> np.ndarray:
    return np.hstack([np.full((90, 2), 7.0), rng.normal(size=(90, 2)), np.zeros((90, 1))])


def _many_columns(rng: np.random.Generator) -> np.ndarray:
    return rng.poisson(0.1, size=(60, 100)).astype(float)


@pytest.mark.parametrize(
    ("draw", "n_clusters"), [(_duplicates, 20), (_constant_columns, 2), (_many_columns, 20)]
)
def test_survives_odd_rows(contestant: Contestant, draw: object, n_clusters: int) -> None:
    rng = np.random.default_rng(0)
    X = draw(rng)
    model = make(contestant, X, n_clusters)
    model.partial_fit(rows(contestant, X))
    model.partial_fit(rows(contestant, 3 + draw(rng)[: len(X) // 3]))  # short and elsewhere
    assert model.predict(rows(contestant, X)).shape == (len(X),)


def test_every_setting_of_the_space_is_taken(contestant: Contestant) -> None:
    X = np.random.default_rng(0).normal(size=(100, 3))
    known = task(contestant, X, n_clusters=3)
    optuna = pytest.importorskip("optuna")
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for _ in range(3):
        settings = contestant.space(study.ask(), known)
        model = contestant.make(known, 0, **settings)
        model.partial_fit(rows(contestant, X))
        assert model.predict(rows(contestant, X)).shape == (100,)


@pytest.mark.parametrize("name", [c.name for c in river_methods.CONTESTANTS])
def test_same_clusters_as_the_predictions_of_river(name: str) -> None:
    pytest.importorskip("river")
    X = np.random.default_rng(0).normal(size=(200, 2)) * 3
    model = make(_ALL[name], X, n_clusters=4)
    model.partial_fit(X)
    labels = model.predict(X)
    # DenStream's own predictions change it: the first is the one to compare with.
    n = 1 if name == "DenStream" else len(X)
    own = [model.clusterer.predict_one(dict(enumerate(row))) for row in X[:n].tolist()]
    pairs = set(zip(labels[:n].tolist(), own, strict=True))
    assert len(pairs) == len(set(labels[:n])) == len(set(own))


def test_every_sweep_is_sampled_where_none_is_deterministic(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = list(gaussian_stream(3, 200, n_clusters=3, random_state=0))
    drawn = []
    sample = GenericSteps.restricted_sweep

    def counted(steps: Any, state: Any) -> Any:
        drawn.append(steps.batch)
        return sample(steps, state)

    monkeypatch.setattr(GenericSteps, "restricted_sweep", counted)
    rules = Rules(warmup_rows=0, compiled_columns=0, more_sweeps=0)
    model = ours.SampledThroughout("gaussian", random_state=0, n_jobs=1, rules=rules)
    for batch in stream:
        model.partial_fit(batch.X)
    assert drawn.count(1) == drawn.count(2) == 2


def test_birch_keeps_its_leaves_in_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scikit._Birch, "MAX_LEAVES", 30)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) + np.repeat([[0, 0], [20, 0], [0, 20]], 100, axis=0)
    model = make(_ALL["BIRCH"], X, n_clusters=3, relative_threshold=0.05)
    model.partial_fit(X)
    model.partial_fit(X)
    assert len(model._tree.subcluster_centers_) <= 30
    assert len(set(model.predict(X))) == 3


def test_missing_jar_is_said_clearly(monkeypatch: pytest.MonkeyPatch) -> None:
    jpype = pytest.importorskip("jpype")
    monkeypatch.setattr(jpype, "isJVMStarted", lambda: False)
    monkeypatch.setattr(moa, "find_spec", lambda name: None)
    moa._java.cache_clear()
    with pytest.raises(RuntimeError, match="install capymoa"):
        make(_ALL["ClusTree"], np.zeros((10, 2)), n_clusters=2)


def test_missing_java_is_said_clearly(monkeypatch: pytest.MonkeyPatch) -> None:
    jpype = pytest.importorskip("jpype")
    if find_spec("capymoa") is None:
        pytest.skip("capymoa is not installed")

    def no_java(*args: object, **options: object) -> None:
        raise jpype.JVMNotFoundException("No JVM shared library file")

    monkeypatch.setattr(jpype, "isJVMStarted", lambda: False)
    monkeypatch.setattr(jpype, "startJVM", no_java)
    moa._java.cache_clear()
    with pytest.raises(RuntimeError, match="install Java"):
        make(_ALL["ClusTree"], np.zeros((10, 2)), n_clusters=2)


def test_numbers_follow_the_centres() -> None:
    numbering = Numbering()
    np.testing.assert_array_equal(numbering.update([[0.0], [10.0], [20.0]]), [0, 1, 2])
    np.testing.assert_array_equal(numbering.update([[21.0], [1.0], [9.0]]), [2, 0, 1])
    np.testing.assert_array_equal(numbering.update([[9.5], [40.0], [20.0], [0.5]]), [1, 3, 2, 0])
    np.testing.assert_array_equal(numbering.update([[41.0]]), [3])
    np.testing.assert_array_equal(numbering.update([[0.0], [41.0]]), [4, 3])  # 0 is gone


def test_rows_take_the_cluster_of_the_nearest_point() -> None:
    prototypes = Prototypes()
    X = np.array([[0.0], [5.0], [9.0]])
    np.testing.assert_array_equal(prototypes.predict(X), [NOWHERE] * 3)
    prototypes.update([[0.0], [4.0], [10.0]], labels=["b", "b", "a"])
    a, b = 0, 1
    np.testing.assert_array_equal(prototypes.predict(X), [b, b, a])
    prototypes.update([[0.0], [4.0], [10.0]], labels=["x", "y", "y"])
    np.testing.assert_array_equal(prototypes.predict(X), [b, a, a])
    prototypes.update(np.empty((0, 1)))
    np.testing.assert_array_equal(prototypes.predict(X), [NOWHERE] * 3)
