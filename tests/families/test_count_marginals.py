"""Log marginals of counts: of pairs of clusters, and of parameters that no polynomial follows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import gammaln

from scstream.families import count_marginals
from scstream.families.count_marginals import CountMarginals
from scstream.support.threads import allowed

D = 90


def clusters(k=24, seed=0):
    """Return sums (k, 1 + d) from tiny to huge ones, half of them 0, under a prior as wild."""
    rng = np.random.default_rng(seed)
    s = 10.0 ** rng.uniform(-8, 8, (k, D + 1)) * (rng.random((k, D + 1)) < 0.5)
    prior = np.append(0.0, 10.0 ** rng.uniform(-6, 1, D))
    return s, CountMarginals.of(prior, float(prior.sum()))


def test_log_marginals_hold_for_parameters_of_all_sizes_beside_one_another():
    # broken on purpose (those beyond the polynomials left out): it fails
    s, marginals = clusters()
    prior = marginals.prior[1:]
    cells = (gammaln(prior + s[:, 1:]) - gammaln(prior)).sum(axis=1)
    mass = s[:, 1:].sum(axis=1)
    expected = cells - gammaln(marginals.whole + mass) + gammaln(marginals.whole)
    assert_allclose(marginals.each(s), expected, rtol=1e-12)


@pytest.mark.parametrize("shared", [2**18, 0])
def test_pairs_have_the_log_marginals_of_their_sums_to_the_last_bit(monkeypatch, shared):
    monkeypatch.setattr(count_marginals, "_SHARED", shared)
    s, marginals = clusters()
    a, b = np.triu_indices(len(s), 1)
    with allowed(3):
        got = marginals.joined(s, a, b)
        assert_array_equal(got, marginals.each(s[a] + s[b]))
        assert_array_equal(got, marginals.joined(s, b, a))
        assert_array_equal(
            got, np.concatenate([marginals.each((s[a] + s[b])[[i]]) for i in range(len(a))])
        )
    assert marginals.joined(s, a[:0], b[:0]).shape == (0,)
