"""The directional family: its integral, densities that come to 1, draws on the sphere."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats
from scipy.special import gammaln, logsumexp

from scstream import ScStream
from scstream.families import Directional
from scstream.families.directional import draw_directions, log_integral

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("d", [2, 3, 5, 16, 25, 26, 27, 60, 200])
def test_the_integral_over_the_sphere_is_that_of_its_slices(d):
    """Orders of Bessel functions on either side of where they are expanded."""
    for r in (0.0, 1e-5, 0.3, 2.0, 30.0, 300.0):

        def slices(angle, r=r):
            return np.exp(r * (np.cos(angle) - 1.0)) * np.sin(angle) ** (d - 2)

        whole = integrate.quad(slices, 0, np.pi, epsabs=0, epsrel=1e-11, limit=500)[0]
        area = log_integral(0.0, d - 1) if d > 2 else np.log(2.0)
        assert_allclose(log_integral(r, d), area + np.log(whole) + r, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("d", [26, 64, 384, 3072])
def test_expansions_are_as_exact_as_sums_of_the_series(d):
    v = 0.5 * d - 1.0
    for r in (0.1 * d, d, 5.0 * d):
        i = np.arange(20_000)
        terms = 2.0 * i * np.log(0.5 * r) - gammaln(i + 1.0) - gammaln(i + v + 1.0)
        exact = 0.5 * d * np.log(2.0 * np.pi) - v * np.log(2.0) + logsumexp(terms)
        assert_allclose(log_integral(r, d), exact, rtol=1e-11, atol=1e-9)


def test_marginals_are_ratios_of_normalisers():
    rng = np.random.default_rng(2)
    family = Directional(30.0, mean_strength=0.3).prepare(
        Directional().check(rng.normal(size=(50, 9)))
    )
    s = np.concatenate([[[5.0]] * 4, rng.normal(size=(4, 9))], axis=1)
    expected = family.log_partition(family.prior + s) - family.log_partition(family.prior)
    assert_allclose(family.log_marginal(s), expected, rtol=1e-12)


def test_predictives_integrate_to_one_on_the_circle():
    angle = np.linspace(0, 2 * np.pi, 4000, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    family = Directional(concentration=9.0).prepare(circle[:40])
    T = family.statistics(circle[:40])
    s = np.stack([T.sum(axis=0), 0.1 * T[0], 0.0 * T[0]])
    density = np.exp(family.log_predictive(circle, s))
    assert_allclose(density.mean(axis=0) * 2 * np.pi, 1.0, rtol=1e-9)


@pytest.mark.parametrize("d", [2, 3, 10, 100])
@pytest.mark.parametrize("kappa", [0.0, 0.5, 20.0, 500.0])
def test_draws_have_the_mean_and_the_length_they_should(d, kappa):
    centre = np.tile(np.eye(d)[0], (20_000, 1))
    x = draw_directions(RNG, centre, np.full(20_000, kappa))
    assert_allclose((x * x).sum(axis=1), 1.0, rtol=1e-12)
    step = 1e-4 * max(kappa, 1.0)
    low, high = log_integral(np.array([abs(kappa - step), kappa + step]), d)
    expected = float(high - low) / (2 * step) if kappa > 0 else 0.0
    error = x.std(axis=0) / np.sqrt(len(x))
    limit = stats.norm.isf(1e-9 / d)
    assert abs(x[:, 0].mean() - expected) < limit * error[0] + 1e-6
    assert np.all(np.abs(x[:, 1:].mean(axis=0)) < limit * error[1:])


def test_only_directions_count():
    X = RNG.normal(size=(60, 5)) + 3.0 * np.eye(5)[RNG.integers(2, size=60)]
    length = RNG.uniform(0.1, 100.0, (60, 1))
    one, other = (ScStream("directional", random_state=0).fit(Z) for Z in (X, length * X))
    np.testing.assert_array_equal(one.labels_, other.labels_)
    for cluster in one.clusters_:
        assert np.linalg.norm(cluster.mean) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("family", "X", "match"),
    [
        (Directional(), np.array([[1.0, 0.0], [0.0, 0.0]]), "Row 1 is all zeros"),
        (Directional(), np.ones((3, 1)), "at least two columns"),
        (Directional(concentration=0.0), np.eye(3), "concentration must be positive"),
        (Directional(mean=[0.0, 0.0, 0.0]), np.eye(3), "mean must be a direction"),
        (Directional(mean=[1.0, 0.0]), np.eye(3), "mean must be a direction of 3"),
        (Directional(mean_strength=np.inf), np.eye(3), "mean_strength must be positive"),
    ],
)
def test_what_has_no_direction_is_refused(family, X, match):
    with pytest.raises(ValueError, match=match):
        ScStream(family).fit(X)
