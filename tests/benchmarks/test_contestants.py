"""Contestants of scikit-learn, river and MOA: each learns, predicts and survives odd batches."""

from __future__ import annotations

import shutil
from importlib.util import find_spec

import numpy as np
import pytest
from scipy.sparse import csr_array

from benchmarks.contestants import denstream, moa, recent, river_methods, scikit
from benchmarks.contestants.base import Contestant, Model, Task
from benchmarks.contestants.matching import NOWHERE, Numbering, Prototypes
from scstream.datasets import gaussian_stream
from scstream.evaluate import prequential

_ALL = {
    contestant.name: contestant
    for module in (scikit, river_methods, denstream, moa, recent)
    for contestant in module.CONTESTANTS
}

# Mean ARI on four Gaussians that hardly overlap, well below what was measured.
_LEAST_ARI = {
    "BIRCH": 0.9,
    "Mini-Batch K-Means": 0.9,
    "Bayesian GMM, refitted": 0.9,
    "HDBSCAN, refitted": 0.9,
    "CluStream": 0.9,
    "DBSTREAM": 0.8,
    "DenStream": 0.5,
    "MCMSTStream": 0.5,
    "EMCStream": 0.8,
    "STREAMKMeans": 0.4,
    "D-Stream": 0.9,
    "StreamKM++": 0.9,
    "ClusTree": 0.9,
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
    assert result.full_ari > 0.5 * result.ari.mean()  # labels last


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
    optuna = pytest.importorskip("optuna", reason="Optuna is not installed")
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for _ in range(3):
        settings = contestant.space(study.ask(), known)
        model = contestant.make(known, 0, **settings)
        model.partial_fit(rows(contestant, X))
        assert model.predict(rows(contestant, X)).shape == (100,)


def test_same_clusters_as_the_predictions_of_river() -> None:
    pytest.importorskip("river", reason="river is not installed")
    X = np.random.default_rng(0).normal(size=(200, 2)) * 3
    model = make(_ALL["STREAMKMeans"], X, n_clusters=4)
    model.partial_fit(X)
    labels = model.predict(X)
    own = [model.clusterer.predict_one(dict(enumerate(row))) for row in X.tolist()]
    pairs = set(zip(labels.tolist(), own, strict=True))
    assert len(pairs) == len(set(labels)) == len(set(own))


def test_shared_density_joins_whichever_micro_cluster_came_first() -> None:
    pytest.importorskip("river", reason="river is not installed")
    rng = np.random.default_rng(0)
    # Three places on a line: the ends come first, then what lies between joins them.
    ends = np.where(rng.random((200, 1)) < 0.5, 0.0, 4.0) + rng.uniform(-1, 1, (200, 1))
    X = np.concatenate([ends, rng.uniform(-1.0, 5.0, (600, 1))])
    model = _ALL["DBSTREAM"].make(task(_ALL["DBSTREAM"], X, 1), 0, fading=0.01)
    model.clusterer.clustering_threshold = 1.5
    model.partial_fit(X)
    assert len(set(model.predict(X))) == 1


def _denstream(**settings: object) -> denstream.DenStream:
    usual = {"epsilon": 1.0, "mu": 4.0, "beta": 0.5, "decay": 0.1, "unit": 100}
    return denstream.DenStream(**(usual | settings))


def test_denstream_does_not_depend_on_where_the_rows_lie() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2)) + np.where(rng.random((600, 1)) < 0.5, 0.0, 20.0)
    labels = []
    for shift in (0.0, 5_000.0):
        model = _denstream(epsilon=1.5)
        model.partial_fit(X + shift)
        labels.append(model.predict(X + shift))
    np.testing.assert_array_equal(*labels)
    assert len(set(labels[0])) >= 2  # river 0.26.1 has radius 0 there, and one cluster


def test_denstream_joins_a_chain_of_micro_clusters_and_forgets() -> None:
    chain = np.column_stack([np.tile(np.linspace(0.0, 12.0, 400), 3), np.zeros(1200)])
    model = _denstream(epsilon=0.4)
    model.partial_fit(np.random.default_rng(0).permutation(chain))
    assert len(set(model.predict(chain))) == 1  # one hop would reach a few of them
    far = 100.0 + np.random.default_rng(1).normal(size=(6_000, 2)) * 0.2
    model.partial_fit(far)
    assert (model._table[:, 4] / model._table[:, 0]).min() > 90.0  # the chain is forgotten
    assert model._weights().sum() < 2_000  # of 6,000 rows, a half each 1,000


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
