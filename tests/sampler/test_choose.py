"""Who takes the steps of a batch."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from scstream import ScStream
from scstream.datasets import gaussian_stream
from scstream.kernels import ahead
from scstream.sampler.choose import at_hand, expect_rows
from scstream.sampler.gaussian import LargeGaussianSteps
from scstream.sampler.generic import GenericSteps
from scstream.sampler.small_gaussian import SmallGaussianSteps


@pytest.fixture
def being_compiled(monkeypatch):
    """Let a second process be at work on the compiled steps; returns whose were asked for."""
    asked = []
    monkeypatch.setattr(ahead, "are_ready", lambda names: asked.append(names))
    return asked


def test_generic_steps_are_taken_while_the_compiled_ones_are_not_there(being_compiled):
    expect_rows(50_000)
    assert at_hand(SmallGaussianSteps) is at_hand(LargeGaussianSteps) is GenericSteps
    assert being_compiled == [SmallGaussianSteps.kernels, LargeGaussianSteps.kernels]
    expect_rows(500)
    assert at_hand(SmallGaussianSteps) is SmallGaussianSteps  # which a first batch waits for
    assert at_hand(LargeGaussianSteps) is GenericSteps


@pytest.mark.parametrize("n", [700, 9000])
def test_labels_are_the_same_meanwhile(n, being_compiled, monkeypatch):
    batches = [
        np.vstack([b.X[:n], b.X[:4000]]) for b in gaussian_stream(3, 9000, 7, 2, random_state=0)
    ]
    batches[1] = batches[1][:n]

    def labels():
        model = ScStream(random_state=0)
        return [model.partial_fit(X).labels_ for X in batches]

    meanwhile = labels()
    assert len(being_compiled) > 2
    monkeypatch.undo()
    assert_array_equal(np.concatenate(meanwhile), np.concatenate(labels()))
