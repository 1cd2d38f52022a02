"""K-means on both cores."""

import numpy as np
import pytest

from scstream.core import plain


@pytest.mark.parametrize("given", ["columns", "products"])
def test_each_row_has_its_nearest_centre(core, given):
    rng = np.random.default_rng(0)
    for d, m in ((1, 1), (2, 7), (9, 30)):
        X = rng.normal(size=(500, d)) + rng.integers(4, size=(500, 1))
        C = X[:m] + 0.1
        far = ((X[:, None] - C) ** 2).sum(axis=2)
        z = rng.integers(m, size=500)
        rows, centres = (X, C) if given == "columns" else (X @ C.T, np.empty((m, 0)))
        apart = ((C[:, None] - C) ** 2).sum(axis=2)
        core.choose_nearest(rows, centres, (X**2).sum(axis=1), (C**2).sum(axis=1), apart, z)
        assert (z == far.argmin(axis=1)).all()


def test_rows_come_nearer_pick_by_pick(core):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3))
    X[200] = X[4]  # a copy of a centre is not away from it
    nearest, z, cumulated = np.full(300, np.inf), np.zeros(300, np.int64), np.empty(300)
    picks = np.array([4, 90, 200, 17])
    square = (X**2).sum(axis=1)
    for m in range(1, 5):
        core.approach(X, X[[picks[m - 1]]], square, picks[:m], nearest, z, cumulated)
        far = ((X[:, None] - X[picks[:m]]) ** 2).sum(axis=2)
        assert (z == far.argmin(axis=1)).all()
        assert nearest == pytest.approx(far.min(axis=1), abs=1e-10)
        assert nearest[[4, 200]].tolist() == [0.0, 0.0]
        assert cumulated == pytest.approx(np.cumsum(nearest))


def test_native_arrays_of_other_shapes_are_refused():
    native = pytest.importorskip(
        "scstream.core.native._compiled", reason="the native core was not built"
    )
    X, square, z = np.zeros((4, 2)), np.zeros(4), np.zeros(4, np.int64)
    good = [X, X[:1], square, z[:1], square.copy(), z, square.copy()]
    native.approach(*good)
    wrong = {0: X[:3], 1: X[:0], 2: square[:3], 3: z[:0], 4: square[:2], 5: z[:3], 6: square[1:]}
    for place, array in wrong.items():
        with pytest.raises(ValueError, match=r"rows|centre|pick"):
            native.approach(*good[:place], array, *good[place + 1 :])
    for place, label in ((3, 4), (3, -1), (5, 1), (5, -1)):
        changed = [array.copy() for array in good]
        changed[place][0] = label
        with pytest.raises(ValueError, match="pick"):
            native.approach(*changed)
    plain.choose_nearest(X, X[:2], square, square[:2], np.zeros((2, 2)), z)
    with pytest.raises(ValueError, match="has no centre"):
        native.choose_nearest(X, X[:2], square, square[:2], np.zeros((2, 2)), z + 2)
