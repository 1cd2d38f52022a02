"""The projection: axes that part the clusters, that stay, and that can be kept in a file."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from scstream import ScStream
from scstream.plot import Projection, plot_clusters, plot_paths


@pytest.fixture(scope="module")
def blobs():
    """Three clusters that differ in columns 1 and 3 of five, in units a thousand apart."""
    rng = np.random.default_rng(0)
    means = np.zeros((3, 5))
    means[1, 1], means[2, 3] = 40.0, 40.0
    units = np.array([1000.0, 0.1, 1.0, 10.0, 500.0])
    return (means.repeat(100, axis=0) + rng.standard_normal((300, 5))) * units


@pytest.fixture(scope="module")
def model(blobs):
    return ScStream(random_state=0).partial_fit(blobs)


def test_clusters_lie_apart_whatever_the_units(model, blobs):
    assert model.n_clusters_ == 3
    seen = Projection.from_model(model)(blobs)
    centers = [seen[model.labels_ == i].mean(axis=0) for i in range(3)]
    within = max(seen[model.labels_ == i].std(axis=0).max() for i in range(3))
    gaps = [np.linalg.norm(centers[i] - centers[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    assert min(gaps) > 10 * within


def test_axes_are_named_after_the_columns_that_matter(model):
    labels = Projection.from_model(model).labels
    assert all("column 1" in label and "column 3" in label for label in labels)
    assert not any("column 0" in label or "column 4" in label for label in labels)


def test_names_of_a_data_frame_are_used(blobs):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pd.DataFrame(blobs, columns=list("abcde"))
    label = Projection.from_model(ScStream(random_state=0).partial_fit(frame)).labels[0]
    assert "b" in label.split(": ")[1]


@pytest.mark.parametrize(
    "saved",
    [
        {},
        {"center": [0.0], "axes": [[1.0]], "labels": ["a", "b"], "unit": [None]},
        {"center": [0.0], "axes": [[1.0, 0.0]], "labels": ["a"], "unit": [None]},
        {"center": ["x"], "axes": [[1.0, 0.0]], "labels": ["a", "b"], "unit": [None]},
    ],
)
def test_what_is_no_projection_is_refused(saved):
    with pytest.raises(ValueError, match="saved projection"):
        Projection.from_dict(saved)


def test_pictures_are_drawn_through_it(model, blobs):
    view = Projection.from_model(model)
    ax = Figure().add_subplot()
    plot_clusters(model, blobs, projection=view, ax=ax)
    np.testing.assert_allclose(ax.collections[0].get_offsets(), view(blobs))
    assert (ax.get_xlabel(), ax.get_ylabel()) == view.labels
    for ellipse, cluster in zip(ax.patches, model.clusters_, strict=True):
        np.testing.assert_allclose(ellipse.center, view(cluster.mean[None])[0])
    paths = {cluster.id: [cluster.mean] for cluster in model.clusters_}
    ax = Figure().add_subplot()
    plot_paths(paths, projection=view, ax=ax)
    ends = np.array([text.xy for text in ax.texts])
    np.testing.assert_allclose(ends, view([path[-1] for path in paths.values()]))
