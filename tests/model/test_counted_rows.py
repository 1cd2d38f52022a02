"""Rows of counts that differ in how much was counted: what "auto" makes of them."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import adjusted_rand_score

from scstream import CountShares, ScStream


def hosts(seed, n=600, d=10):
    """Return counts of hosts whose activity differs by a hundred times, beside a real column."""
    rng = np.random.default_rng([1, d])
    share = np.exp(rng.normal(0.0, 1.2, (4, d)))
    share /= share.sum(axis=1, keepdims=True)
    rng = np.random.default_rng(seed)
    y = rng.integers(4, size=n)
    active = 30.0 * 100.0 ** rng.random((n, 1))
    mean = active * share[y]
    counts = rng.poisson(mean * rng.gamma(7.0, 1.0 / 7.0, mean.shape))
    names = [f"event_{j}" for j in range(d)]
    return pd.DataFrame(counts, columns=names).assign(load=rng.normal(size=n)), y


def genes(seed, n, d=80):
    """Return counts of genes, many of them 0, of cells that are read to different depths."""
    rng = np.random.default_rng([2, d])
    share = np.exp(rng.normal(0.0, 1.0, d) + rng.normal(0.0, 1.2, (5, d)))
    share /= share.sum(axis=1, keepdims=True)
    rng = np.random.default_rng(seed)
    y = rng.integers(5, size=n)
    mean = 400.0 * np.exp(rng.normal(0.0, 0.6, (n, 1))) * share[y]
    return rng.poisson(mean * rng.gamma(3.0, 1.0 / 3.0, mean.shape)), y


@pytest.mark.parametrize("seed", range(2))
def test_clusters_of_rows_that_differ_in_activity_are_found(seed, tmp_path):
    # as independent counts: ARI .2, more than 20 clusters
    model = ScStream("auto", random_state=seed)
    for batch in range(3):
        X, y = hosts([seed, batch])
        model.partial_fit(X)
    assert adjusted_rand_score(y, model.predict(X)) > 0.85
    assert model.n_clusters_ <= 6
    kinds = [type(block.family) for block in model.family_.independent_blocks(11)]
    assert CountShares in kinds
    model.save(tmp_path / "model")
    again = ScStream.load(tmp_path / "model")
    assert_array_equal(again.predict(X), model.predict(X))
    about = model.clusters_[0].columns
    assert about["event_0"]["mean"] > 0.0
    assert about["event_0"]["variance"] > 0.0


def test_many_columns_stay_narrow_when_the_first_rows_are_learned_anew() -> None:
    # a full covariance of 80 columns in the second batch: it fails
    model = ScStream("auto", random_state=0)
    for batch in range(3):
        X, y = genes(batch, 200)
        model.partial_fit(X)
        family = model.family_
        assert isinstance(family, CountShares)
        assert family.parts(family.prior[None])[0][0].space is not None
    assert adjusted_rand_score(y, model.predict(X)) > 0.9
