"""The first picture of a model."""

import numpy as np
import pandas as pd
import pytest

from scstream import ScStream

pytest.importorskip("matplotlib", reason="Matplotlib is not installed")
from matplotlib.figure import Figure  # where it is

from scstream.plot import overview  # where it is


def rows(d, n=80):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)) + 12.0 * (np.arange(n) % 2)[:, None]


@pytest.mark.parametrize("d", [1, 2, 5])
def test_numbers_of_any_width(d):
    X = rows(d)
    ax = overview(ScStream(random_state=0).fit(X), X)
    assert ax.get_title() == "2 clusters"
    drawn = ax.patches if d == 1 else ax.collections[0].get_offsets()
    assert len(drawn) == 80 if d > 1 else len(drawn) > 2


def test_mixed_columns_and_words_alone():
    X = rows(2)
    frame = pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "w": np.where(X[:, 0] > 6, "a", "b")})
    given = Figure().subplots()
    assert overview(ScStream("auto", random_state=0).fit(frame), frame, ax=given) is given
    assert "x" in given.get_xlabel() + given.get_ylabel()
    words = frame[["w"]]
    model = ScStream("categorical", random_state=0).fit(words)
    ax = overview(model, words)
    assert ax.get_xlabel() == "share"
    assert len(ax.patches) == model.n_clusters_
