"""Tables with columns of small whole numbers that are no counts, under ``family="auto"``."""

import copy

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from scstream import ScStream

CENTRES = np.array([[22, 60, 30], [45, 85, 34], [50, 40, 52], [70, 55, 48]])
STARS = np.array([[0.6, 0.2, 0.1, 0.05, 0.05], [0.05, 0.05, 0.1, 0.2, 0.6]])


def ages_and_scores(seed, n=400):
    """Return ages, scores and weights whose deviations belong together, and the clusters."""
    rng = np.random.default_rng(seed)
    y = rng.integers(4, size=n)
    z = rng.normal(size=(n, 2)) @ [[2.0, 5.0, 1.0], [0.0, 2.0, 2.0]]
    numbers = np.rint(CENTRES[y] + z + rng.normal(size=(n, 3))).astype(int)
    return pd.DataFrame(numbers, columns=["age", "score", "weight"]), y


def answers(seed, n=400):
    """Return answers from 1 to 5 to eight questions, and the clusters."""
    rng = np.random.default_rng(seed)
    y = rng.integers(4, size=n)
    likes = (y[:, None] >> np.arange(8) % 2) & 1
    q = 1 + (rng.random((n, 8, 1)) > STARS[likes].cumsum(axis=2)[:, :, :4]).sum(axis=2)
    return pd.DataFrame(q, columns=[f"q{j}" for j in range(8)]), y


def test_numbers_that_are_no_counts_are_gaussian_together() -> None:
    model = ScStream("auto", random_state=0)
    for seed in range(3):
        X, y = ages_and_scores(seed)
        model.partial_fit(X)
        assert model.n_clusters_ == 4
        assert adjusted_rand_score(y, model.labels_) > 0.95
    assert model.family_.name == "gaussian"


@pytest.fixture(scope="module")
def learned():
    return ScStream("auto", random_state=0).partial_fit(answers(0)[0]).partial_fit(answers(1)[0])


def test_answers_are_codes(learned):
    X, y = answers(2)
    assert learned.family_.name == "categorical"
    assert learned.n_clusters_ == 4
    assert adjusted_rand_score(y, learned.predict(X)) > 0.7
    shares = learned.clusters_[0].columns["q0"]["probabilities"]
    assert set(shares) == {1, 2, 3, 4, 5, "(other)"}


def test_a_fraction_among_codes_is_one_more(learned, tmp_path):
    model = copy.deepcopy(learned)
    X, y = answers(3)
    X = X.astype({"q0": float})
    X.loc[3, "q0"], X.loc[5, "q0"] = 2.5, np.nan
    assert adjusted_rand_score(y, model.predict(X)) > 0.7
    model.partial_fit(X)
    assert [(e.column, e.now) for e in model.events_ if e.kind == "widen"] == [
        ("q0", "6 categories")
    ]
    model.save(tmp_path / "model")
    again = ScStream.load(tmp_path / "model")
    assert 2.5 in again.clusters_[0].columns["q0"]["probabilities"]
    assert (again.predict(X) == model.predict(X)).all()
