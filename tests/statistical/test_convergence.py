"""The first batch reaches the best log posterior that any run finds, within 50 sweeps.

"Reaches" means to within 6 nats out of some 1,700. Partitions that differ in a few doubtful points,
or in whether two clusters that overlap are one, are that close to each other; one sampled sweep
away from the mode the log posterior lies tens of nats lower, and a missing cluster costs hundreds.
"""

import numpy as np
import pytest

from scstream import Gaussian, ScStream
from scstream.datasets import gaussian_stream

NEAR = 8.0  # nats, of about 1,700; one data set has a second mode 5 to 7 below the best


def levels(data_seed, seeds, max_sweeps=50):
    """Return log posteriors of runs under one prior, the one that another run adapted."""
    X = gaussian_stream(random_state=data_seed)[0].X
    family = Gaussian(**ScStream(random_state=99).fit(X).prior_)
    models = [ScStream(family, random_state=s, max_sweeps=max_sweeps).fit(X) for s in seeds]
    return np.array([model.history_[-1].log_posterior for model in models])


@pytest.mark.slow
@pytest.mark.parametrize("data_seed", range(10))
def test_nine_of_ten_runs_reach_the_best(data_seed):
    found = levels(data_seed, range(10))
    gaps = found.max() - found
    print(f"data {data_seed}: best {found.max():.1f}, gaps {np.sort(gaps).round(1)}")
    assert (gaps <= NEAR).sum() >= 9


def test_three_runs_agree():
    found = levels(0, range(3))
    assert np.ptp(found) <= NEAR
