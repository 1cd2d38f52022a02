"""Groups are the same wherever the rows of a batch are."""

import numpy as np
import pytest

from scstream import ScStream

da = pytest.importorskip("dask.array", reason="Dask is not installed")


def squares(b):
    rng = np.random.default_rng([5, b])
    places = 9.0 * rng.integers(2, size=(7000, 2))
    return places + rng.uniform(-2, 2, size=(7000, 2))


def test_a_cluster_of_workers_gives_the_same_groups(client):
    here = ScStream(random_state=0, group_level=0.3)
    there = ScStream(random_state=0, group_level=0.3, engine=client)
    for b in range(3):
        X = squares(b)
        here.partial_fit(X)
        there.partial_fit(da.from_array(X, chunks=(2500, 2)))
    assert here.tree_.heights.tobytes() == there.tree_.heights.tobytes()
    assert here.groups_ == there.groups_
    assert len(here.groups_) == 4
    rows = da.from_array(X, chunks=(2500, 2))
    found = there.predict_group(rows)
    assert hasattr(found, "compute")  # it stays with the workers until asked for
    np.testing.assert_array_equal(found.compute(), here.predict_group(X))
    np.testing.assert_allclose(
        there.predict_group_proba(rows).compute(), here.predict_group_proba(X)
    )
