"""What the first batches tell of a whole stream, on scores and streams that are made up."""

import re

import numpy as np
import pytest
from streams import blobs

from benchmarks import hindsight
from benchmarks.streams import Opened

pytest.importorskip("optuna")


def test_noise_is_averaged_away_where_the_first_batches_are_like_the_rest():
    rng = np.random.default_rng(0)
    whole = np.linspace(0.0, 1.0, 200)
    early = whole[:, None] + rng.normal(0.0, 0.5, (200, 8))
    lines = list(hindsight.foretold(whole, early))
    assert "Of 200 settings the best has 1.000" in lines[0]
    rho, _, first = np.array([re.findall(r"\d?\.\d+", line) for line in lines[2:]], float).T
    assert [line.split()[0] for line in lines[2:]] == ["1", "2", "4", "8"]
    assert np.all(np.diff(rho) > 0.05)
    assert first[3] > first[0]


@pytest.mark.slow
def test_a_search_is_told_by_its_best_and_its_best_by_further_seeds():
    batches = [blobs(60, seed) for seed in range(12)]
    stream = Opened(batches, len(batches), batches[0][0].shape[1], "made up")
    line = hindsight.searched(stream, batches, 0, trials=3)
    assert line.startswith("Search 0 of 3 trials")
    found = [float(number) for number in re.findall(r"\d\.\d{3}", line)]
    assert len(found) == 4
    assert min(found) > 0.9
