"""Pictures: colours that stay, ellipses in the right place, errors that help."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from scstream import ScStream
from scstream.plot import (
    PALETTE,
    ClusterColors,
    plot_clusters,
    plot_paths,
)


@pytest.fixture
def ax():
    return Figure().add_subplot()


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(0)
    means = np.array([[0.0, 0.0], [30.0, 0.0], [0.0, 30.0]])
    return means.repeat(100, axis=0) + rng.standard_normal((300, 2))


@pytest.fixture
def model(blobs):
    return ScStream(random_state=0).partial_fit(blobs)


def record(cluster_id, mean, covariance):
    return SimpleNamespace(id=cluster_id, mean=np.array(mean), covariance=covariance)


def test_colors_are_given_in_order_of_sight_and_kept():
    colors = ClusterColors()
    seen = [colors[i] for i in (40, 3, 17)]
    assert seen == list(PALETTE[:3])
    assert [colors[i] for i in (17, 3, 40)] == seen[::-1]


def test_clusters_points_and_ids_share_their_colors(ax, model, blobs):
    colors = ClusterColors()
    assert plot_clusters(model, blobs, colors=colors, ax=ax) is ax
    assert set(colors) == {record.id for record in model.clusters_}
    edges = {to_hex(patch.get_edgecolor()) for patch in ax.patches}
    assert edges == {color.lower() for color in colors.values()}
    drawn = [to_hex(face) for face in ax.collections[0].get_facecolors()]
    assert drawn == [colors[i].lower() for i in model.predict(blobs)]
    assert {text.get_text() for text in ax.texts} == {str(i) for i in colors}


def test_ellipse_holds_95_percent_of_its_cluster(ax):
    rng = np.random.default_rng(1)
    mean, covariance = [3.0, -1.0], np.array([[4.0, 1.5], [1.5, 1.0]])
    X = rng.multivariate_normal(mean, covariance, size=20_000)
    model = SimpleNamespace(clusters_=[record(0, mean, covariance)])
    plot_clusters(model, X, labels=np.zeros(len(X), dtype=int), ax=ax)
    (ellipse,) = ax.patches
    inside = ellipse.get_patch_transform().inverted().transform(X)
    share = (np.linalg.norm(inside, axis=1) <= 1.0).mean()
    assert share == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / len(X)))


def test_chosen_features_are_drawn(ax):
    covariance = np.diag([1.0, 4.0, 9.0])
    model = SimpleNamespace(clusters_=[record(0, [1.0, 2.0, 3.0], covariance)])
    X = np.arange(6.0).reshape(2, 3)
    plot_clusters(model, X, labels=[0, 0], features=(2, 0), ax=ax)
    (ellipse,) = ax.patches
    assert tuple(ellipse.center) == (3.0, 1.0)
    np.testing.assert_array_equal(ax.collections[0].get_offsets(), X[:, [2, 0]])


@pytest.mark.parametrize("features", [(0, 2), (-1, 0)])
def test_columns_that_do_not_exist_are_named(ax, features):
    with pytest.raises(ValueError, match=r"features .* of an array of shape \(4, 2\)"):
        plot_clusters(None, np.zeros((4, 2)), labels=np.zeros(4), features=features, ax=ax)


def test_missing_matplotlib_names_the_extra(ax, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"scstream\[plot\]"):
        plot_paths({}, ax=ax)
