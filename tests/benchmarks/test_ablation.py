"""The ablation benchmark takes out what it says."""

import sys
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from scstream import ScStream
from scstream.datasets import gaussian_stream

with patch.object(sys, "path", [str(Path(__file__).parents[2] / "benchmarks"), *sys.path]):
    import ablation


# How a past is cut shows where clusters that have one split: where groups come apart that were
# alike at first. On each of eight seeds a halved past changed the log posterior by more than 30. Of
# groups that merely drift hardly one splits: such a stream came to the same, but for rounding.


def drifting_points():
    """Yield rows of clusters that move and pass each other."""
    for batch in gaussian_stream(12, 200, n_clusters=6, random_state=0):
        yield batch.X


def parting_points(n_batches=8, size=800, pairs=8):
    """Yield rows of pairs of groups that are alike at first, and come apart."""
    rng = np.random.default_rng(0)
    for gap in np.linspace(0.0, 3.0, n_batches):
        pair, second = rng.integers(pairs, size=size), rng.random(size) < 0.35
        yield rng.normal(size=(size, 2)) + np.column_stack([np.where(second, gap, -gap), 20 * pair])


def parting_counts(n_batches=8, size=600, pairs=4):
    """Yield the same of counts."""
    rng = np.random.default_rng(0)
    topic = 2.5 * np.repeat(np.eye(pairs), 2, axis=0).repeat(6, axis=1)
    own = np.tile([[1.0, -1.0] * 3, [-1.0, 1.0] * 3], (pairs, pairs))
    share = np.tile([0.65, 0.35], pairs) / pairs
    for gap in np.linspace(0.0, 0.6, n_batches):
        p = np.exp(topic + gap * own)
        p /= p.sum(axis=1, keepdims=True)
        yield rng.multinomial(40, p[rng.choice(2 * pairs, size, p=share)])


def crossing_points(size=200):
    """Yield rows of two groups that come near each other, and part again."""
    rng = np.random.default_rng(0)
    for gap in np.concatenate([np.linspace(5.0, 0.8, 20), np.linspace(0.8, 5.0, 20)]):
        second = rng.random(size) < 0.5
        yield rng.normal(size=(size, 2)) + np.column_stack(
            [np.where(second, gap, -gap), 0 * second]
        )


STREAMS = {"past halved, not cut": parting_points, "no reluctance to merge": crossing_points}
USUAL = ablation.ABLATIONS["as it is"]
CHANGES = [name for name in ablation.ABLATIONS if name != "as it is"]


def learned(family, stream, rules):
    """Return what a stream comes to after each batch."""
    model = ScStream(family, random_state=0, rules=rules)
    for X in stream():
        model.partial_fit(X)
    return np.array([record.log_posterior for record in model.history_])


@pytest.mark.parametrize("name", CHANGES)
def test_each_of_them_changes_something(name) -> None:
    stream, rules = STREAMS.get(name, drifting_points), ablation.ABLATIONS[name]
    without = learned("gaussian", stream, rules)
    assert np.abs(without - learned("gaussian", stream, USUAL)).max() > 1.0  # nats: not rounding


def test_the_past_of_counts_is_halved_too() -> None:
    halved = learned("multinomial", parting_counts, ablation.ABLATIONS["past halved, not cut"])
    assert np.abs(halved - learned("multinomial", parting_counts, USUAL)).max() > 1.0
