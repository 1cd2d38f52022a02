"""Clusters of counts that fall into pieces: the warning, and who is left alone."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from scstream import ScStream
from scstream.datasets import multinomial_stream


def events(seed, spread, n=600, d=12, k=5):
    """Return counts of rows with totals of many sizes, which vary as gamma draws of a spread do."""
    rng = np.random.default_rng(seed)
    share, y = rng.dirichlet(np.ones(d), k), rng.integers(k, size=n)
    rate = np.exp(rng.uniform(3.0, 7.0, (n, 1))) * share[y]
    noise = rng.gamma(1.0 / spread, spread, (n, d)) if spread else 1.0
    return rng.poisson(rate * noise), y


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_pieces_are_told_of_once(form) -> None:
    model = ScStream("multinomial", random_state=0)
    with pytest.warns(UserWarning, match="most of these are pieces") as told:
        assert [model.partial_fit(form(events(seed, 1 / 3)[0])) for seed in range(4)]
    (warning,) = told
    assert "'count-shares'" in str(warning.message)
    assert warning.filename == __file__
    assert model.n_clusters_ > 100


def test_multinomial_clusters_are_left_alone_however_few_rows_they_have() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for size in (300, 1000):
            model = ScStream("multinomial", random_state=0)
            for batch in multinomial_stream(4, size, random_state=1):
                model.partial_fit(batch.X)
            assert model.n_clusters_ > 80
        ScStream("multinomial", random_state=0).partial_fit(events(1, 0.0)[0])
