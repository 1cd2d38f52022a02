"""The background: noise is labelled -1 and makes no clusters, clusters that are born are found."""

import numpy as np
import pytest

from scstream import ScStream
from scstream.datasets import gaussian_stream


def noisy(stream, share, kind="uniform", seed=0, since=0):
    """Yield rows, their clusters (-1 for noise), and how far each is from all clusters."""
    rng = np.random.default_rng(seed + 1000)
    for b, batch in enumerate(stream):
        X, y = batch.X.copy(), batch.y.copy()
        n, d = X.shape
        m = int(share * n) if b >= since else 0
        noise = rng.uniform(-25.0, 25.0, (m, d)) if kind == "uniform" else rng.normal(0, 25, (m, d))
        X[:m], y[:m] = noise, -1
        off = [
            np.linalg.norm(np.linalg.solve(scale, (X - mean).T), axis=0)
            for mean, scale in zip(batch.truth.means, batch.truth.scales, strict=True)
        ]
        yield X, y, np.min(off, axis=0)


def outcome(stream, **options):
    """Return the shares of far noise caught, of cluster rows lost, and what K was and should be."""
    model = ScStream(outlier_weight="auto", random_state=0, n_jobs=1, **options)
    caught, lost, found, true = [], [], [], []
    for X, y, off in stream:
        z = model.partial_fit(X).labels_
        far = (y < 0) & (off >= 4.0)
        caught += (z[far] == -1).tolist()
        lost += (z[y >= 0] == -1).tolist()
        found.append(len(np.unique(z[z >= 0])))
        true.append(len(np.unique(y[y >= 0])))
    return np.mean(caught) if caught else np.nan, np.mean(lost), np.array(found), np.array(true)


@pytest.mark.parametrize("d", [2, 5, 10])
@pytest.mark.parametrize("share", [0.05, 0.2])
def test_noise_is_caught_under_drift(d, share):
    stream = gaussian_stream(8, 600, 6, d, random_state=d)
    caught, lost, found, true = outcome(noisy(stream, share))
    assert caught >= 0.9
    assert lost <= 0.01
    assert np.all(abs(found - true) <= 1)


def test_clusters_that_are_born_amid_noise_are_found_at_once():
    def stream():
        rng = np.random.default_rng(4)
        for b in range(8):
            centres = np.array([[0, 0], [15, 0], [0, 15], [-15, -15], [15, 15]])[
                : 3 if b < 4 else 5
            ]
            y = rng.integers(len(centres), size=400)
            X = centres[y] + rng.normal(size=(400, 2))
            X[:60], y[:60] = rng.uniform(-25.0, 25.0, (60, 2)), -1
            off = np.min([np.linalg.norm(X - c, axis=1) for c in centres], axis=0)
            yield X, y, off

    caught, lost, found, true = outcome(stream())
    assert caught >= 0.9
    assert lost <= 0.01
    assert np.all(abs(found - true) <= 1)


def test_a_small_cluster_that_is_born_amid_noise_is_found_at_once():
    rng, centres = np.random.default_rng(5), np.array([[0, 0], [15, 0], [0, 15]])
    model = ScStream(outlier_weight="auto", random_state=0)
    for b in range(7):
        X = centres[rng.integers(3, size=400)] + rng.normal(size=(400, 2))
        X[:60] = rng.uniform(-25.0, 25.0, (60, 2))
        if b >= 5:
            X[60:84] = np.array([-15.0, -15.0]) + 0.5 * rng.normal(size=(24, 2))
        z = model.partial_fit(X).labels_
    assert z[60] >= 3
    assert np.all(z[60:84] == z[60])


@pytest.mark.parametrize("drift", ["none", "sudden", "recurring"])
def test_without_noise_all_is_as_without_a_background(drift):
    # of sudden streams about one in forty shows noise for some batches: pieces of clusters
    plain, noisy = (ScStream(outlier_weight=w, random_state=0) for w in (0.0, "auto"))
    for batch in gaussian_stream(12, 300, 5, drift=drift, random_state=7):
        if plain.n_batches_:
            assert np.array_equal(plain.predict(batch.X), noisy.predict(batch.X))
        for model in (plain, noisy):
            model.partial_fit(batch.X)
        assert np.array_equal(plain.labels_, noisy.labels_)
    assert np.array_equal(plain.score_samples(batch.X), noisy.score_samples(batch.X))


def test_a_background_is_gone_when_what_it_held_is_forgotten():
    batches = [*noisy(gaussian_stream(40, 300, 4, 3, drift="none", random_state=2), 0.1)]
    clean = [b.X for b in gaussian_stream(40, 300, 4, 3, drift="none", random_state=2)]
    model = ScStream(outlier_weight="auto", random_state=0)
    for X, _, _ in batches[:3]:
        model.partial_fit(X)
    assert np.mean(model.labels_ == -1) > 0.05
    far = np.full((1, 3), 1e3)
    assert model.predict(far) == -1
    for X in clean[3:]:
        model.partial_fit(X)
    assert model.predict(far) >= 0


def test_who_asks_for_it_later_has_it_then():
    batches = [X for X, _, _ in noisy(gaussian_stream(4, 500, 4, random_state=3), 0.2, since=2)]
    model = ScStream(random_state=0)
    for X in batches[:2]:
        model.partial_fit(X)
    model.set_params(outlier_weight="auto")
    for X in batches[2:]:
        model.partial_fit(X)
    assert 0.1 < np.mean(model.labels_ == -1) < 0.25


def test_it_arises_nowhere_where_noise_cannot_be_told():
    rng = np.random.default_rng(0)
    model = ScStream("poisson", random_state=0).partial_fit(rng.poisson(5.0, (600, 2)))
    model.set_params(outlier_weight="auto")
    model.partial_fit(np.append(rng.poisson(5.0, (600, 2)), rng.poisson(50.0, (30, 2)), axis=0))
    assert model.labels_.min() >= 0


def test_the_weight_is_learned_and_forgets():
    batches = [*noisy(gaussian_stream(24, 400, 4, 3, drift="none", random_state=2), 0.2)]
    clean = [b.X for b in gaussian_stream(24, 400, 4, 3, drift="none", random_state=2)]
    model, weight = ScStream(outlier_weight="auto", random_state=0), []
    for X, _, _ in batches[:8]:
        weight.append(model.partial_fit(X)._learner.outliers.weight)
    assert 0.15 < weight[-1] < 0.25
    for X in clean[8:]:
        weight.append(model.partial_fit(X)._learner.outliers.weight)
    assert weight[-1] < 0.25 * weight[7]


@pytest.mark.parametrize(("family", "d"), [("gaussian", 16), ("poisson", 2), ("categorical", 3)])
def test_where_noise_cannot_be_told_it_is_refused(family, d):
    X = np.random.default_rng(0).integers(4, size=(200, d)).astype(float)
    with pytest.raises(ValueError, match="outlier_weight='auto' cannot distinguish noise"):
        ScStream(family, outlier_weight="auto", random_state=0).partial_fit(X)
