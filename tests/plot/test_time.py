"""Pictures over time: bands that add up, colours that stay, quantiles as bands and lines."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from scstream.plot import (
    OTHERS_COLOR,
    ClusterColors,
    plot_river,
    plot_scores,
)

WEIGHTS = [{7: 0.6, 2: 0.3}, {7: 0.5, 2: 0.2, 9: 0.2}, {7: 0.1, 9: 0.8}]


@pytest.fixture
def ax():
    return Figure().add_subplot()


def heights(band):
    """Return the thickness of a band of the river at each of its times."""
    corners = band.get_paths()[0].vertices
    times = np.unique(corners[:, 0])
    return np.array([np.ptp(corners[corners[:, 0] == t, 1]) for t in times])


def test_river_shows_the_shares_in_the_clusters_colors(ax):
    colors = ClusterColors()
    plot_river([0.0, 1.0, 3.0], WEIGHTS, colors=colors, ax=ax)
    assert list(colors) == [2, 7, 9]  # by first sight, then by id
    drawn = dict(zip(colors, ax.collections, strict=True))
    for cluster_id, band in drawn.items():
        assert to_hex(band.get_facecolor()[0]) == colors[cluster_id].lower()
        shares = [w.get(cluster_id, 0.0) / sum(w.values()) for w in WEIGHTS]
        np.testing.assert_allclose(heights(band), shares, atol=1e-12)
    assert ax.get_ylim() == (0.0, 1.0)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("time", "share of the stream")


def test_small_clusters_flow_together(ax):
    plot_river([0, 1, 2], WEIGHTS, top=2, ax=ax)
    assert len(ax.collections) == 3
    rest = ax.collections[-1]
    assert to_hex(rest.get_facecolor()[0]) == OTHERS_COLOR.lower()
    np.testing.assert_allclose(heights(rest), [3 / 9, 2 / 9, 0.0], atol=1e-12)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["all others"]


def test_scores_have_bands_a_middle_and_the_lowest(ax):
    base = np.arange(4.0)
    shift = {0.05: -2, 0.25: -1, 0.5: 0, 0.75: 1, 0.95: 2, 0.0: -5}
    plot_scores(range(4), {share: base + by for share, by in shift.items()}, ax=ax)
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert sorted(names) == [
        "50 % of the rows",
        "90 % of the rows",
        "half of the rows",
        "the lowest",
    ]
    outer, inner = (band.get_paths()[0].vertices for band in ax.collections)
    assert (np.ptp(outer[outer[:, 0] == 0, 1]), np.ptp(inner[inner[:, 0] == 0, 1])) == (4.0, 2.0)
    bottom, middle = ax.lines
    np.testing.assert_array_equal(middle.get_ydata(), base)
    np.testing.assert_array_equal(bottom.get_ydata(), base - 5)
