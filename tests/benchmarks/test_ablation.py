"""The ablation benchmark takes out what it says, from the compiled and the generic steps alike."""

import sys
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest

from scstream import ScStream
from scstream.datasets import gaussian_stream, multinomial_stream

with patch.object(sys, "path", [str(Path(__file__).parents[2] / "benchmarks"), *sys.path]):
    import ablation

STREAMS = {
    "gaussian": lambda: gaussian_stream(12, 200, n_clusters=6, random_state=0),
    "multinomial": lambda: multinomial_stream(6, 150, n_clusters=6, n_features=20, random_state=0),
}


def learned(family, rules):
    """Return what a stream comes to."""
    model = ScStream(family, random_state=0, rules=rules)
    for batch in STREAMS[family]():
        model.partial_fit(batch.X)
    return model.history_[-1].log_posterior


@pytest.mark.parametrize("name", [name for name in ablation.ABLATIONS if name != "as it is"])
def test_each_of_them_changes_something(name) -> None:
    rules, usual = ablation.ABLATIONS[name], ablation.ABLATIONS["as it is"]
    compiled = learned("gaussian", rules)
    assert compiled != learned("gaussian", usual)
    generic = learned("gaussian", replace(rules, compiled_columns=0))
    assert compiled == pytest.approx(generic, rel=1e-9)


@pytest.mark.parametrize("name", ["ratio without the doubt", "start from one cluster"])
def test_they_are_for_all_families(name) -> None:
    before = learned("multinomial", ablation.ABLATIONS["as it is"])
    assert learned("multinomial", ablation.ABLATIONS[name]) != before
