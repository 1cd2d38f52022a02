"""Columns of few different numbers: how coarse they are, and what becomes of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from scstream import ScStream
from scstream.encoders import rounding

N = 2000
CELL = 0.45 * np.sqrt(12.0)  # steps that a cell is wide: places deviate by .45 steps
CELL_OF_FEW = 0.5 * np.sqrt(12.0)  # where a column has next to nothing but two numbers


def columns(seed=0):
    """Return rows with a column of each kind, and the steps that they ought to have."""
    rng = np.random.default_rng(seed)
    normal, flag = rng.normal(size=N), rng.random(N)
    cases = {
        "continuous": (normal, 0.0),
        "whole numbers, many": (np.round(100.0 * normal), 0.0),
        "whole numbers, few": (np.round(2.0 * normal), CELL),
        "tenths": (np.round(0.3 * normal, 1), 0.1 * CELL),
        "0 and 1": ((flag < 0.3).astype(float), CELL_OF_FEW),
        "seldom 1": ((flag < 0.005).astype(float), CELL_OF_FEW),
        "one number": (np.full(N, -7.0), 0.07),
        "mostly 0": (np.where(flag < 0.8, 0.0, normal), 0.0),
        "missing": (np.where(flag < 0.5, np.nan, np.round(normal)), CELL),
    }
    return np.column_stack([x for x, _ in cases.values()]), [step for _, step in cases.values()]


def scale_of(X):
    deviation, size = np.nanstd(X, axis=0), np.nanmax(np.abs(X), axis=0)
    return np.where(deviation > 1e-9 * size, deviation, size)


@pytest.mark.parametrize("unit", [1.0, 1e-9, 3e7])
def test_steps_are_those_of_coarse_columns(unit):
    X, expected = columns()
    X = unit * X
    assert_allclose(rounding.steps(X, scale_of(X)), unit * np.array(expected), rtol=1e-6)


def test_numbers_stay_about_their_cells_and_fine_columns_as_they_are():
    X, step = columns()
    out, step = rounding.unrounded(X, np.array(step), 0, 0), np.array(step)
    assert_array_equal(out[:, step == 0], X[:, step == 0])
    assert_array_equal(np.isnan(out), np.isnan(X))
    moved = (out - X)[:, step > 0] / step[step > 0]
    assert_allclose(np.nanvar(moved, axis=0), 1.0 / 12.0, rtol=0.25)
    assert rounding.unrounded(X, np.zeros(X.shape[1]), 0, 0) is X


def test_places_are_normal_and_of_their_own_for_rows_columns_and_batches():
    X, step = np.zeros((20_000, 3)), np.full(3, np.sqrt(12.0))
    places = np.concatenate([rounding.unrounded(X, step, b, 0) for b in range(2)], axis=1)
    for x in places.T:
        assert stats.kstest(x, "norm").pvalue > 1e-6
    apart = np.corrcoef(np.column_stack([places, np.roll(places, 1, axis=0)]).T)
    apart -= np.eye(len(apart))
    assert np.abs(apart).max() < 6.0 / np.sqrt(len(X))
    singles = [rounding.unrounded(X[:1], step, b, 0)[0, 0] for b in range(4_000)]
    assert stats.kstest(singles, "norm").pvalue > 1e-6


@pytest.mark.parametrize("family", ["gaussian", "diagonal"])
def test_coarse_columns_do_not_drown_the_others(family):
    # with numbers left as they are (no steps) every score is below 0.02
    rng, n = np.random.default_rng(0), 1000
    model, scores = ScStream(family, random_state=0), []
    for _ in range(4):
        y = rng.integers(4, size=n)
        told = 6.0 * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])[y] + rng.normal(size=(n, 2))
        X = np.column_stack([told, rng.random((n, 6)) < 0.01, np.full((n, 3), 2.0)])
        scores.append(adjusted_rand_score(y, model.partial_fit(X).labels_))
        assert_allclose([c.mean[-1] for c in model.clusters_], 2.0, rtol=0.01)
    assert min(scores) > 0.9


def test_images_of_digits_are_told_apart():
    """64 columns of whole numbers, some hardly ever other than 0: without steps the ARI is 0.01."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    model, scores = ScStream(random_state=0), []
    for rows in np.array_split(order, 6):
        if scores or hasattr(model, "labels_"):
            scores.append(adjusted_rand_score(y[rows], model.predict(X[rows])))
        model.partial_fit(X[rows])
    assert np.mean(scores) > 0.5


@pytest.mark.parametrize("family", ["gaussian", "diagonal"])
def test_a_model_that_was_saved_goes_on_with_the_same_places(family, tmp_path):
    rng = np.random.default_rng(0)
    batches = [np.column_stack([rng.normal(size=200), rng.random(200) < 0.5]) for _ in range(3)]
    model = ScStream(family, random_state=0).partial_fit(batches[0])
    model.save(tmp_path / "model")
    again = ScStream.load(tmp_path / "model")
    for X in batches[1:]:
        assert_array_equal(again.partial_fit(X).labels_, model.partial_fit(X).labels_)
    assert again._learner.family.rounding is not None
    assert again.history_[-1] == model.history_[-1]


def test_a_prior_that_is_given_leaves_numbers_as_they_are():
    from scstream import Gaussian

    X = np.round(np.random.default_rng(0).normal(size=(200, 2)))
    assert Gaussian().prepare(X).rounding is not None
    assert Gaussian(cov=1.0).prepare(X).rounding is None


@pytest.mark.parametrize("family", ["gaussian", "diagonal"])
@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("far", [10.0, 1000.0])
def test_whole_numbers_of_narrow_clusters_far_apart_are_clusters(far, columns, family):
    """The columns are fine as a whole, but rows come again and again."""
    rng = np.random.default_rng(6)
    places = far * np.array([[0, 0], [1, 1], [2, 0], [3, 1]])[:, :columns]
    model = ScStream(family, random_state=0)
    for _ in range(4):
        y = rng.integers(4, size=600)
        model.partial_fit(np.round(places[y] + rng.normal(size=(600, columns))))
        assert adjusted_rand_score(y, model.labels_) > 0.97
    assert model.n_clusters_ <= 5


BESIDE = {
    "grades": lambda rng, n: rng.binomial(4, 0.5, size=(n, 1)),
    "flags": lambda rng, n: rng.random((n, 2)) < 0.3,
    "whole numbers": lambda rng, n: np.round(rng.normal(size=(n, 2))),
}


@pytest.mark.parametrize("beside", BESIDE.values(), ids=BESIDE.keys())
def test_columns_of_few_numbers_divide_no_clusters(beside):
    """Many rows would show valleys between neighbouring numbers if their places left any."""
    rng, n = np.random.default_rng(0), 3_000
    places = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0], [9.0, 9.0]])
    model = ScStream(random_state=0)
    for _ in range(4):
        y = rng.integers(4, size=n)
        model.partial_fit(np.hstack([places[y] + rng.normal(size=(n, 2)), beside(rng, n)]))
    assert adjusted_rand_score(y, model.labels_) > 0.97
    assert model.n_clusters_ <= 5
