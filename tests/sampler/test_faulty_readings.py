"""A few rows far out of all others, as faulty readings are, leave the clusters what they are."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from scstream import ScStream


def far(rng, X, rows):
    X[rows] *= 1000.0 * rng.random((rows.sum(), 1))


def one_column(rng, X, rows):
    X[rows, rng.integers(X.shape[1], size=rows.sum())] *= 10.0 ** rng.uniform(1, 6, rows.sum())


def sentinel(rng, X, rows):
    X[rows, 0] = -9999.0


@pytest.mark.filterwarnings("ignore:Column 0 holds -9999")  # as it may stand for missing ones
@pytest.mark.parametrize("family", ["gaussian", "diagonal"])
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("spoil", [far, one_column, sentinel])
def test_clusters_stay_what_they_are(spoil, late, family):
    rng = np.random.default_rng(3)
    corners = 10.0 * np.array([[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]])
    model = ScStream(family, random_state=0)
    for batch in range(6):
        y = rng.integers(5, size=400)
        X = corners[y] + rng.normal(size=(400, 3))
        wrong = (rng.random(400) < 0.02) & (batch > 1 or not late)
        spoil(rng, X, wrong)
        model.partial_fit(X)
        assert adjusted_rand_score(y[~wrong], model.labels_[~wrong]) > 0.98
