"""The density of the next point: it integrates to 1 and is low for what is unusual."""

import numpy as np
import pytest
from scipy import stats
from streams import blobs

from scstream import Gaussian, ScStream

OUTLIERS = pytest.mark.parametrize("outlier_weight", [0.0, 0.2], ids=["", "outliers"])


def wide_grid(reach: float, step: float):
    """Return points of the line, dense near 0 and sparse far out, and their lengths."""
    u = np.arange(-np.arcsinh(reach), np.arcsinh(reach), step)
    return np.sinh(u), np.cosh(u) * step


@OUTLIERS
@pytest.mark.parametrize("rows", [3, 300])
def test_it_integrates_to_one_in_one_dimension(outlier_weight, rows) -> None:
    centres = np.array([[-4.0], [0.0], [7.0]])
    model = ScStream(outlier_weight=outlier_weight, random_state=0)
    for b in range(3):
        model.partial_fit(blobs(rows, b, centres)[0])
    x, length = wide_grid(1e6, 1e-4)
    density = np.exp(model.score_samples(x[:, None]))
    assert (density * length).sum() == pytest.approx(1.0, abs=1e-3)


@OUTLIERS
def test_it_adds_up_to_one_over_counts(outlier_weight) -> None:
    """All rows of 5 trials in 3 categories: each number of trials has a distribution."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.multinomial(5, p, 60) for p in ([0.8, 0.1, 0.1], [0.1, 0.1, 0.8])])
    model = ScStream("multinomial", outlier_weight=outlier_weight, random_state=0).fit(X)
    rows = np.array([[a, b, 5 - a - b] for a in range(6) for b in range(6 - a)])
    assert np.exp(model.score_samples(rows)).sum() == pytest.approx(1.0, abs=1e-10)


def test_it_is_the_mixture_of_students_that_the_documentation_says() -> None:
    """One cluster of known points under a given prior, in closed form."""
    family = Gaussian(mean=[0.0], mean_strength=0.5, cov=[2.0], cov_strength=3.0)
    X = np.array([[0.2], [-1.0], [0.4], [1.1], [0.3]])
    model = ScStream(family, alpha=1.5, random_state=0, splits=False)
    model.fit(X, labels=np.zeros(5, int))
    assert model.n_clusters_ == 1
    n, mean = 5, X.mean()
    kappa, nu = 0.5 + n, 3.0 + n
    centre = n * mean / kappa
    scatter = 3.0 * 2.0 + ((X - mean) ** 2).sum() + 0.5 * n / kappa * mean**2
    at = np.linspace(-5, 5, 11)
    scale = np.sqrt(scatter * (kappa + 1) / (kappa * nu))
    cluster = stats.t.pdf(at, nu, centre, scale)
    unborn = stats.t.pdf(at, 3.0, 0.0, np.sqrt(6.0 * 1.5 / (0.5 * 3.0)))
    right = np.log(n / (n + 1.5) * cluster + 1.5 / (n + 1.5) * unborn)
    np.testing.assert_allclose(model.score_samples(at[:, None]), right, rtol=1e-10)


def test_the_score_is_the_mean() -> None:
    X, _ = blobs(100, 0)
    model = ScStream(random_state=0).fit(X)
    assert model.score(X) == pytest.approx(model.score_samples(X).mean())
    assert isinstance(model.score(X), float)
