"""Tables with columns of skewed amounts, prices or durations, under ``family="auto"``."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from scstream import ScStream

CENTRES = 5.0 * np.array([[0, 0, 0], [1, 0, 1], [0, 1, 1], [1, 1, 0]])


def table(seed, n=500):
    """Return a price and a duration by their logarithms, a real column, and the clusters."""
    rng = np.random.default_rng(seed)
    y = rng.integers(4, size=n)
    z = CENTRES[y] + rng.normal(size=(n, 3))
    price, time = np.exp(3.0 + 0.8 * z[:, 0]), np.exp(0.7 * z[:, 1])
    return pd.DataFrame({"price": price, "heat": z[:, 2], "time": time}), y


@pytest.fixture(scope="module")
def learned():
    model, scores = ScStream("auto", random_state=0), []
    for seed in range(3):
        X, y = table(seed)
        scores.append(adjusted_rand_score(y, model.partial_fit(X).labels_))
    return model, scores


def test_skewed_amounts_divide_no_clusters(learned, capsys):
    model, scores = learned
    assert model.n_clusters_ == 4
    assert min(scores) > 0.93
    X, y = table(10)
    assert adjusted_rand_score(y, model.predict(X)) > 0.93
    ScStream("auto", max_sweeps=2, verbose=True).partial_fit(X)
    assert "takes price, time as log-gaussian; heat as gaussian." in capsys.readouterr().err


def test_clusters_are_described_in_units_of_the_table(learned):
    model, _ = learned
    X, _ = table(11, n=4_000)
    z = model.predict(X)
    for cluster in model.clusters_:
        own = X["price"][z == cluster.id]
        assert set(cluster.columns["price"]) == {"median", "low", "high"}
        assert cluster.columns["price"]["median"] == pytest.approx(own.median(), rel=0.25)


@pytest.mark.parametrize("kind", ["whole numbers", "words", "many columns"])
def test_whatever_is_beside_them(kind):
    X, y = table(3)
    if kind == "whole numbers":
        X["price"] = np.ceil(100.0 * X["price"]).astype(int)
    elif kind == "words":
        X["name"] = np.array(["a", "b", "c", "d"])[y]
    else:
        rng = np.random.default_rng(0)
        prices = np.exp(rng.normal(size=(4, 40))[y] + rng.normal(size=(len(X), 40)))
        X = pd.concat([X, pd.DataFrame(prices).add_prefix("x")], axis=1)
    model = ScStream("auto", random_state=0).fit(X)
    assert model.n_clusters_ == 4
    assert adjusted_rand_score(y, model.labels_) > 0.9


def test_where_noise_is_asked_for_amounts_are_gaussian_as_they_are():
    X, _ = table(0)
    model = ScStream("auto", random_state=0, outlier_weight="auto").partial_fit(X)
    assert model.family_.name == "gaussian"
    model.partial_fit(table(1)[0])  # which is what it stays
