"""The shapes of clusters as groups take them: in the form that rows have."""

import numpy as np
from numpy.testing import assert_allclose

from scstream import ScStream
from scstream.groups.shapes import Shapes
from scstream.sampler.rules import Rules


def test_shapes_of_shares_are_those_of_their_roots() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=400)
    X = rng.gamma(np.array([[20.0, 9.0, 4.0], [5.0, 9.0, 18.0]])[y])
    model = ScStream("composition", random_state=0).fit(X / X.sum(axis=1, keepdims=True))
    shapes = Shapes.of(model._learner, Rules())
    rows = model.family_.check(X)
    assert shapes.mean.shape == (2, 2)
    for i in range(2):
        own = rows[model.labels_ == i]
        assert_allclose(shapes.mean[i], own.mean(axis=0), atol=0.02)
        assert_allclose(shapes.cov[i], np.cov(own, rowvar=False), atol=0.002)
