"""Categories that are spread over columns of yes and no: what "auto" makes of them."""

import copy
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score

from scstream import OneHot, Product, ScStream

SHARES = np.array([[0.8, 0.1, 0.06, 0.04], [0.04, 0.06, 0.2, 0.7], [0.1, 0.7, 0.1, 0.1]])


def table(seed=0, n=300):
    """Return a real column and four of words, and the clusters that they are from."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    columns = {"x": rng.normal(3.0 * y)}
    for name in ("tree", "sky", "sea", "day"):
        u = rng.random(n)
        code = (u[:, None] > SHARES[y].cumsum(axis=1)).sum(axis=1).clip(0, 3)
        columns[name] = np.array(["ash", "elm", "fir", "oak"], dtype=object)[code]
    return pd.DataFrame(columns), y


@pytest.mark.parametrize("options", [{}, {"drop_first": True}, {"dtype": float}], ids=str)
def test_spread_categories_have_the_clusters_of_words(options):
    model, words = (ScStream("auto", random_state=0) for _ in range(2))
    for seed in range(3):
        X, y = table(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.partial_fit(pd.get_dummies(X, **options))
        words.partial_fit(X)
        assert adjusted_rand_score(words.labels_, model.labels_) > 0.99
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(y, model.labels_) > 0.9
    spread = model.clusters_[0].columns["tree_oak"]["probability"]
    other = words.clusters_[0].columns["tree"]["probabilities"]["oak"]
    assert spread == pytest.approx(other, abs=0.01)


def test_rows_that_break_the_rule_are_categories_too(capfd):
    X = pd.get_dummies(table()[0], dtype=float)
    model = ScStream("auto", random_state=0).partial_fit(X)
    for change in (
        {"tree_ash": 1.0, "tree_elm": 1.0},  # two in a row
        {"tree_ash": 1.0, "tree_elm": 1.0, "tree_fir": 1.0, "tree_oak": 1.0},
        {"tree_ash": 0.0, "tree_elm": 0.0, "tree_fir": 0.0, "tree_oak": 0.0},
        {"tree_ash": 0.5},
        {"tree_ash": np.nan, "tree_elm": np.nan, "tree_fir": np.nan, "tree_oak": np.nan},
    ):
        odd = pd.get_dummies(table(1)[0], dtype=float)
        odd.loc[:1, list(change)] = list(change.values())
        assert np.isfinite(model.score_samples(odd)).all()
        model.partial_fit(odd)
        assert model.n_clusters_ == 3
    assert "tree_ash to tree_oak has 5 categories now, 4 before" in capfd.readouterr().err
    about = model.clusters_[0].columns
    known = sum(about[f"tree_{name}"]["probability"] for name in ("ash", "elm", "fir", "oak"))
    assert known == pytest.approx(1.0, abs=0.1)


def test_a_model_of_spread_categories_is_saved_and_draws_rows(tmp_path):
    X = pd.get_dummies(table()[0])
    model = ScStream("auto", random_state=0).partial_fit(X)
    model.save(tmp_path / "model.scstream")
    loaded = ScStream.load(tmp_path / "model.scstream")
    more = pd.get_dummies(table(1)[0])
    assert_array_equal(loaded.predict(more), model.predict(more))
    assert_array_equal(
        loaded.partial_fit(more).labels_, copy.deepcopy(model).partial_fit(more).labels_
    )
    rows, _ = model.sample(2_000, random_state=0)
    drawn = pd.DataFrame(rows, columns=X.columns)[[c for c in X if c.startswith("tree")]]
    assert (drawn.sum(axis=1) == 1.0).mean() > 0.99
    assert_allclose(drawn.mean(), X[drawn.columns].mean(), atol=0.06)


@pytest.mark.parametrize("family", ["bernoulli", Product({"bernoulli": range(6)})])
def test_a_family_that_does_not_suit_them_is_warned_of(family):
    rng = np.random.default_rng(0)
    X = np.concatenate([np.eye(3)[rng.integers(3, size=100)] for _ in range(2)], axis=1)
    match = "columns 0 to 2 at most one is yes in each row, and 1 more such group of columns"
    with pytest.warns(UserWarning, match=match) as told:
        ScStream(family, random_state=0, max_sweeps=2).partial_fit(X)
    assert [one.filename for one in told] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ScStream(OneHot([3, 3]), random_state=0, max_sweeps=2).partial_fit(X)
        ScStream("bernoulli", random_state=0, max_sweeps=2).partial_fit(
            rng.integers(2, size=(99, 6))
        )
