"""The compiled kernels of the data pass: the generator, and sub-labels at their edges."""

from math import exp

import numpy as np
import pytest
import reference
from numpy.testing import assert_array_equal

from scstream.kernels import labelling
from scstream.kernels.elementary import CERTAIN, POSSIBLE


@pytest.mark.parametrize(
    ("seed", "batch", "sweep", "first"),
    [
        (0, 0, 0, 0),
        (1, 2, 3, 4),
        (2**63 - 1, 2**32 - 1, 2**32 - 1, 2**40),
        (2**33 + 7, 5, 1, 2**32 - 3),
    ],
)
def test_uniforms_are_philox_keyed_by_seed_batch_sweep_and_row(seed, batch, sweep, first):
    for n in (1, 6, 7):  # two rows are taken at a time
        got = np.empty((2, n))
        labelling.uniforms(seed, batch, sweep, first, got)
        assert_array_equal(got, reference.uniforms(seed, batch, sweep, first, n))


@pytest.mark.parametrize("gap", [-800.0, -26.0, -24.0, -1.0, 0.0, 2.0, 24.0, 26.0, 800.0])
def test_doubt_is_minus_the_log_probability_of_the_chosen_of_two(gap):
    expected = reference.against(0.0, gap)
    assert labelling.certainty(gap) == pytest.approx(expected, rel=1e-14, abs=exp(POSSIBLE))
    pairs, sub, doubt = np.array([[0.0, gap]] * 2), np.empty(2, np.int64), np.empty(2)
    labelling.draw_pair(pairs, np.array([0.0, np.nextafter(1.0, 0.0)]), sub, doubt)
    if abs(gap) > CERTAIN:
        assert sub.tolist() == [int(gap > 0)] * 2
    else:  # the second sub-label is drawn below its probability
        assert sub.tolist() == [1, 0]
    for s, found in zip(sub, doubt, strict=True):
        assert found == pytest.approx(reference.against(s * gap, (1 - s) * gap), abs=exp(POSSIBLE))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("which", [0, 1, slice(None)])
def test_sub_labels_of_scores_that_are_no_numbers_are_in_range(value, which):
    pairs = np.zeros((3, 2))
    pairs[:, which] = value
    sub, doubt = np.full(3, 9), np.empty(3)
    labelling.draw_pair(pairs, np.array([0.0, 0.5, 0.9]), sub, doubt)
    assert set(sub) <= {0, 1}
    sub[:] = 9
    labelling.best_pair(pairs, sub, doubt)
    assert set(sub) <= {0, 1}
