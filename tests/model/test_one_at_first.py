"""A stream that begins with one cluster: it shows nothing of how clusters differ."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from scstream import ScStream

KINDS = 6
FAMILIES = ["multinomial", "poisson", "bernoulli", "categorical"]


def rows(family: str, seed: int):
    """Return what draws rows of kinds (n,) that are far apart."""
    rng = np.random.default_rng(seed)
    if family == "multinomial":
        shares = rng.dirichlet(np.full(20, 0.3), KINDS)
        return lambda y: np.array([rng.multinomial(50, shares[c]) for c in y])
    if family == "bernoulli":
        share = rng.choice([0.05, 0.95], (KINDS, 20))
        return lambda y: (rng.random((len(y), 20)) < share[y]).astype(float)
    if family == "categorical":
        usual = rng.integers(5, size=(KINDS, 12))
        return lambda y: np.where(
            rng.random((len(y), 12)) < 0.9, usual[y], rng.integers(5, size=(len(y), 12))
        )
    rate = rng.choice([1.0, 5.0, 25.0], (KINDS, 8))
    return lambda y: rng.poisson(rate[y])


@pytest.mark.parametrize("family", FAMILIES)
def test_kinds_that_come_later_are_found(family) -> None:
    # the one cluster is most probable under a prior by which all are like it
    draw, rng = rows(family, 1), np.random.default_rng(2)
    model = ScStream(family, random_state=0)
    for _ in range(4):
        model.partial_fit(draw(np.zeros(200, dtype=int)))
    assert model.n_clusters_ == 1
    for _ in range(10):
        y = rng.integers(KINDS, size=200)
        model.partial_fit(draw(y))
    assert adjusted_rand_score(y, model.labels_) > 0.9


def test_rows_of_many_categories_are_predicted() -> None:
    # their statistics are sparse, though the rows are not
    draw = rows("categorical", 1)
    y = np.random.default_rng(2).integers(KINDS, size=300)
    X = np.tile(draw(y), (1, 3))
    model = ScStream("categorical", random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
