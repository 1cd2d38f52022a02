"""Tests of the contract for any family, a user's too."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from scstream.families.contract import Array, Family
from scstream.families.scale_mixture import RowWeights
from scstream.families.scores import GenericScore, Points, to_dense

_SURE = 6.0  # standard errors that a right program exceeds one time in 500 million
_DRAWS = 20_000
_CLOSE = 1e-8  # relative error of what should be equal


@dataclass(frozen=True)
class _Trial:
    """What the rules look at: a prepared family, rows, and statistics of groups of them."""

    rows: Any  # as they came
    family: Family
    points: Points
    T: Array
    groups: Array  # (5, p): one point, a third, the rest, all, and nothing
    rng: np.random.Generator

    def fail(self, message: str) -> AssertionError:
        return AssertionError(f"family {self.family.name!r}: {message}")

    def equal(self, got: Any, expected: Any, message: str) -> None:
        got, expected = np.asarray(got, dtype=float), np.asarray(expected, dtype=float)
        if got.shape != expected.shape:
            raise self.fail(f"{message}: the shape is {got.shape}, not {expected.shape}.")
        off = np.abs(got - expected) / (1.0 + np.abs(expected))
        if not np.all(off <= _CLOSE):  # NaN is not
            at = np.unravel_index(int(np.argmax(np.where(np.isnan(off), np.inf, off))), off.shape)
            raise self.fail(
                f"{message}: it is {got[at]:.10g} where {expected[at]:.10g} was expected."
            )


def check_family(
    family: Family, X: Any, *, support: tuple[Any, Any] | None = None, random_state: int = 0
) -> tuple[str, ...]:
    """Test whether what a family says of itself fits together.

    Parameters
    ----------
    family : Family
        As a user makes it, with its prior or without.
    X : array-like (n, d)
        At least ten rows for it, of more than one kind.
    support : pair of array-like (m, d) and (m,), optional
        All rows that are possible and their weights, or a grid of them with the cells' volumes:
        densities are then summed over it and must come to 1.
    random_state : int
        Seeds the draws.

    Returns
    -------
    tuple of str
        The rules that hold, which is all of them.

    Raises
    ------
    AssertionError
        For the first rule that does not hold, with what was found.

    Examples
    --------
    >>> from scstream.families import Poisson, check_family
    >>> X = np.random.default_rng(0).poisson([[3.0]] * 12 + [[30.0]] * 18)
    >>> check_family(Poisson(), X)[:3]
    ('statistics', 'marginal', 'predictive')
    """
    rng = np.random.default_rng(random_state)
    met = family.meet(X, None)
    points = met.check(X)
    n = points.shape[0]
    if n < 10:
        raise ValueError(f"check_family needs at least ten rows; got {n}.")
    prepared = met.prepare(points)
    T = to_dense(prepared.statistics(points))
    third = n // 3
    groups = np.stack([T[0], T[:third].sum(0), T[third:].sum(0), T.sum(0), 0.0 * T[0]])
    trial = _Trial(X, prepared, points, T, groups, rng)
    for rule in _RULES.values():
        rule(trial)
    if support is not None:
        _densities(trial, support)
    return tuple(_RULES)


def _statistics(t: _Trial) -> None:
    """Check that statistics are of single rows and count them."""
    f, p = t.family, len(t.family.prior)
    if t.T.shape != (t.points.shape[0], p):
        raise t.fail(f"statistics must be (n, p) with p the prior's length {p}, not {t.T.shape}.")
    t.equal(t.T[:, 0], np.ones(len(t.T)), "the first column of the statistics must be 1")
    if not np.all(np.isfinite(t.T)):
        raise t.fail("statistics must be finite.")
    some = np.array([7, 0, 3])
    again = to_dense(f.statistics(t.points[some]))
    t.equal(again, t.T[some], "statistics of a row must not depend on the other rows")
    base = f.log_base(t.points)
    t.equal(f.log_base(t.points[some]), base[some], "log_base of a row must depend on it alone")
    none = to_dense(f.statistics(t.points[:0]))
    t.equal(none, np.zeros((0, p)), "statistics of no rows must be (0, p)")


def _marginal(t: _Trial) -> None:
    """Check that the marginal is a ratio of partitions, and finite for decayed counts."""
    f = t.family
    s = np.stack([w * t.groups for w in (1.0, 0.37, 1e-3, 1e-9)])
    expected = f.log_partition(f.prior + s) - f.log_partition(f.prior)
    if expected.shape != s.shape[:-1]:
        raise t.fail("log_partition must take (..., p) and return (...).")
    if not np.all(np.isfinite(expected)):
        raise t.fail("log_partition must be finite at the prior plus any fraction of a sum.")
    t.equal(f.log_marginal(s), expected, "log_marginal must be a ratio of partitions")
    if np.abs(expected[-1]).max() > 1e-4 * (1.0 + np.abs(expected[0]).max()):
        raise t.fail("log_partition must be continuous: 1e-9 of a group should weigh nothing.")


def _predictive(t: _Trial) -> None:
    """Check that the predictive is a ratio of partitions, and fused scores the generic ones."""
    f, s = t.family, t.groups[:4]
    log_weight = np.log(np.arange(1.0, 5.0))
    z = np.arange(len(t.T)) % 2
    rows = f.statistics(t.points)
    generic = GenericScore(f.log_partition, f.prior + s, log_weight)
    fused = f.predictive_score(s, log_weight)
    ratio = (
        f.log_partition(f.prior + s + t.T[:, None, :])
        - f.log_partition(f.prior + s)
        + f.log_base(t.points)[:, None]
    )
    if not f.weighs_rows:
        t.equal(
            f.log_predictive(t.points, s), ratio, "log_predictive must be a ratio of partitions"
        )
    t.equal(fused.block(rows), generic.block(t.T), "predictive_score must equal the generic one")
    t.equal(fused.pairs(rows, z), generic.pairs(t.T, z), "pairs must be its block's")
    score = f.sampled_score(np.random.default_rng(1), s, log_weight)
    block, i = score.block(rows), np.arange(len(t.T))
    own = np.stack([block[i, 2 * z], block[i, 2 * z + 1]], axis=1)
    t.equal(score.pairs(rows, z), own, "pairs of sampled_score must be its block's")


def _conjugacy(t: _Trial) -> None:
    """Check that densities of drawn parameters average to the marginal.

    For parameters drawn from the posterior of a group, the density of a few more points has the
    mean ``Z(tau + S) / Z(tau)``.
    """
    f = t.family
    for tau in (f.prior + t.groups[1], f.prior + 0.5 * t.groups[2]):
        eta = f.draw(t.rng, np.tile(tau, (_DRAWS, 1)))
        if eta.shape != (_DRAWS, len(tau)):
            raise t.fail(f"draw must return (k, p), not {eta.shape}.")
        density = t.T @ eta.mean(axis=0) + f.log_base(t.points)
        likely = np.argsort(-density)
        for rows in (likely[:1], likely[:2], likely[len(likely) // 3 :][:1]):
            S = t.T[rows].sum(axis=0)
            level = float(f.log_partition(tau + S) - f.log_partition(tau))
            ratio = np.exp(eta @ S - level)
            error = ratio.std() / np.sqrt(_DRAWS)
            telling = ratio.max() < 0.02 * ratio.sum()  # no draw has most of the weight
            if telling and abs(ratio.mean() - 1.0) > _SURE * error + 1e-6:
                raise t.fail(
                    "draw and log_partition disagree: the mean density of points under drawn "
                    f"parameters is {ratio.mean():.4f} of the marginal (+- {error:.4f})."
                )


def _moments(t: _Trial) -> None:
    """Check that drawn parameters have the posterior's means, the log partition's gradient."""
    f = t.family
    tau = f.prior + t.groups[2]
    eta = f.draw(t.rng, np.tile(tau, (_DRAWS, 1)))
    size = np.maximum(np.abs(t.T).mean(axis=0), 1e-3)
    for i in range(len(tau)):
        step = np.zeros(len(tau))
        step[i] = 1e-4 * size[i]
        up, down = f.log_partition(tau + step), f.log_partition(tau - step)
        expected = float(up - down) / (2.0 * step[i])
        error = float(eta[:, i].std()) / np.sqrt(_DRAWS)
        off = abs(float(eta[:, i].mean()) - expected)
        if not off <= _SURE * error + 1e-4 * (1.0 + abs(expected)):
            raise t.fail(
                f"draws do not have the posterior's mean: entry {i} of eta is "
                f"{eta[:, i].mean():.5g} on average (+- {error:.2g}), and the gradient of "
                f"log_partition is {expected:.5g}."
            )


def _missing(t: _Trial) -> None:
    """Check that a row of which nothing is observed adds its count and nothing else."""
    blocks = t.family.independent_blocks(t.points.shape[1])
    if not t.family.missing or not all(block.family.missing for block in blocks):
        return
    empty = np.full((1, t.points.shape[1]), np.nan)
    T = to_dense(t.family.statistics(empty))
    score: Any = t.family.predictive_score(t.groups[:2], np.zeros(2))
    if t.family.imputation is not None and len(t.family.imputation.rows(empty)):
        score = t.family.imputation.completion(score)
    else:
        alone = np.eye(T.shape[1])[:1]
        t.equal(T, alone, "a row of which nothing is observed must add its count alone")
    t.equal(t.family.log_base(empty), np.zeros(1), "log_base of nothing observed must be 0")
    t.equal(score.block(T), np.zeros((1, 2)), "nothing observed must be as likely everywhere")


def _tails(t: _Trial) -> None:
    """Check that weighted rows keep their counts, their directions and their order."""
    f, s, tails = t.family, t.groups[1:3], t.family.tails
    if tails is None or not tails.active:
        return
    places, z = tails.location_scale(s), np.zeros(len(t.T), dtype=np.int64)
    rows = RowWeights.of(tails.row_score(s, np.zeros(2))).completed(t.T, z, None)
    t.equal(rows, places.weighted(t.T, z), "completion must weight rows by places of clusters")
    t.equal(rows[:, 0], np.ones(len(t.T)), "a weighted row must count as one")
    far, near = places.distances(t.T, z), places.distances(rows, z)
    if not np.all(np.diff(near[np.argsort(far)]) >= -_CLOSE):
        raise t.fail("a row that is further out must be further out with its weight.")
    drawn = f.sampled_score(t.rng, s, np.zeros(2))
    if not np.all(np.isfinite(tails.drawn_score(drawn, s).block(t.T))):
        raise t.fail("drawn_score must be finite at every row.")


def _division(t: _Trial) -> None:
    """Check that directions are functionals and a divided past is two sound parts."""
    f, s = t.family, t.groups[[1, 2, 3]]
    functional = f.division.directions(s, t.T[[1, 5, 8]], np.arange(3))
    if functional.shape != s.shape or not np.all(np.isfinite(functional)):
        raise t.fail("directions must return finite functionals (k, p).")
    cut = f.division.boundary(s[[0, 1, 0]], s[[1, 0, 1]])
    part = f.division.divide(s, cut)
    for piece in (part, s - part):
        if np.any(piece[:, 0] < -1e-9) or not np.all(np.isfinite(f.log_marginal(piece))):
            raise t.fail("divide must give parts with counts of at least 0 and finite marginals.")


def _priors(t: _Trial) -> None:
    """Check that adapting changes a copy, and that a prior can be given back and pickled."""
    f = t.family
    before = f.prior.copy()
    adapted = f.adapt(t.groups[1:3]).settled(2).follow(t.groups[1:3], t.groups[1:3])
    t.equal(f.prior, before, "adapt must leave the family as it is and return a copy")
    if not np.all(np.isfinite(adapted.log_marginal(t.groups))):
        raise t.fail("the adapted prior must give finite marginals.")
    again = type(f)(**f.hyperparameters()).meet(t.rows, None).prepare(t.points)
    t.equal(again.prior, before, "hyperparameters() given to the constructor must make the prior")
    try:
        loaded = pickle.loads(pickle.dumps(f))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise t.fail(
            f"a family must be picklable, which a class defined in a module is: {error}"
        ) from None
    t.equal(loaded.log_marginal(t.groups), f.log_marginal(t.groups), "a pickled family must be it")
    for name, value in f.describe(f.prior + t.groups).items():
        if len(value) != len(t.groups):
            raise t.fail(f"describe()[{name!r}] must have one entry for each cluster.")


def _densities(t: _Trial, support: tuple[Any, Any]) -> None:
    """Check that densities come to 1 over all rows."""
    points = t.family.check(support[0])
    weight: NDArray[np.float64] = np.asarray(support[1], dtype=float)
    log_density = t.family.log_predictive(points, t.groups[1:4])
    log_total = logsumexp(log_density, b=weight[:, None], axis=0)
    if not np.all(np.abs(log_total) < 1e-3):
        shown = ", ".join(f"{v:.4g}" for v in log_total)
        raise t.fail(
            "predictive densities must sum to 1 over the support; "
            f"the logs of the sums are {shown}."
        )


_RULES: dict[str, Callable[[_Trial], None]] = {
    "statistics": _statistics,
    "marginal": _marginal,
    "predictive": _predictive,
    "conjugacy": _conjugacy,
    "moments": _moments,
    "missing": _missing,
    "tails": _tails,
    "division": _division,
    "priors": _priors,
}
