"""What a user is told about rows of many columns."""

import warnings

import numpy as np
import pytest

from scstream import ScStream


def unit_rows(n, d, seed=0):
    """Return rows of unit length about three centres."""
    rng = np.random.default_rng(seed)
    X = np.eye(3, d)[rng.integers(3, size=n)] + 0.05 * rng.normal(size=(n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def test_rows_of_unit_length_are_told_of_their_family_once():
    model = ScStream(random_state=0)
    with pytest.warns(UserWarning, match="family='directional'") as told:
        model.partial_fit(unit_rows(60, 60))
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(unit_rows(60, 60, 1))


@pytest.mark.parametrize("family", ["gaussian", "directional"])
def test_other_rows_and_their_own_family_are_told_nothing(family):
    X = unit_rows(60, 5)
    X = X if family == "directional" else np.vstack([X, 2.0 * X[:1]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ScStream(family, random_state=0).fit(X)
