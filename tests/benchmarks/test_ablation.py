"""The ablation benchmark takes out what it says."""

import sys
from pathlib import Path
from unittest.mock import patch

import pytest

from scstream import ScStream
from scstream.datasets import gaussian_stream, multinomial_stream
from scstream.sampler import gaussian_ratios

with patch.object(sys, "path", [str(Path(__file__).parents[2] / "benchmarks"), *sys.path]):
    import ablation

STREAMS = {
    "gaussian": lambda: gaussian_stream(12, 200, n_clusters=6, random_state=0),
    "multinomial": lambda: multinomial_stream(6, 150, n_clusters=6, n_features=20, random_state=0),
}


def learned(family):
    """Return what a stream comes to, each step taken by itself."""
    with patch.object(gaussian_ratios, "_MOST_COLUMNS", 0):
        model = ScStream(family, random_state=0)
        for batch in STREAMS[family]():
            model.partial_fit(batch.X)
    return model.history_[-1].log_posterior


@pytest.mark.parametrize("name", [name for name in ablation.ABLATIONS if name != "as it is"])
def test_each_of_them_changes_something(name) -> None:
    family = "multinomial" if name.startswith("counts") else "gaussian"
    before = learned(family)
    with ablation.ABLATIONS[name]():
        assert learned(family) != before
    assert learned(family) == before
