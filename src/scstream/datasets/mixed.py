"""Streams of tables with columns of several kinds, and with missing entries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.special import gammaln, xlogy

from scstream.datasets._checks import RandomState, check_choice, check_count, check_real
from scstream.datasets.base import Floats, Ints, Mixture, Stream
from scstream.datasets.course import Course, Drift, Weights

_BOX = 20.0  # over which normal means are spread at first
_DEVIATIONS = (0.5, 1.5)  # of a normal column within a cluster
_LOGS = 4.0  # over which logs of other means are spread at first
_SHAPE = 4.0  # of gamma durations
_CATEGORIES = 6


@dataclass(frozen=True)
class _Kind:
    """How columns of a kind come about; parameters are (k, columns, q), entries (n, columns)."""

    start: Callable[[np.random.Generator, int, int, float], Floats]
    move: Callable[[np.random.Generator, Floats, float, float], Floats]
    draw: Callable[[np.random.Generator, Floats], Floats]
    log_density: Callable[[Floats, Floats], Floats]


def _normal_start(rng: np.random.Generator, k: int, d: int, apart: float) -> Floats:
    mean = _BOX * apart * rng.uniform(-0.5, 0.5, (k, d))
    return np.stack([mean, rng.uniform(*_DEVIATIONS, (k, d))], axis=-1)


def _round_start(rng: np.random.Generator, k: int, d: int, apart: float) -> Floats:
    out = _normal_start(rng, k, d, apart)
    out[..., 1] = out[:, :1, 1]
    return out


def _normal_move(rng: np.random.Generator, old: Floats, apart: float, speed: float) -> Floats:
    new = old.copy()
    new[..., 0] += 0.125 * _BOX * apart * speed * rng.standard_normal(old.shape[:2])
    return new


def _normal_draw(rng: np.random.Generator, at: Floats) -> Floats:
    return rng.normal(at[..., 0], at[..., 1])


def _normal_density(x: Floats, at: Floats) -> Floats:
    z = (x - at[..., 0]) / at[..., 1]
    out: Floats = -0.5 * z * z - np.log(at[..., 1]) - 0.5 * np.log(2.0 * np.pi)
    return out


def _positive_start(low: float) -> Callable[[np.random.Generator, int, int, float], Floats]:
    """Return a draw of means, evenly spread over their logs."""

    def start(rng: np.random.Generator, k: int, d: int, apart: float) -> Floats:
        return low * np.exp(_LOGS * apart * rng.uniform(size=(k, d, 1)))

    return start


def _positive_move(rng: np.random.Generator, old: Floats, apart: float, speed: float) -> Floats:
    return old * np.exp(0.125 * _LOGS * apart * speed * rng.standard_normal(old.shape))


def _poisson_density(x: Floats, at: Floats) -> Floats:
    out: Floats = xlogy(x, at[..., 0]) - at[..., 0] - gammaln(x + 1.0)
    return out


def _gamma_density(shape: float) -> Callable[[Floats, Floats], Floats]:
    def density(x: Floats, at: Floats) -> Floats:
        rate = shape / at[..., 0]
        out: Floats = shape * np.log(rate) + (shape - 1.0) * np.log(x) - rate * x - gammaln(shape)
        return out

    return density


def _shares_start(q: int) -> Callable[[np.random.Generator, int, int, float], Floats]:
    def start(rng: np.random.Generator, k: int, d: int, apart: float) -> Floats:
        shares: Floats = rng.dirichlet(np.full(q, 0.8 / (q * apart)), (k, d))
        return 0.95 * shares + 0.05 / q

    return start


def _shares_move(rng: np.random.Generator, old: Floats, apart: float, speed: float) -> Floats:
    new = _shares_start(old.shape[2])(rng, old.shape[0], old.shape[1], apart)
    share = min(0.5 * speed, 1.0)
    return (1.0 - share) * old + share * new


def _shares_draw(rng: np.random.Generator, at: Floats) -> Floats:
    u = rng.random(at.shape[:2])
    code: Ints = (u[..., None] > np.cumsum(at, axis=-1)[..., :-1]).sum(axis=-1)
    return code.astype(np.float64)


def _shares_density(x: Floats, at: Floats) -> Floats:
    code = np.broadcast_to(x.astype(np.int64), at.shape[:-1])
    return np.log(np.take_along_axis(at, code[..., None], axis=-1)[..., 0])


_KINDS: dict[str, _Kind] = {
    "diagonal": _Kind(_normal_start, _normal_move, _normal_draw, _normal_density),
    "spherical": _Kind(_round_start, _normal_move, _normal_draw, _normal_density),
    "poisson": _Kind(
        _positive_start(0.7),
        _positive_move,
        lambda rng, at: rng.poisson(at[..., 0]).astype(np.float64),
        _poisson_density,
    ),
    "gamma": _Kind(
        _positive_start(2.0),
        _positive_move,
        lambda rng, at: rng.gamma(_SHAPE, at[..., 0] / _SHAPE),
        _gamma_density(_SHAPE),
    ),
    "exponential": _Kind(
        _positive_start(2.0),
        _positive_move,
        lambda rng, at: rng.exponential(at[..., 0]),
        _gamma_density(1.0),
    ),
    "bernoulli": _Kind(_shares_start(2), _shares_move, _shares_draw, _shares_density),
    "categorical": _Kind(_shares_start(_CATEGORIES), _shares_move, _shares_draw, _shares_density),
}


@dataclass(frozen=True, eq=False)
class TableMixture(Mixture):
    """A true mixture of ``c`` components over independent columns of several kinds.

    Parameters
    ----------
    weights : ndarray of shape (c,)
    clusters : ndarray of shape (c,)
    parameters : mapping
        For each kind its columns' parameters, shape (c, columns, q).
    missing : float
        Share of the entries that are not observed.
    """

    parameters: Mapping[str, Floats] = field(repr=False)
    missing: float

    @cached_property
    def columns(self) -> dict[str, list[int]]:
        """The numbers of the columns of each kind, as `scstream.Product` takes them."""
        out: dict[str, list[int]] = {}
        for kind, values in self.parameters.items():
            first = sum(map(len, out.values()))
            out[kind] = list(range(first, first + values.shape[1]))
        return out

    def draw(self, components: Ints, rng: np.random.Generator) -> Floats:
        """Draw one row from each of the given components, shape (n,) -> (n, d)."""
        X = np.concatenate(
            [_KINDS[kind].draw(rng, at[components]) for kind, at in self.parameters.items()], axis=1
        )
        X[rng.random(X.shape) < self.missing] = np.nan
        return X

    def log_density(self, X: Floats) -> Floats:
        """Log density of what is observed of rows (n, d) under each component, shape (n, c)."""
        out = np.zeros((X.shape[0], self.weights.size))
        seen = ~np.isnan(X)
        filled = np.where(seen, X, 1.0)
        for kind, columns in self.columns.items():
            for c, at in enumerate(self.parameters[kind]):
                shape = (X.shape[0], *at.shape)
                each = _KINDS[kind].log_density(filled[:, columns], np.broadcast_to(at, shape))
                out[:, c] += (each * seen[:, columns]).sum(axis=1)
        return out


def mixed_stream(
    columns: Mapping[str, int],
    n_batches: int = 60,
    batch_size: int = 1000,
    n_clusters: int = 10,
    *,
    missing: float = 0.0,
    drift: Drift = "incremental",
    births: float = 0.0,
    apart: float = 1.0,
    speed: float = 1.0,
    weights: Weights = "uniform",
    random_state: RandomState = None,
) -> Stream:
    """Return a stream of tables whose clusters drift, are born and die.

    Within a cluster the columns are independent.

    Parameters
    ----------
    columns : mapping
        How many columns of each kind there are. Kinds have the names of the families:
        ``"diagonal"`` (normal), ``"spherical"`` (normal, one variance in a cluster),
        ``"poisson"``, ``"gamma"`` (of shape 4), ``"exponential"``, ``"bernoulli"`` and
        ``"categorical"`` (codes of six categories). They come in this order.
    missing : float
        Share of the entries, in [0, 1), that are missing (NaN), at random.
    apart : float
        How far apart clusters are.
    speed : float
        How far clusters move; 0 not at all.
    n_batches, batch_size, n_clusters, drift, births, weights, random_state
        As in :func:`scstream.datasets.gaussian_stream`.

    Returns
    -------
    Stream
        Of batches with ``X`` of shape (batch_size, d), categories as codes.

    Examples
    --------
    >>> from scstream.datasets import mixed_stream
    >>> stream = mixed_stream({"diagonal": 2, "poisson": 1}, 3, 500, missing=0.1, random_state=0)
    >>> stream[0].X.shape, stream[0].truth.columns
    ((500, 3), {'diagonal': [0, 1], 'poisson': [2]})
    """
    sizes = {}
    for kind, number in dict(columns).items():
        check_choice("a kind of columns", kind, tuple(_KINDS))
        sizes[kind] = check_count(f"columns[{kind!r}]", number)
    if not sizes:
        raise ValueError("columns must name at least one kind, such as {'poisson': 3}")
    course = Course(n_batches, batch_size, n_clusters, drift, births, weights, random_state)
    missing = check_real("missing", missing, most=0.99)
    apart = check_real("apart", apart, strict=True)
    speed = check_real("speed", speed)
    anchors: dict[str, Floats] = {}
    for kind, number in sizes.items():
        way = [_KINDS[kind].start(course.place, course.n_clusters, number, apart)]
        for _ in range(course.n_steps):
            way.append(_KINDS[kind].move(course.move, way[-1], apart, speed))
        anchors[kind] = np.stack(way)

    def made(share: Floats, clusters: Ints, coefficients: Floats) -> TableMixture:
        parameters = {
            kind: np.einsum("ca,ac...->c...", coefficients, way[:, clusters])
            for kind, way in anchors.items()
        }
        return TableMixture(share, clusters, parameters, missing)

    return course.stream(made, sum(sizes.values()))
