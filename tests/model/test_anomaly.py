"""`anomaly`: one ordinary row in a thousand is below 0.001, on all families and engines."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from scstream import ScStream
from scstream.datasets import gaussian_stream


def counts(seed, n, batches):
    rng = np.random.default_rng(seed)
    rate = rng.gamma(2.0, 5.0, (4, 6))
    for _ in range(batches):
        yield rng.poisson(rate[rng.integers(4, size=n)]).astype(float)


def kinds(seed, n, batches):
    rng = np.random.default_rng(seed)
    odds = rng.dirichlet(np.full(5, 0.5), (4, 8))
    for _ in range(batches):
        p = odds[rng.integers(4, size=n)].cumsum(axis=2)
        yield (p < rng.random((n, 8, 1))).sum(axis=2).clip(max=4).astype(float)


def reals(d, k=5, speed=1.0):
    def batches_of(seed, n, batches):
        for batch in gaussian_stream(batches, n, k, d, random_state=seed, speed=speed):
            yield batch.X

    return batches_of


STREAMS = {
    "gaussian, 1 column": ("gaussian", reals(1)),
    "gaussian, 2 columns": ("gaussian", reals(2)),
    "gaussian, 10 columns": ("gaussian", reals(10)),
    "gaussian, 100 columns whose directions turn": ("gaussian", reals(100, 10, 5.0)),
    "diagonal, 20 columns": ("diagonal", reals(20)),
    "poisson": ("poisson", counts),
    "categorical": ("categorical", kinds),
}


@pytest.mark.parametrize("name", STREAMS)
def test_as_many_ordinary_rows_are_below_a_share_as_it_says(name):
    family, stream = STREAMS[name]
    model, below = ScStream(family, random_state=0, n_jobs=1), []
    for b, X in enumerate(stream(3, 1000, 40)):
        if b >= 10:
            shares = model.anomaly(X)
            below.append([(shares < q).mean() for q in (0.001, 0.01, 0.1)])
        model.partial_fit(X)
    thousandth, hundredth, tenth = np.mean(below, axis=0)
    # 30 rows are expected below the first, of a threshold that is known to a fourth or so
    assert 0.0002 < thousandth < 0.0035
    assert 0.005 < hundredth < 0.018
    assert 0.07 < tenth < 0.14


def test_what_is_far_off_is_unusual_and_the_order_is_that_of_scores():
    batches = [b.X for b in gaussian_stream(10, 500, n_clusters=4, random_state=0)]
    model = ScStream(random_state=0)
    for X in batches:
        model.partial_fit(X)
    far = np.linspace(60.0, 500.0, 50)[:, None] * np.ones(2)
    assert np.all(model.anomaly(far) < 1e-3)
    X = np.concatenate([batches[-1], far])
    shares, scores = model.anomaly(X), model.score_samples(X)
    assert np.all((shares > 0) & (shares <= 1))
    assert np.all(np.diff(shares[np.argsort(scores)]) >= 0)


def test_after_fit_new_rows_are_judged_by_rows_left_out():
    a, b = gaussian_stream(2, 1000, n_clusters=5, n_features=4, drift="none", random_state=1)
    shares = ScStream(random_state=0).fit(a.X).anomaly(b.X)
    assert 0.05 < (shares < 0.1).mean() < 0.2


@pytest.mark.parametrize("outlier_weight", [0.0, "auto"])
def test_a_saved_model_goes_on_as_one_that_was_not(tmp_path, outlier_weight):
    rng = np.random.default_rng(0)
    batches = [b.X for b in gaussian_stream(9, 300, n_clusters=4, random_state=5)]
    for X in batches:
        X[:30] = rng.uniform(-25.0, 25.0, (30, 2))
    one = ScStream(random_state=0, outlier_weight=outlier_weight)
    for X in batches[:4]:
        one.partial_fit(X)
    one.save(tmp_path / "model")
    other = ScStream.load(tmp_path / "model")
    for X in batches[4:]:
        assert_array_equal(one.anomaly(X), other.anomaly(X))
        assert_array_equal(one.partial_fit(X).labels_, other.partial_fit(X).labels_)
        assert_array_equal(one.predict(X), other.predict(X))
    assert (one.labels_ == -1).any() == (outlier_weight == "auto")
