"""With the same seed the package comes to the labels of the reference, batch after batch."""

import pytest
from evolving import CASES, GAUSSIAN, check_against_reference, expected

from scstream.families import Gaussian


@pytest.mark.parametrize("name", CASES)
def test_every_batch_has_the_labels_of_the_reference(name):
    check_against_reference(name)


class OneMoreFamily(Gaussian):
    """A Gaussian that nobody knows to be one: nothing is compiled for it alone."""


@pytest.mark.parametrize("name", GAUSSIAN)
def test_the_generic_steps_have_the_labels_of_the_compiled_ones(name):
    check_against_reference(name, family=OneMoreFamily())


@pytest.mark.parametrize("kind", ["births", "deaths", "splits", "merges"])
@pytest.mark.parametrize("alpha", [0.3, 4.0])
def test_much_happens_on_these_streams(kind, alpha):
    names = [name for name, case in CASES.items() if case.options["alpha"] == alpha]
    happened = [name for name in names for batch in expected(name)[1:] if batch.events[kind]]
    assert len(set(happened)) >= 4
