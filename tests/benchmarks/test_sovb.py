"""SoVB: its expectations by simulation, its updates by exact posteriors and batch inference."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import invwishart
from sklearn.mixture import BayesianGaussianMixture

from benchmarks.contestants.base import Task
from benchmarks.contestants.sovb import (
    CONTESTANTS,
    GaussianFamily,
    MultinomialFamily,
    SoVB,
    expected_log_weights,
)
from scstream.datasets import gaussian_stream, multinomial_stream
from scstream.evaluate import prequential

EASY = {
    "real": gaussian_stream(8, 400, 5, 3, drift="none", random_state=1),
    "counts": multinomial_stream(
        8, 400, 5, 30, drift="none", concentration=0.5, sparse=True, random_state=1
    ),
}


def task_of(kind: str) -> Task:
    stream = EASY[kind]
    return Task("easy", kind, stream.n_features, stream.batch_size, 5, stream[0].X, {})


@pytest.mark.parametrize("kind", ["real", "counts"])
def test_finds_the_clusters_of_an_easy_stream(kind):
    model = CONTESTANTS[0].make(task_of(kind), 0, truncation=20, window=1.0)
    result = prequential(model, EASY[kind])
    assert result.mean()["ari"] > 0.9
    assert result.full_ari > 0.9


@pytest.mark.parametrize("kind", ["real", "counts"])
def test_one_component_reaches_the_exact_posterior(kind):
    # Steps 1/t average the batches; the mean of all, times their number, is their sum.
    stream = EASY[kind]
    model = CONTESTANTS[0].make(
        task_of(kind), 0, truncation=1, window=len(stream), rate_delay=1.0, rate_power=1.0
    )
    for batch in stream:
        model.partial_fit(batch.X)
    features = [model.family.features(batch.X) for batch in stream]
    np.testing.assert_allclose(model.sizes, 8 * 400)
    np.testing.assert_allclose(model.sums[0], sum(f.sum(axis=0) for f in features))


def test_gaussian_posterior_is_normal_inverse_wishart():
    X = np.random.default_rng(0).normal([5.0, -3.0], [2.0, 0.5], (50, 2))
    family = GaussianFamily(X[:20], cov_scale=0.3, cov_strength=4.0, mean_strength=0.7)
    features = family.features(X)
    kappa, nu, mean, scatter = family.posterior(np.array([50.0]), features.sum(axis=0)[None])

    center, psi = X[:20].mean(axis=0), 4.0 * 0.3 * np.diag(X[:20].var(axis=0))
    exact_mean = (0.7 * center + X.sum(axis=0)) / 50.7
    gap = (X.mean(axis=0) - center)[:, None]
    exact_psi = psi + 50 * np.cov(X.T, bias=True) + 0.7 * 50 / 50.7 * gap @ gap.T
    np.testing.assert_allclose([kappa[0], nu[0]], [50.7, 2 + 1 + 4 + 50])
    np.testing.assert_allclose(center + family.scales * mean[0], exact_mean)
    scale = np.outer(family.scales, family.scales)
    np.testing.assert_allclose(scale * (4.0 * np.eye(2) + scatter[0]), exact_psi)


def test_gaussian_expectation_agrees_with_simulation():
    rng = np.random.default_rng(0)
    first = rng.standard_normal((30, 2))
    family = GaussianFamily(first, cov_scale=1.0, cov_strength=5.0, mean_strength=2.0)
    sizes = np.array([0.0, 12.0])
    sums = np.stack([np.zeros(6), family.features(first[:12] + 1.0).sum(axis=0)])
    slopes, offsets = family.expect(sizes, sums)
    point = np.array([[0.3, -0.8]])
    kappa, nu, mean, scatter = family.posterior(sizes, sums)
    for component in range(2):
        covs = invwishart(nu[component], 5.0 * np.eye(2) + scatter[component]).rvs(20000, rng)
        shifts = np.linalg.cholesky(covs / kappa[component]) @ rng.standard_normal((20000, 2, 1))
        gaps = family.coordinates(point) - mean[component] - shifts[:, :, 0]
        quadratic = np.einsum("si,sij,sj->s", gaps, np.linalg.inv(covs), gaps)
        draws = -0.5 * (quadratic + np.linalg.slogdet(covs).logabsdet)
        shared = np.log(2.0)  # what all components share is left out: d log(2) / 2
        exact = family.features(point)[0] @ slopes[:, component] + offsets[component] + shared
        assert abs(draws.mean() - exact) < 5 * draws.std() / np.sqrt(20000)


def test_multinomial_expectation_agrees_with_simulation():
    rng = np.random.default_rng(0)
    family = MultinomialFamily(0.5)
    sums = np.array([[3.0, 0.0, 7.0], [0.0, 0.0, 0.0]])
    slopes, offsets = family.expect(sums.sum(axis=1), sums)
    for component in range(2):
        draws = np.log(rng.dirichlet(0.5 + sums[component], 200_000))
        error = draws.std(axis=0) / np.sqrt(len(draws))
        assert np.all(np.abs(draws.mean(axis=0) - slopes[:, component]) < 5 * error)
    np.testing.assert_array_equal(offsets, 0.0)


def test_weights_agree_with_simulated_sticks():
    rng = np.random.default_rng(0)
    sizes, alpha = np.array([2.0, 0.0, 5.0, 1.0]), 1.5
    order = [2, 0, 3, 1]
    sticks = rng.beta([6.0, 3.0, 2.0], [alpha + 3.0, alpha + 1.0, alpha], (200_000, 3))
    left = np.cumprod(1.0 - sticks, axis=1)
    weights = np.column_stack([sticks, np.ones(len(sticks))])
    weights[:, 1:] *= left
    draws = np.log(weights)
    error = draws.std(axis=0) / np.sqrt(len(draws))
    exact = expected_log_weights(sizes, alpha)[order]
    assert np.all(np.abs(draws.mean(axis=0) - exact) < 5 * error)


def test_steps_of_one_settle_where_batch_inference_does():
    rng = np.random.default_rng(0)
    sizes = (300, 200, 100)
    X = np.concatenate([rng.normal(m, 1.0, (n, 2)) for m, n in zip((0, 4, -4), sizes, strict=True)])
    family = GaussianFamily(X, cov_scale=0.2, cov_strength=3.0, mean_strength=0.1)
    model = SoVB(family, truncation=3, alpha=2.0, window=1.0, rate_power=0.0)
    for _ in range(200):
        model.partial_fit(X)
    _, nu, mean, scatter = family.posterior(model.sizes, model.sums)

    batch = BayesianGaussianMixture(
        n_components=3,
        weight_concentration_prior_type="dirichlet_process",
        weight_concentration_prior=2.0,
        mean_precision_prior=0.1,
        mean_prior=np.zeros(2),
        degrees_of_freedom_prior=2 + 1 + 3.0,
        covariance_prior=3.0 * np.eye(2),
        reg_covar=0.0,
        tol=1e-12,
        max_iter=2000,
        random_state=0,
    ).fit(family.coordinates(X))
    match = np.abs(mean[:, None] - batch.means_).sum(axis=2).argmin(axis=1)
    assert sorted(match) == [0, 1, 2]
    # scikit-learn breaks the last stick too, so its weights differ a little.
    covs = (3.0 * np.eye(2) + scatter) / nu[:, None, None]
    np.testing.assert_allclose(mean, batch.means_[match], atol=5e-4)
    np.testing.assert_allclose(covs, batch.covariances_[match], atol=5e-4)
