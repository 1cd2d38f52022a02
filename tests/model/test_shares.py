"""Shares of a whole in a table: what "auto" makes of them."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score

from scstream import Composition, ScStream

PARTS = np.array([[20.0, 10.0, 5.0, 3.0], [4.0, 12.0, 4.0, 18.0], [3.0, 6.0, 22.0, 9.0]])


def table(seed, n=500, total=1.0, digits=None, cut=0.0):
    """Return shares of three clusters beside a column that says nothing, and the clusters."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    X = rng.gamma(PARTS[y])
    X = np.where(cut * X.sum(axis=1, keepdims=True) > X, 0.0, X)
    X *= total / X.sum(axis=1, keepdims=True)
    X = X if digits is None else np.round(X, digits)
    return pd.DataFrame({**dict(zip("abcd", X.T, strict=True)), "x": rng.normal(size=n)}), y


@pytest.mark.parametrize("form", [{}, {"total": 100.0, "digits": 0}, {"cut": 0.06}], ids=str)
@pytest.mark.parametrize("n", [300, 3_000])
def test_clusters_of_shares_are_found(form, n):
    model = ScStream("auto", random_state=0)
    for seed in range(3):
        X, y = table(seed, n, **form)
        model.partial_fit(X)
        assert adjusted_rand_score(y, model.labels_) > 0.95
    assert model.n_clusters_ <= (4 if "cut" in form else 3)
    families = [block.family for block in model.family_.independent_blocks(5)]
    assert [type(family) for family in families if family.name != "gaussian"] == [Composition]
    about = model.clusters_[0].columns
    assert sum(about[name]["mean"] for name in "abcd") == pytest.approx(form.get("total", 1.0))


def test_later_rows_may_be_anything_that_is_a_number(tmp_path):
    X, _ = table(0)
    model = ScStream("auto", random_state=0).partial_fit(X)
    odd, y = table(1)
    odd.loc[:9, list("abcd")] = 0.0
    odd.loc[10:19, "a"] = np.nan
    odd.loc[20:29, ["a", "b"]] = np.nan
    odd.loc[30:39, list("abcd")] *= 7.0
    odd.loc[40:49, "a"] = -1.0
    model.partial_fit(odd)
    assert np.isfinite(model.score_samples(odd)).all()
    assert adjusted_rand_score(y[50:], model.labels_[50:]) > 0.95
    model.save(tmp_path / "model.scstream")
    loaded = ScStream.load(tmp_path / "model.scstream")
    assert_array_equal(loaded.predict(odd), model.predict(odd))
    rows, _ = model.sample(2_000, random_state=0)
    assert_allclose(rows[:, :4].sum(axis=1), 1.0)
    assert_allclose(rows[:, :4].mean(axis=0), X[list("abcd")].mean(), atol=0.03)


def test_shares_alone_have_groups_and_densities() -> None:
    X, y = table(0)
    X = X[list("abcd")]
    model = ScStream("auto", random_state=0).partial_fit(X)
    assert isinstance(model.family_, Composition)
    assert len(model.groups_) == 3
    assert adjusted_rand_score(y, model.predict(X)) > 0.95
    mixed = pd.concat([X, 1.0 - X.mean() / 2 + 0.0 * X[:1]])  # the last row is like no other
    assert model.score_samples(mixed)[:-1].mean() > model.score_samples(mixed)[-1]


def test_noise_is_told_from_clusters_of_numbers_as_they_are() -> None:
    model = ScStream("auto", random_state=0, outlier_weight="auto", max_sweeps=3)
    names = [b.family.name for b in model.partial_fit(table(0)[0]).family_.independent_blocks(5)]
    assert "composition" not in names
