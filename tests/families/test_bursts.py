"""What repeated and shared words say about a prior of counts."""

import numpy as np
import pytest
from scipy import sparse

from scstream import Multinomial
from scstream.families.bursts import frequencies, mean_by_repeats, mean_by_sharing

TOPICS, WORDS, ROWS, LENGTH, MEAN = 5, 300, 400, 20, 0.2


def rows_of_topics(seed: int, own: float | None = None) -> tuple[sparse.csr_array, np.ndarray]:
    """Return rows of words and their topics; the less ``own``, the more each repeats some words.

    Topics are drawn around even frequencies, and rows around their topics if ``own`` is given.
    """
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(WORDS, MEAN), TOPICS)
    y = rng.integers(TOPICS, size=ROWS)
    p = topics[y]
    if own is not None:
        p = rng.gamma(np.maximum(own * p, 1e-3)) + 1e-300
        p /= p.sum(axis=1, keepdims=True)
    return sparse.csr_array(rng.multinomial(LENGTH, p).astype(float)), y


@pytest.mark.parametrize("seed", range(3))
def test_without_bursts_rows_repeat_words_as_often_as_they_share_them(seed):
    X, y = rows_of_topics(seed)
    assert MEAN / 1.5 < mean_by_repeats(X, frequencies(X)) < 1.5 * MEAN
    assert MEAN / 1.5 < mean_by_sharing(X, y) < 1.5 * MEAN


@pytest.mark.parametrize("seed", range(3))
def test_bursts_are_repeated_but_not_shared(seed):
    X, y = rows_of_topics(seed, own=20.0)
    assert 3.0 * mean_by_repeats(X, frequencies(X)) < mean_by_sharing(X, y)
    assert mean_by_sharing(X, y) > MEAN / 1.6
    assert mean_by_sharing(3.0 * X, y) == mean_by_sharing(X, y)


def test_a_prior_is_borne_out_by_words_that_rows_share_only():
    X, y = rows_of_topics(0)
    family = Multinomial().prepare(X)
    trials = family.prior_trials
    trial = trials.suggested
    assert trial.prior[1:].mean() < 0.5
    assert trial.is_faint()
    assert not family.is_faint()
    assert trials.borne_out(X, y)
    assert trial.adapt(family.statistics(X).sum(axis=0)[None]) is trial  # one cluster says nothing
    assert not trials.borne_out(X, np.random.default_rng(0).permutation(y))
    bursts, topics = rows_of_topics(0, own=20.0)
    assert not Multinomial().prepare(bursts).prior_trials.borne_out(bursts, topics)
    assert Multinomial(0.5).prepare(X).prior_trials is None  # as it was given
