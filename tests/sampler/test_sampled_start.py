"""A large first batch: clusters are found among samples, then all rows are swept a few times."""

import numpy as np
import pytest
from sampler.driving import KeyedEngine
from sklearn.metrics import adjusted_rand_score

from scstream import Rules, ScStream
from scstream.engines import CpuEngine

FEW = Rules(sample_rows=512)


def heaps(n, k=8, d=3, seed=0, box=25.0):
    """Return n points of k clusters of deviation 1, and whose they are."""
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    return rng.uniform(-box, box, size=(k, d))[y] + rng.normal(size=(n, d)), y


@pytest.mark.parametrize("seed", range(2))
def test_what_samples_find_is_what_all_rows_would(seed):
    X, y = heaps(9_000, seed=seed)
    whole = ScStream(random_state=seed, rules=Rules(sample_rows=0)).partial_fit(X)
    model = ScStream(random_state=seed, rules=FEW).partial_fit(X)
    assert model.n_clusters_ == whole.n_clusters_
    ours, theirs = (adjusted_rand_score(y, m.labels_) for m in (model, whole))
    assert ours > theirs - 0.002
    levels = [m.history_[-1].log_posterior for m in (model, whole)]
    assert abs(levels[0] - levels[1]) < 1e-3 * abs(levels[1])


def test_what_no_sample_shows_is_found_among_all_rows():
    X, _ = heaps(9_000)
    X[4_000:4_040] = 60.0 + np.random.default_rng(1).normal(size=(40, 3))  # one in a sample of 512
    model = ScStream(random_state=0, rules=FEW).partial_fit(X)
    rare = model.labels_[4_000:4_040]
    assert len(set(rare.tolist())) == 1
    assert np.count_nonzero(model.labels_ == rare[0]) == 40


@pytest.mark.parametrize("rows", [512, 2048])  # of which two samples are taken, and one
@pytest.mark.parametrize("seed", [0, 2])
def test_noise_is_found_in_samples(rows, seed):
    X, y = heaps(9_000, d=2, seed=seed)
    noise = np.arange(len(X)) % 20 == 0
    X[noise] = np.random.default_rng(1).uniform(-30.0, 30.0, size=(noise.sum(), 2))
    rules = Rules(sample_rows=rows)
    model = ScStream(random_state=0, outlier_weight="auto", rules=rules).partial_fit(X)
    assert model.n_clusters_ == 8
    assert (model.labels_[noise] == -1).mean() > 0.8  # some are within a cluster
    assert (model.labels_[~noise] == -1).mean() < 0.01
    assert adjusted_rand_score(y[~noise], model.labels_[~noise]) > 0.95


class CountedEngine(KeyedEngine):
    """An engine that counts its passes over all rows."""

    passes = 0

    def sweep(self, score, sub, k, key):
        self.passes += 1
        return super().sweep(score, sub, k, key)


@pytest.mark.parametrize("seed", range(2))
def test_all_rows_are_swept_a_few_times_only(seed):
    X, _ = heaps(9_000, seed=seed)
    passes = {}
    for rules in (FEW, Rules(sample_rows=0)):
        engine = CountedEngine()
        ScStream(engine=lambda engine=engine: engine, random_state=seed, rules=rules).partial_fit(X)
        passes[rules] = engine.passes
    assert passes[FEW] <= 12
    assert passes[Rules(sample_rows=0)] >= 20


def test_no_draw_of_labels_has_the_uniforms_of_a_sample():
    engine = KeyedEngine()
    X, _ = heaps(4_000)
    ScStream(engine=lambda: engine, random_state=0, rules=FEW).partial_fit(X)
    sweeps = [sweep for _, sweep in engine.keys]
    assert min(sweeps) > Rules().patience_again  # those before were the sample's
    assert len(set(sweeps)) == len(sweeps)


def test_any_number_of_threads_gives_the_same_labels():
    X, _ = heaps(9_000)
    models = [
        ScStream(engine=lambda n=n: CpuEngine(n), random_state=0, rules=FEW).partial_fit(X)
        for n in (1, 2, 3)
    ]
    for model in models[1:]:
        np.testing.assert_array_equal(model.labels_, models[0].labels_)
        assert model.history_[-1].log_posterior == models[0].history_[-1].log_posterior


def test_rows_of_a_sample_count_what_they_count():
    """Half the rows count next to nothing: the clusters are those of the others."""
    X, y = heaps(8_000, k=4)
    stray = np.random.default_rng(1).uniform(-25.0, 25.0, size=X.shape)
    rows = np.stack([X, stray], axis=1).reshape(-1, 3)
    weight = np.tile([1.0, 1e-9], len(X))
    model = ScStream(random_state=0, rules=FEW).partial_fit(rows, sample_weight=weight)
    assert model.n_clusters_ == 4
    assert adjusted_rand_score(y, model.labels_[::2]) > 0.99
