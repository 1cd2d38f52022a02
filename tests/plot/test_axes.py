"""Every function that draws takes axes, or makes a picture of its own."""

import inspect

import numpy as np
import pytest

import scstream.plot
from scstream import ScStream

plt = pytest.importorskip("matplotlib.pyplot", reason="Matplotlib is not installed")

X = np.random.default_rng(0).normal(size=(200, 2)) + np.repeat([[0.0], [9.0]], 100, axis=0)
MODEL = ScStream(random_state=0).fit(X)
WEIGHTS = [{0: 0.5, 1: 0.5}, {0: 0.4, 1: 0.6}]
GIVEN = {
    "overview": (MODEL, X),
    "plot_clusters": (MODEL, X),
    "plot_ellipses": ({0: [0.0, 0.0]}, {0: np.eye(2)}),
    "plot_groups": (MODEL, X),
    "plot_tree": (MODEL,),
    "plot_paths": ({0: [[0.0, 0.0], [1.0, 1.0]]},),
    "plot_river": ([0.0, 1.0], WEIGHTS),
    "plot_n_clusters": ([0.0, 1.0], [2, 3]),
    "plot_scores": ([0.0, 1.0], {0.5: [1.0, 2.0]}),
}
WRONG = {
    "overview": (MODEL, X[:, :1]),
    "plot_clusters": (MODEL, X[:, :1]),
    "plot_groups": (MODEL, X[:, :1]),
    "plot_tree": (ScStream(random_state=0).fit(X[:100]),),
    "plot_paths": ({0: [[0.0], [1.0]]},),
    "plot_river": ([0.0], WEIGHTS),
    "plot_n_clusters": ([0.0], [2, 3]),
    "plot_scores": ([0.0], {0.5: [1.0, 2.0]}),
}


@pytest.fixture(autouse=True)
def no_pictures():
    plt.close("all")
    yield
    plt.close("all")


def test_all_of_them_are_here():
    drawing = {name for name in scstream.plot.__all__ if name.startswith("plot_")}
    assert drawing | {"overview"} == set(GIVEN)


@pytest.mark.parametrize("name", GIVEN)
def test_axes_are_optional(name):
    draw = getattr(scstream.plot, name)
    assert inspect.signature(draw).parameters["ax"].default is None
    own = draw(*GIVEN[name])
    assert plt.get_fignums() == [own.figure.number]  # which plt.show() shows
    assert own.has_data() or own.patches
    _, given = plt.subplots()
    assert draw(*GIVEN[name], ax=given) is given
    assert len(plt.get_fignums()) == 2


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_drawn_leaves_no_empty_picture(name):
    with pytest.raises(ValueError, match=r"."):
        getattr(scstream.plot, name)(*WRONG[name])
    assert plt.get_fignums() == []
