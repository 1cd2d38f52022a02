"""Tables with columns that are 0, or another value, in many rows, under ``family="auto"``."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from scstream import ScStream

SPENT = np.array([1.0, 3.0, 5.0])  # means of the logarithms in three clusters


def table(seed, n=400, share=0.6):
    """Return two columns by which three clusters overlap a little, and one of money; and labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    spent = np.exp(rng.normal(SPENT[y], 0.4))
    spent[rng.random(n) < share] = 0.0
    x = rng.normal(np.array([0.0, 5.0, 0.0])[y])
    return pd.DataFrame({"x": x, "spent": spent, "y": rng.normal(np.array([0.0, 0.0, 5.0])[y])}), y


def learned(batches):
    """Return a model of some tables, and its scores."""
    model, scores = ScStream("auto", random_state=0), []
    for X, y in batches:
        scores.append(adjusted_rand_score(y, model.partial_fit(X).labels_))
    return model, scores


@pytest.fixture(scope="module")
def money():
    return learned([table(seed) for seed in range(4)])


def test_rows_that_spent_nothing_are_no_clusters(money, capsys):
    model, scores = money
    assert model.n_clusters_ == 3
    assert min(scores) > 0.93
    X, y = table(10)
    assert adjusted_rand_score(y, model.predict(X)) > 0.93
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(400))
    ScStream("auto", max_sweeps=2, verbose=True).partial_fit(X)
    assert "takes x, y as gaussian; spent as hurdle." in capsys.readouterr().err


def test_many_rows_at_once_are_no_more_clusters():
    """Nothing but the start tells a cluster from its rows that lack an amount."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=8_000)
    centre = np.array([[20.0, 20.0, 0.0, 0.0], [26.0, 20.0, 6.0, 0.0], [20.0, 26.0, 0.0, 6.0]])
    X = centre[y] + rng.normal(size=(8_000, 4))
    X[:, :2][rng.random((8_000, 2)) < 0.3] = 0.0
    model = ScStream("auto", random_state=0).partial_fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.9


def test_clusters_may_differ_in_who_has_an_amount_alone():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=2_000)
    spent = np.exp(rng.normal(3.0, 0.4, (2_000, 4)))
    has = np.array([[0.9, 0.1, 0.9, 0.1], [0.1, 0.9, 0.1, 0.9]])[y]
    X = np.where(rng.random(has.shape) < has, spent, 0.0)
    model = ScStream("auto", random_state=0).partial_fit(X)
    assert model.n_clusters_ <= 3
    assert adjusted_rand_score(y, model.labels_) > 0.7


def test_densities_add_up_with_the_common_value_as_one_row(money):
    model, _ = money
    places = np.sinh(np.linspace(-12.0, 12.0, 4_001))
    places = places[places != 0.0]
    none = np.full(len(places) + 1, np.nan)
    X = pd.DataFrame({"x": none, "spent": np.append(0.0, places), "y": none})
    density = np.exp(model.score_samples(X))
    assert density[0] == pytest.approx(0.6, abs=0.05)
    assert density[0] + np.trapezoid(density[1:], places) == pytest.approx(1.0, abs=0.01)


def test_one_column_is_told_in_words_and_drawn(money):
    model, _ = money
    by_mean = sorted(model.clusters_, key=lambda c: c.columns["spent"]["other_median"])
    richest = model.summary().loc[by_mean[-1].id]
    assert "times as high" in richest["different"]
    assert richest["spent"] == 0.0  # the median
    assert set(by_mean[0].columns) == {"x", "spent", "y"}
    for cluster, log_mean in zip(by_mean, SPENT, strict=True):
        about = cluster.columns["spent"]
        assert about["common_value"] == 0.0
        assert about["common_share"] == pytest.approx(0.6, abs=0.1)
        assert about["other_median"] == pytest.approx(np.exp(log_mean), rel=0.25)
        assert set(cluster.columns["x"]) == {"mean", "variance", "low", "high"}
    X, ids = model.sample(3_000, random_state=0)
    richest = X[ids == by_mean[-1].id, 1]
    assert np.mean(richest == 0.0) == pytest.approx(0.6, abs=0.1)
    assert np.median(richest[richest != 0.0]) == pytest.approx(np.exp(SPENT[-1]), rel=0.25)


def test_a_checkpoint_goes_on_as_the_model_does(money, tmp_path):
    model, _ = money
    model.save(tmp_path / "model")
    again = ScStream.load(tmp_path / "model")
    assert repr(again.family_) == repr(model.family_)
    X, _ = table(20)
    np.testing.assert_array_equal(again.score_samples(X), model.score_samples(X))
    both = [ScStream.load(tmp_path / "model").partial_fit(X) for _ in range(2)]
    np.testing.assert_array_equal(both[0].labels_, both[1].labels_)
    np.testing.assert_array_equal(
        both[0].labels_, learned([table(s) for s in range(4)])[0].partial_fit(X).labels_
    )


def changed(seed, how):
    """Return a table whose column of money is something else for once."""
    X, y = table(seed)
    spent = X["spent"].to_numpy()
    X["spent"] = {
        "nobody buys": 0.0 * spent,
        "everybody buys": np.where(spent > 0, spent, np.exp(SPENT[y])),
        "not known": np.full(len(y), np.nan),
        "some not known": np.where(np.arange(len(y)) % 3 == 0, np.nan, spent),
        "some return": np.where(np.arange(len(y)) % 20 == 0, -spent, spent),
        "far too much": np.where(np.arange(len(y)) == 5, 1e6, spent),
    }[how]
    return X, y


@pytest.mark.parametrize(
    "how",
    ["nobody buys", "everybody buys", "not known", "some not known", "some return", "far too much"],
)
def test_later_tables_may_hold_something_else(how):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model, scores = learned([table(0), changed(1, how), table(2)])
        assert np.isfinite(model.score_samples(changed(3, how)[0])).all()
        assert model.summary().shape[0] == model.n_clusters_
    assert scores[1] > 0.75
    assert scores[2] > 0.9


@pytest.mark.parametrize(
    ("first", "was"),
    [
        (lambda rng, n: np.zeros(n), "idle"),
        (lambda rng, n: np.zeros(n, dtype=int), "bernoulli"),
        (lambda rng, n: np.where(rng.random(n) < 0.05, 1, 0), "bernoulli"),
    ],
    ids=["constant", "all no", "yes and no"],
)
def test_a_column_may_become_one_of_amounts(first, was, tmp_path):
    X, y = table(0)
    X["spent"] = first(np.random.default_rng(0), len(y))
    model, scores = learned([(X, y), table(1)])
    assert [(e.column, e.was, e.now) for e in model.events_ if e.kind == "widen"] == [
        ("spent", was, "hurdle")
    ]
    model.save(tmp_path / "model")
    again = ScStream.load(tmp_path / "model")
    for seed in (2, 3):
        X, y = table(seed)
        scores.append(adjusted_rand_score(y, model.partial_fit(X).labels_))
        np.testing.assert_array_equal(again.partial_fit(X).labels_, model.labels_)
    assert min(scores) > 0.9
    share = [c.weight * c.columns["spent"]["common_share"] for c in model.clusters_]
    assert sum(share) == pytest.approx(0.7, abs=0.1)  # the zeros from before are known
