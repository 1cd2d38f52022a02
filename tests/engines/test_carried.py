"""What components can score in a sweep is bounded by what they scored in the one before."""

import numpy as np
import pytest

from scstream import Gaussian
from scstream.engines.carried import bounds_of
from scstream.families.scores import JoinedScore, LinearScore, form_of

K = 7
BITS = np.log(2.0)


def clusters_of(family, X, y):
    T = family.statistics(X)
    return np.stack([T[y == c].sum(axis=0) for c in range(K)])


def scores_before_and_after(d, *, student, background):
    """Return rows' statistics, and scores by parameters drawn twice, or drawn and expected."""
    rng = np.random.default_rng([d, student])
    y = rng.integers(K, size=4000)
    X = 2.0 * rng.normal(size=(K, d))[y] + rng.normal(size=(4000, d))
    family = Gaussian().prepare(X)
    clusters, log_weight = clusters_of(family, X, y), np.log(np.bincount(y) / len(y))
    before = LinearScore(family.sampled_score(rng, clusters, log_weight).form.eta)
    now = LinearScore(family.sampled_score(rng, clusters, log_weight).form.eta)
    if student:
        now = family.predictive_score(clusters, log_weight)
    if background:
        flat = np.zeros((1, clusters.shape[1]))
        flat[0, 0] = -5.0
        before, now = (JoinedScore([score, LinearScore(flat)]) for score in (before, now))
    far = np.vstack([X, 5.0 * X[:500], 100.0 * X[:50]])
    return family.statistics(far), before, now


@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("student", [False, True])
@pytest.mark.parametrize("d", [1, 3, 9])
def test_no_score_is_above_its_bound(d, student, background):
    T, before, now = scores_before_and_after(d, student=student, background=background)
    form, old = form_of(now), before.block(T)
    bounds = bounds_of(form_of(before).eta, form.eta, form.const, form.power, d)
    scored = bounds.low + bounds.step * np.arange(len(bounds.bound))
    assert old.max() <= BITS * scored[-1] + 1e-9
    most = np.interp(old / BITS, scored, bounds.bound)
    excess = now.block(T) - most
    assert excess.max() < 1e-6
    near = old > old.max(axis=1, keepdims=True) - 10.0
    assert np.median(excess[near]) > -3.0  # and not far below


def test_bounds_are_convex():
    _, before, now = scores_before_and_after(3, student=True, background=True)
    form = form_of(now)
    bounds = bounds_of(form_of(before).eta, form.eta, form.const, form.power, 3)
    assert np.diff(bounds.bound, n=2).min() > -1e-9
    assert np.diff(bounds.bound).min() >= 0.0


def test_there_are_none_where_scores_are_not_concave():
    _, before, now = scores_before_and_after(3, student=False, background=False)
    eta = form_of(before).eta.copy()
    eta[2, 4:] *= -1.0
    nothing = np.zeros(0)
    assert bounds_of(eta, form_of(now).eta, nothing, nothing, 3) is None
    assert bounds_of(form_of(now).eta, eta, nothing, nothing, 3) is None
    assert bounds_of(np.nan * eta, eta, nothing, nothing, 3) is None
