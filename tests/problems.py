"""Small problems on which contracts are tested: at least one for every registered family.

A family that joins the package is found by its registration, and tried on its `examples`.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
import reference
from scipy import sparse, special

from examples import example
from scstream.engines import CpuEngine
from scstream.families import BY_NAME, Family, Gaussian, Multinomial, Product
from scstream.sampler.context import Context


@dataclass(frozen=True, repr=False)
class Problem:
    """A family that knows its prior, and two groups of points that differ."""

    raw: Family
    family: Family
    prior: reference.NormalInverseWishart | reference.Dirichlet | None
    groups: tuple[np.ndarray, np.ndarray]

    def open(self) -> Family:
        """Return the family as one makes it who leaves all hyper-parameters open."""
        kind = type(self.raw)
        return kind(self.raw.blocks) if kind is Product else kind()

    @property
    def X(self) -> np.ndarray:
        return np.concatenate(self.groups)

    @property
    def points(self):
        return self.family.check(self.X)

    @property
    def T(self) -> np.ndarray:
        return dense(self.family.statistics(self.points))

    def context(self, alpha: float) -> Context:
        """Return what ratios are computed with; there is no batch."""
        rng = np.random.default_rng(0)
        return Context(self.family, CpuEngine(), rng, alpha, 1, 0)

    def sums(self) -> np.ndarray:
        """Statistics (2, p) of the two groups."""
        groups = (self.family.check(group) for group in self.groups)
        return np.stack([dense(self.family.statistics(group)).sum(axis=0) for group in groups])


class PlainPoisson(Family):
    """Counts with a Gamma prior: the abstract methods alone, so that all else is the default."""

    name = "plain-poisson"

    def __init__(self, shape=1.0, rate=1.0):
        self.shape, self.rate = shape, rate

    def statistics(self, X):
        return np.column_stack([np.ones(len(X)), X[:, 0]])

    def log_base(self, X):
        return -special.gammaln(X[:, 0] + 1.0)

    @property
    def prior(self):
        return np.array([self.rate, self.shape])

    def log_partition(self, tau):
        return special.gammaln(tau[..., 1]) - tau[..., 1] * np.log(tau[..., 0])

    def draw(self, rng, tau):
        rate = rng.gamma(tau[:, 1], 1.0 / tau[:, 0])
        return np.column_stack([-rate, np.log(rate)])


def dense(T) -> np.ndarray:
    return T.toarray() if sparse.issparse(T) else np.asarray(T)


def reference_prior(family: Family):
    """Return the prior as the plain version knows it, in the user's units."""
    prior = family.hyperparameters()
    if isinstance(family, Gaussian):
        nu = prior["cov_strength"]
        return reference.NormalInverseWishart(
            prior["mean"], prior["mean_strength"], nu * prior["cov"], nu
        )
    if isinstance(family, Multinomial):
        return reference.Dirichlet(prior["concentration"])
    return None


def frame(family: Gaussian, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return shift and scale of the frame in which a Gaussian family computes."""
    origin, units = family.embed(np.zeros((1, d))), family.embed(np.eye(d))
    scale = 1.0 / np.diagonal(units - origin)
    return -origin[0] * scale, scale


def gaussian_parameters(family: Gaussian, eta: np.ndarray, d: int):
    """Return means (k, d) and covariances (k, d, d), in the user's units, of what was drawn."""
    row, col = np.triu_indices(d)
    precision = np.zeros((len(eta), d, d))
    precision[:, row, col] = precision[:, col, row] = -eta[:, 1 + d :]
    precision[:, np.arange(d), np.arange(d)] *= 2.0
    cov = np.linalg.inv(precision)
    mean = (cov @ eta[:, 1 : 1 + d, None])[..., 0]
    shift, scale = frame(family, d)
    return mean * scale + shift, cov * np.outer(scale, scale)


def reference_parameters(family: Family, eta: np.ndarray, d: int):
    """Return the density of the reference, and its parameters for each row of drawn ones."""
    if isinstance(family, Gaussian):
        return reference.log_normal, list(zip(*gaussian_parameters(family, eta, d), strict=True))
    return reference.log_multinomial, [(p,) for p in np.exp(eta[:, 1:])]


def _normals(d: int, seed: int, shift=0.0, scale=1.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    mix = rng.normal(size=(d, d)) / np.sqrt(d) + np.eye(d)
    a, b = rng.normal(size=(12, d)) @ mix, rng.normal(size=(18, d)) @ mix + 6.0
    return a * scale + shift, b * scale + shift


def _counts(p, q, trials: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    n = rng.poisson(trials, 30)
    return rng.multinomial(n[:12], p).astype(float), rng.multinomial(n[12:], q).astype(float)


def _poissons() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(8)
    a, b = rng.poisson(3.0, (12, 1)), rng.poisson(30.0, (18, 1))
    return a.astype(float), b.astype(float)


def _mixed() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(11)
    parts = [example(name, rng) for name in ("gaussian", "poisson", "categorical")]
    a, b = (np.concatenate(side, axis=1) for side in zip(*parts, strict=True))
    counts = _poissons()
    return np.concatenate([a, counts[0]], axis=1), np.concatenate([b, counts[1]], axis=1)


_FOUR = [0.1, 0.2, 0.3, 0.4]
_EIGHT = np.arange(1.0, 9.0) / 36.0
_GIVEN = Gaussian(
    mean=[1.0, -2.0], mean_strength=0.5, cov=[[2.0, 0.7], [0.7, 1.5]], cov_strength=4.5
)

_MAKE = {
    "gaussian-1d": lambda: (
        Gaussian(mean=1.0, mean_strength=0.3, cov=2.0, cov_strength=3.0),
        _normals(1, 1),
    ),
    "gaussian-2d": lambda: (_GIVEN, _normals(2, 2)),
    "gaussian-3d-default": lambda: (
        Gaussian(),
        _normals(3, 3, np.array([3.0, -40.0, 0.0]), np.array([0.01, 50.0, 1.0])),
    ),
    "gaussian-5d-weak": lambda: (Gaussian(cov=0.5, cov_strength=4.5), _normals(5, 4)),
    "multinomial-4": lambda: (
        Multinomial([0.5, 1.0, 2.0, 0.1]),
        _counts(_FOUR, _FOUR[::-1], 20, 5),
    ),
    "multinomial-8-default": lambda: (Multinomial(), _counts(_EIGHT, _EIGHT[::-1], 40, 6)),
    "multinomial-2-deep": lambda: (Multinomial(0.01), _counts([0.2, 0.8], [0.9, 0.1], 90, 7)),
    "plain-poisson": lambda: (PlainPoisson(2.0, 0.5), _poissons()),
    "product": lambda: (
        Product(
            [
                ("gaussian", [0, 1]),
                ("poisson", [2, 3]),
                ("categorical", range(4, 14)),
                (PlainPoisson(2.0, 0.5), [14]),
            ]
        ),
        _mixed(),
    ),
}
REFERENCED = [name for name in _MAKE if name.startswith(("gaussian", "multinomial"))]
_MAKE |= {
    f"{name}-example": lambda name=name, kind=kind: (kind(), example(name))
    for name, kind in BY_NAME.items()
}
PROBLEMS = list(_MAKE)


@cache
def problem(name: str) -> Problem:
    raw, groups = _MAKE[name]()
    X = np.concatenate(groups)
    family = raw.meet(X, None)
    family = family.prepare(family.check(X))
    return Problem(raw, family, reference_prior(family), groups)
