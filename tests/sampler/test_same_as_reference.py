"""With the same seed the package comes to the labels of the reference, batch after batch."""

import numpy as np
import pytest
from evolving import CASES, GAUSSIAN, SLOW, check_against_reference, expected

from scstream.families import Gaussian


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in CASES]
)
def test_every_batch_has_the_labels_of_the_reference(name):
    check_against_reference(name)


class OneMoreFamily(Gaussian):
    """A Gaussian that nobody knows to be one: nothing is compiled for it alone."""


@pytest.mark.parametrize("name", GAUSSIAN)
def test_the_generic_steps_have_the_labels_of_the_compiled_ones(name):
    check_against_reference(name, family=OneMoreFamily())


def test_the_background_comes_and_goes():
    for kind in ("gaussian-2", "diagonal"):
        found = [np.sum(b.labels < 0) for b in expected(f"{kind}, background for a while")]
        assert min(found[2:4]) >= 10
        assert sum(found[:2]) == found[-1] == 0


def test_much_happens_on_these_streams():
    for alpha in (0.3, 4.0):
        names = [
            name
            for name, case in CASES.items()
            if case.options["alpha"] == alpha and name not in SLOW
        ]
        for kind in ("births", "deaths", "splits", "merges"):
            happened = {name for name in names for b in expected(name)[1:] if b.events[kind]}
            assert len(happened) >= 4, (alpha, kind)
