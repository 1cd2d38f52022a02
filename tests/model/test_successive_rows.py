"""Rows that resemble the row before count less: what is found then, and who is left alone."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from streams import CORNERS

from scstream import Rules, ScStream

INDEPENDENT = Rules(alike=1.0)
SAID = "successive rows are alike"


def sensors(seed, n=800, r=0.97, stay=0.02):
    """Return readings that follow slowly, of a machine that changes its state now and then."""
    rng = np.random.default_rng(seed)
    change, state, noise = rng.random(n) < stay, 0, np.zeros(2)
    X, y = np.empty((n, 2)), np.empty(n, dtype=int)
    for i in range(n):
        state = int(rng.integers(len(CORNERS))) if change[i] else state
        noise = r * noise + np.sqrt(1.0 - r**2) * rng.normal(size=2)
        X[i], y[i] = CORNERS[state] + noise, state
    return X, y


def weight(model):
    return model._learner.alike.weight


def learned(X, y, size, **options):
    """Return a model of batches of so many rows, and the ARI of all labels that it gave."""
    model, labels = ScStream(random_state=0, **options), []
    for first in range(0, len(X), size):
        labels.append(model.partial_fit(X[first : first + size]).labels_)
    return model, adjusted_rand_score(y, np.concatenate(labels))


@pytest.mark.parametrize("size", [60, 150, 800, 2400])
def test_states_of_a_machine_are_found(size, capfd) -> None:
    X, y = sensors(1, n=4800)
    _, before = learned(X, y, size, rules=INDEPENDENT)
    assert SAID not in capfd.readouterr().err
    model, after = learned(X, y, size)
    assert capfd.readouterr().err.count(SAID) == 1
    assert 0.01 < weight(model) < 0.3
    assert after > before + 0.15
    assert after > 0.8


def test_clusters_count_rows_and_so_do_scores() -> None:
    X, y = sensors(1, n=2400)
    model, _ = learned(X, y, 800, half_life=None)
    assert weight(model) < 0.3
    assert sum(cluster.count for cluster in model.clusters_) == pytest.approx(2400, rel=1e-6)
    assert sum(cluster.weight for cluster in model.clusters_) > 0.999
    other, _ = learned(X, y, 800, half_life=None, rules=INDEPENDENT)
    counts = model._learner.scores.count, other._learner.scores.count
    assert counts[0] == pytest.approx(counts[1])


def test_what_is_remembered_counts_less_once_rows_are_alike() -> None:
    y = np.arange(1000) % 3
    still = CORNERS[y] + np.random.default_rng(0).normal(size=(1000, 2))
    model = ScStream(random_state=0, half_life=None).partial_fit(still)
    assert weight(model) == 1.0
    for seed in range(3):
        model.partial_fit(sensors(seed, n=1000)[0])
    assert weight(model) < 0.3
    remembered = model._learner.state.totals[:, 0].sum()
    assert remembered == pytest.approx(4000 * weight(model), rel=1e-6)
    model.partial_fit(sensors(3, n=1000)[0])
    assert model._learner.state.totals[:, 0].sum() == pytest.approx(5000 * weight(model), rel=1e-6)


def test_who_gives_weights_is_left_alone(capfd) -> None:
    X, _ = sensors(0)
    models = [ScStream(random_state=0, rules=rules) for rules in (Rules(), INDEPENDENT)]
    for model in models:
        for _ in range(2):
            model.partial_fit(X, sample_weight=np.ones(len(X)))
        assert weight(model) == 1.0
    np.testing.assert_array_equal(models[0].labels_, models[1].labels_)
    assert SAID not in capfd.readouterr().err


@pytest.mark.parametrize("stop", [1, 2, 5, 9])
def test_a_model_that_was_saved_goes_on_bit_for_bit(stop, tmp_path) -> None:
    X, _ = sensors(2, n=1500)
    parts = np.array_split(X, 12)
    unbroken = broken = ScStream(random_state=0)
    for i, part in enumerate(parts):
        if i == stop:
            broken.save(tmp_path / "model")
            broken = ScStream.load(tmp_path / "model")
        unbroken.partial_fit(part)
        if broken is not unbroken:
            broken.partial_fit(part)
            np.testing.assert_array_equal(broken.labels_, unbroken.labels_)
            assert weight(broken) == weight(unbroken)
    totals = broken._learner.state.totals, unbroken._learner.state.totals
    np.testing.assert_array_equal(*totals)
    assert weight(unbroken) < 0.3


def rows(rng, n=400):
    y = rng.integers(3, size=n)
    return CORNERS[y] + rng.normal(size=(n, 2)) @ [[1.0, 0.9], [0.0, 0.4]], y


def in_turn(X, y):
    """Return rows such that every third is of the same cluster."""
    order = np.argsort(y, kind="stable")
    return X[np.concatenate([order[i::3] for i in range(3)])]


ORDINARY = {
    "independent": lambda X, y: X,
    "with times": lambda X, y: np.column_stack([X, 1.7e9 + np.arange(len(X))]),
    "with meter readings": lambda X, y: np.column_stack([X, np.cumsum(np.abs(X[:, 0]))]),
    "sorted by cluster": lambda X, y: X[np.argsort(y, kind="stable")],
    "sorted by a column": lambda X, y: X[np.argsort(X[:, 0])],
    "of sources in turn": in_turn,
    "moving": lambda X, y: X + np.linspace(0.0, 5.0, len(X))[:, None],
    "one column": lambda X, y: X[:, :1],
    "one column, sorted": lambda X, y: np.sort(X[:, :1], axis=0),
    "a constant column": lambda X, y: np.column_stack([X, np.ones(len(X))]),
    "whole numbers": lambda X, y: np.round(X),
    "equal rows": lambda X, y: np.ones_like(X),
    "enormous": lambda X, y: X * 1e150,
}


@pytest.mark.filterwarnings("ignore:Column . only rises")
@pytest.mark.parametrize("size", [100, 400])
@pytest.mark.parametrize("name", ORDINARY)
def test_independent_rows_have_the_same_labels_as_without(name, size) -> None:
    models = [ScStream(random_state=0, rules=rules) for rules in (Rules(), INDEPENDENT)]
    for seed in range(3):
        X = ORDINARY[name](*rows(np.random.default_rng(seed)))
        for first in range(0, 400, size):
            for model in models:
                model.partial_fit(X[first : first + size])
            assert weight(models[0]) == 1.0
            np.testing.assert_array_equal(models[0].labels_, models[1].labels_)
