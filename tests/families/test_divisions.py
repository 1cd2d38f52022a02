"""How a past is divided: discriminants, their spread over a past, and the parts, written out.

The groups are close together and of unequal sizes: there odds and variances show.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import PROBLEMS, dense, problem
from scipy import special, stats

from scstream.families import BY_NAME, Family, Gamma, Product
from scstream.families.heavy_tails import HeavyTailed

SIZES = 25, 70


def near_groups(name: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of two groups that overlap, 25 and 70 of them."""
    rng = np.random.default_rng(seed)
    p = np.array([0.4, 0.3, 0.2, 0.1])
    make = {
        "gaussian": lambda n, side: rng.normal([1.2 * side, 3.0], [1.0, 2.0], (n, 2)),
        "diagonal": lambda n, side: rng.normal([1.2 * side, 3.0], [1.0, 2.0], (n, 2)),
        "spherical": lambda n, side: rng.normal([1.2 * side, 3.0], 1.0, (n, 2)),
        "student": lambda n, side: rng.normal([1.2 * side, 3.0], [1.0, 2.0], (n, 2)),
        "diagonal-student": lambda n, side: rng.normal([1.2 * side, 3.0], [1.0, 2.0], (n, 2)),
        "directional": lambda n, side: rng.normal([3.0, side, 1.0], 1.0, (n, 3)),
        "multinomial": lambda n, side: rng.multinomial(9, p if side else p[[1, 0, 3, 2]], n),
        "poisson": lambda n, side: rng.poisson([4.0 + 2.0 * side, 3.0], (n, 2)),
        "negative-binomial": lambda n, side: rng.poisson(
            rng.gamma(2.0, [2.0 + 2.0 * side, 1.5], (n, 2))
        ),
        "bernoulli": lambda n, side: rng.random((n, 3)) < [0.2 + 0.6 * side, 0.5, 0.2],
        "categorical": lambda n, side: rng.choice(4, (n, 2), p=p if side else p[[1, 0, 3, 2]]),
        "one-hot": lambda n, side: np.eye(3)[
            rng.choice(3, n, p=[[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]][side])
        ],
        "composition": lambda n, side: rng.dirichlet([9.0, 6.0 + 4.0 * side, 4.0], n),
        "count-shares": lambda n, side: rng.poisson([90.0, 60.0 + 40.0 * side, 40.0], (n, 3)),
        "gamma": lambda n, side: rng.gamma(3.0, [1.0 + 0.7 * side, 2.0], (n, 2)),
        "exponential": lambda n, side: rng.gamma(1.0, [1.0 + side, 2.0], (n, 2)),
        "hurdle": lambda n, side: (
            rng.gamma(3.0, [1.0 + 0.7 * side, 2.0], (n, 2)) * (rng.random((n, 2)) < 0.6)
        ),
    }[name]
    return tuple(np.asarray(make(n, side), float) for side, n in enumerate(SIZES))


def made(name: str) -> Family:
    """Return a family whose prior hardly counts; the gamma's shape is not 1, which would hide."""
    return Gamma(shape=3.0) if name == "gamma" else BY_NAME[name]()


def learned(name: str, raw: Family | None = None):
    """Return a prepared family, statistics of single rows, and those (1, p) of the groups."""
    groups = near_groups(name)
    X = np.concatenate(groups)
    family = (made(name) if raw is None else raw).meet(X, None)
    family = family.prepare(family.check(X))
    T = dense(family.statistics(family.check(X)))
    return family, T, T[: SIZES[0]].sum(axis=0)[None], T[SIZES[0] :].sum(axis=0)[None]


def values(family: Family, T: np.ndarray, discriminant) -> np.ndarray:
    """Return the discriminant at each row: its mean over that one."""
    return family.division.project(T[:, None], discriminant).mean[:, 0]


# -- discriminants -------------------------------------------------------------------------------


def log_ratio(name: str, family: Family, X: np.ndarray, first, second) -> np.ndarray:
    """Return the log ratio of the groups' densities, each with its expected parameters."""
    a, b = (family.prior + s for s in (first, second))
    d = X.shape[1]
    name = {"student": "gaussian", "diagonal-student": "diagonal"}.get(name, name)
    if name in ("gaussian", "diagonal", "spherical"):  # one covariance for both, weighed by points
        Z = (X - family.frame[0]) / family.frame[1]
        p, q = family.posterior(a), family.posterior(b)
        scatter, nu = p.scatter + q.scatter, p.nu + q.nu
        cov = scatter[0] / nu[0] if name == "gaussian" else np.diag(scatter[0] / nu[0])
        p, q = (stats.multivariate_normal(m[0], cov).logpdf(Z) for m in (p.mean, q.mean))
        return q - p
    if name in ("hurdle", "one-hot", "composition", "count-shares"):  # parts of a row
        groups = family._divided(first), family._divided(second)
        parts = zip(family._families, family._columns, *groups, strict=True)
        return np.sum([log_ratio(f.name, f, X[:, c], *sums) for f, c, *sums in parts], axis=0)
    if name == "multinomial":
        p, q = (tau[0, 1:] / tau[0, 1:].sum() for tau in (a, b))
        return X @ (np.log(q) - np.log(p))
    if name == "directional":
        p, q = (tau[0, 1:] / np.linalg.norm(tau[0, 1:]) for tau in (a, b))
        return family.hyperparameters()["concentration"] * X @ (q - p)
    if name == "categorical":
        shares = [family.describe(tau)["probabilities"][0] for tau in (a, b)]
        ratio = (np.log(shares[1]) - np.log(shares[0])).reshape(d, -1)
        return ratio[np.arange(d), X.astype(int)].sum(axis=1)
    count, x = ([tau[0, 1 + i * d : 1 + (i + 1) * d] for tau in (a, b)] for i in (0, 1))
    level = [s / n for s, n in zip(x, count, strict=True)]
    if name == "poisson":
        return (stats.poisson.logpmf(X, level[1]) - stats.poisson.logpmf(X, level[0])).sum(axis=1)
    if name == "negative-binomial":
        r = 1.0 / family.hyperparameters()["dispersion"]
        each = [stats.nbinom.logpmf(X, r, r / (r + m)) for m in level]
        return (each[1] - each[0]).sum(axis=1)
    if name == "bernoulli":
        p, q = level
        return (stats.bernoulli.logpmf(X, q) - stats.bernoulli.logpmf(X, p)).sum(axis=1)
    shape = family.hyperparameters().get("shape", 1.0)  # of gamma and exponential
    unit = np.median(X, axis=0)
    each = [stats.gamma.logpdf(X / unit, shape, scale=m / shape) for m in level]
    return (each[1] - each[0]).sum(axis=1)


@pytest.mark.parametrize("name", BY_NAME)
def test_a_discriminant_is_the_log_ratio_of_the_groups_densities(name):
    """Sizes do not count: ratios of groups of 25 and of 70 rows, as of equal ones."""
    family, T, first, second = learned(name)
    X = dense(family.check(np.concatenate(near_groups(name))))
    whole = ~np.isnan(X).any(axis=1)  # not all amounts are there
    got = values(family, T, family.division.discriminant(first, second))[whole]
    assert_allclose(got, log_ratio(name, family, X[whole], first, second), rtol=1e-7, atol=1e-7)
    assert np.std(got) > 0.2


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_mean_over_a_past_is_that_of_its_points(name):
    case = problem(name)
    rows = ~np.isnan(dense(case.points)).any(axis=1)  # else means are those of what is observed
    T, s = case.T[rows], case.sums()
    cut = case.family.division.discriminant(s[:1], s[1:])
    past = T.sum(axis=0)[None]
    expected = values(case.family, T, cut).mean()
    assert_allclose(case.family.division.project(past, cut).mean, expected, rtol=1e-9, atol=1e-9)


# -- variances -----------------------------------------------------------------------------------


def one_column_variance(name: str, family: Family, x: np.ndarray, normal: float) -> float:
    """Return the variance that a family assigns to ``normal x`` over rows."""
    mean, n = x.mean(), len(x)
    share = (x.sum() + 0.5) / (n + 1.0)
    shape = np.ravel(family.hyperparameters().get("shape", 1.0))[0]
    wide = np.ravel(family.hyperparameters().get("dispersion", 0.0))[0]
    return (
        normal**2
        * {
            "gaussian": x.var(),
            "diagonal": x.var(),
            "spherical": x.var(),
            "poisson": mean,
            "negative-binomial": mean + wide * mean**2,
            "bernoulli": share * (1.0 - share),
            "gamma": mean**2 / shape,
            "exponential": mean**2,
        }[name]
    )


@pytest.mark.parametrize(
    "name",
    ["gaussian", "diagonal", "spherical", "poisson", "negative-binomial", "bernoulli", "gamma",
     "exponential"],
)  # fmt: skip
def test_the_variance_over_a_past_is_that_of_the_familys_rows(name):
    # broken on purpose (the gamma's spread without its shape): it fails
    x = np.concatenate(near_groups(name))[:, :1]
    family = made(name).prepare(x)
    T = family.statistics(x)
    first, second, past = T[:25].sum(axis=0)[None], T[25:].sum(axis=0)[None], T[10:].sum(axis=0)
    normal, _ = family.division.discriminant(first, second)
    z = x / np.median(x) if name in ("gamma", "exponential") else family.embed(x)
    z = x if name in ("poisson", "negative-binomial", "bernoulli") else z
    expected = one_column_variance(name, family, z[10:], normal[0, 0])
    got = family.division.project(past[None], family.division.discriminant(first, second)).variance
    assert_allclose(got, expected, rtol=1e-9)


# -- parts ---------------------------------------------------------------------------------------


def expected_share(odds, mean, variance) -> np.ndarray:
    return special.ndtr(np.clip((odds - mean) / np.sqrt(variance), -6.0, 6.0))


@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.parametrize("turned", [False, True])
def test_the_share_of_a_past_is_what_lies_below_the_odds(name, turned):
    # broken on purpose (the odds left out, or counted twice): it fails
    family, T, *groups = learned(name)
    first, second = groups[::-1] if turned else groups
    past = np.stack([T.sum(axis=0)[None], 0.1 * T[5:40].sum(axis=0)[None]])
    part = family.division.divide(past, family.division.boundary(first, second))
    mean, variance = family.division.project(past, family.division.discriminant(first, second))
    n = first[0, 0], second[0, 0]
    odds = np.log((n[0] + 0.5) / (n[1] + 0.5))
    assert abs(odds) > 0.9
    share = part[..., 0] / past[..., 0]
    assert_allclose(share, expected_share(odds, mean, variance), rtol=1e-9)
    assert np.all((share > 0.05) & (share < 0.95))


@pytest.mark.parametrize("name", [name for name in BY_NAME if name not in ("gaussian", "student")])
def test_groups_that_do_not_differ_share_the_past_by_their_counts(name):
    """The Gaussian's compiled division halves such a past, which is tested with the kernels."""
    family, T, _, _ = learned(name)
    whole = T.sum(axis=0)[None]
    past = T[:40].sum(axis=0)[None]
    level = family.division.project(past, family.division.discriminant(whole, whole))
    assert_allclose(level, 0.0, atol=1e-9)
    boundary = family.division.boundary(whole, whole)._replace(log_odds=np.log([3.0]))
    assert_allclose(family.division.divide(past, boundary), 0.75 * past, rtol=1e-9)


# -- products ------------------------------------------------------------------------------------


OTHERS = [n for n, kind in BY_NAME.items() if n != "gaussian" and not issubclass(kind, HeavyTailed)]


@pytest.mark.parametrize("other", OTHERS)
def test_blocks_are_cut_along_the_sum_of_their_discriminants(other):
    blocks = near_groups("gaussian"), near_groups(other, seed=1)
    X = np.concatenate([np.concatenate(groups) for groups in blocks], axis=1)
    family = Product([("gaussian", [0, 1]), (made(other), range(2, X.shape[1]))]).meet(X, None)
    points = family.check(X)
    family = family.prepare(points)
    T = dense(family.statistics(points))
    first, second = T[:25].sum(axis=0)[None], T[25:].sum(axis=0)[None]
    past = T[10:].sum(axis=0)[None]
    mean = variance = 0.0
    for block in family.independent_blocks(X.shape[1]):
        own, *sums = map(block.statistics, (past, first, second))
        projection = block.family.division.project(own, block.family.division.discriminant(*sums))
        mean, variance = mean + projection.mean, variance + projection.variance
    odds = np.log(25.5 / 70.5)
    share = family.division.divide(past, family.division.boundary(first, second))[:, 0] / past[:, 0]
    assert_allclose(share, expected_share(odds, mean, variance), rtol=1e-9)
