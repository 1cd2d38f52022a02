"""Columns by name or number, and dates as times."""

import numpy as np
import pytest

from scstream.sources.guess.dates import seconds
from scstream.sources.options import find_column


@pytest.mark.parametrize("column", [2, "2", "-1", "c"])
def test_a_column_that_is_not_there_is_refused(column):
    # broken on purpose (one number more than there are columns is taken): it fails
    assert [find_column(j, ["a", "b"]) for j in (0, "1", "b")] == [0, 1, 1]
    with pytest.raises(ValueError, match=f"There is no column '{column}'; there are 2: a, b"):
        find_column(column, ["a", "b"])


def test_dates_keep_fractions_of_a_second_and_their_zones():
    # broken on purpose (whole seconds; the zone left out): it fails
    texts = ["1970-01-01T00:00:01.25", "1970-01-01T01:00:00+01:00", "soon"]
    np.testing.assert_array_equal(seconds(texts), [1.25, 0.0, np.nan])
