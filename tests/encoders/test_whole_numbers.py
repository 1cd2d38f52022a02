"""Small whole numbers: counts, other numbers, or codes."""

import numpy as np
import pandas as pd
import pytest

from scstream.encoders.skew import GAIN
from scstream.encoders.whole_numbers import compared
from scstream.families.auto import choose_family


def column(name, n, seed):
    """Return a column of that kind; numbers have clusters in two places."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    return {
        "rare events": lambda: rng.poisson(0.3, n),
        "events": lambda: rng.poisson(np.array([2.0, 25.0])[y]),
        "wide counts": lambda: rng.poisson(rng.gamma(2.0, np.array([2.0, 15.0])[y])),
        "tosses": lambda: rng.geometric(0.2, n) - 1,
        "ages": lambda: np.rint(rng.normal(np.array([25.0, 60.0])[y], 3.0)),
        "marks": lambda: rng.binomial(20, np.array([0.4, 0.9])[y]),
        "a narrow range": lambda: np.rint(rng.normal(70.0, 2.0, n)),
        "stars": lambda: rng.choice([1, 2, 3, 4, 5], n, p=[0.1, 0.03, 0.05, 0.2, 0.62]),
        "answers": lambda: rng.choice([1, 2, 3, 4, 5], n, p=[0.35, 0.1, 0.05, 0.1, 0.4]),
    }[name]().astype(float)


@pytest.mark.parametrize("n", [100, 300, 3_000])
@pytest.mark.parametrize("name", ["rare events", "events", "wide counts", "tosses"])
def test_counts_are_counts(name, n):
    for seed in range(5):
        x = column(name, n, seed)
        for some in (x, np.append(x, [9_999.0] * (n // 30))):
            found = compared(some)
            assert not found.codes
            assert found.gain <= 0.0


@pytest.mark.parametrize("n", [100, 300, 3_000])
@pytest.mark.parametrize("name", ["ages", "marks", "a narrow range"])
def test_other_numbers_are_not(name, n):
    for seed in range(5):
        assert compared(column(name, n, seed)).gain > GAIN


def test_one_clear_column_of_numbers_says_what_the_others_are() -> None:
    """Alone the vague one stays counts: normal distributions are hardly better."""
    rng = np.random.default_rng(0)
    vague = np.rint(rng.normal(14.0, 3.2, 400)).astype(int)
    X = pd.DataFrame({"vague": vague, "events": column("events", 400, 0).astype(int)})
    assert choose_family(X)[1] == "vague, events as negative-binomial"
    X["ages"] = column("ages", 400, 0).astype(int)
    assert choose_family(X)[1] == "vague, ages as gaussian; events as negative-binomial"
