"""Clusters as people read them: a table, words, HTML."""

import sys

import numpy as np
import pandas as pd
import pytest

from scstream import ScStream
from scstream.records import Cluster
from scstream.summary.differences import differences


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    model = ScStream("auto", random_state=0, max_sweeps=20)
    for minute in range(2):
        z = np.arange(120) % 2
        frame = pd.DataFrame(
            {
                "x": rng.normal(20.0 * z, 1.0),
                "clicks": rng.poisson(np.where(z, 30, 5)),
                "land": np.where(z, "<b>DE", "FR"),
                "share": z == 1,
            }
        )
        model.partial_fit(frame, time=pd.Timestamp("2026-01-05") + pd.Timedelta(minutes=minute))
    return model


def test_the_summary_is_a_row_for_each_cluster(model):
    table = model.summary()
    assert list(table.index) == [c.id for c in sorted(model.clusters_, key=lambda c: -c.weight)]
    assert table["share"].is_monotonic_decreasing
    assert set(table["born"]) == {"2026-01-05 00:00:00"}
    assert set(table["age"]) == {"1m"}
    assert (table["speed"] >= 0).all()
    assert "share (column)" in table  # the data's own column hides no other
    high = table["x"].idxmax()
    assert table.loc[high, "land"].startswith("<b>DE")
    assert table.loc[high, "clicks"] == pytest.approx(30.0, rel=0.15)
    assert "clicks" in table.loc[high, "different"]


def test_columns_without_names_are_called_by_their_number():
    clusters = [
        Cluster(i, 0.5, 100.0, 1.0, 0.0, {}, {0: {"mean": 9.0 * i, "variance": 1.0}})
        for i in range(2)
    ]
    assert differences(clusters)[1] == "column 0 higher (9, others 0)"


def squares(seed, n=900):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    return 12.0 * np.column_stack([y, y % 2]) + rng.uniform(-3.0, 3.0, size=(n, 2))


def test_groups_are_a_column_where_there_are_some(model):
    assert "group" not in model.summary()  # two clusters, far apart
    parts = ScStream(random_state=0)
    for seed in range(4):
        parts.partial_fit(squares(seed))
    before = len(parts.events_)
    table = parts.summary()
    assert len(parts.events_) == before  # a look at the groups is no event
    members = {group.id: set(group.members) for group in parts.groups_}
    assert len(members) < parts.n_clusters_
    assert {i: set(part.index) for i, part in table.groupby("group")} == members
    assert "<th scope='col'>group</th>" in parts._repr_html_()


def test_groups_are_a_column_where_they_are_asked_for():
    X = squares(0)
    X[:, 0] += np.where(X[:, 0] > 6.0, 500.0, 0.0)
    model = ScStream(random_state=0, group_level=0.3, max_clusters=2).fit(X)
    assert sorted(model.summary()["group"]) == [group.id for group in model.groups_]


def test_without_pandas_it_is_of_polars(model, monkeypatch):
    polars = pytest.importorskip("polars", reason="Polars is not installed")
    monkeypatch.setitem(sys.modules, "pandas", None)
    table = model.summary()
    assert isinstance(table, polars.DataFrame)
    assert len(table) == model.n_clusters_
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match="pandas or polars"):
        model.summary()


def test_centers_are_means_rates_and_probabilities(model):
    centers = model.cluster_centers_
    assert centers.shape == (model.n_clusters_, 4)
    assert np.isnan(centers[:, 2]).all()  # words
    assert np.isfinite(centers[:, [0, 1, 3]]).all()


def test_html_escapes_what_comes_from_data(model):
    page = model._repr_html_()
    assert "&lt;b&gt;DE" in page
    assert "<b>DE" not in page
    assert "2026-01-05 00:01:00" in page
    assert "&lt;b&gt;DE" in model.clusters_[0]._repr_html_() + model.clusters_[1]._repr_html_()
    assert "half_life" in ScStream()._repr_html_()  # its parameters, before the first batch


def test_a_cluster_in_a_notebook_has_words_for_its_columns_and_its_age(model):
    page = model.clusters_[0]._repr_html_()
    age = model.summary()["age"].tolist()
    assert any(f"age {length}<" in page for length in age)
    assert "probability" in page.replace("probabilities", "")
    assert "<th scope='col'>values</th>" in page
    numbers = Cluster(3, 0.5, 10.0, 90.0, 0.0, {}, {"x": {"mean": 1.0}, "y": {"mean": 2.0}})
    assert "<th scope='col'>mean</th>" in numbers._repr_html_()
    assert "age 90" in numbers._repr_html_()


def cluster(i, weight, **columns):
    return Cluster(i, weight, 10.0, 1.0, 0.0, {}, columns)


def test_what_is_different_in_words():
    def of(mean, p, words, weight=0.5):
        return cluster(
            0, weight, x={"mean": mean, "variance": 1.0}, flag={"probability": p},
            land={"probabilities": words},
        )  # fmt: skip

    a, b = of(0.0, 0.1, {"DE": 0.9, "FR": 0.1}), of(5.0, 0.12, {"DE": 0.85, "FR": 0.15})
    assert differences([a, b]) == ["x lower (0, others 5)", "x higher (5, others 0)"]
    same = of(0.0, 0.1, {"DE": 0.9, "FR": 0.1})
    assert differences([a, same]) == ["much like the rest"] * 2
    assert differences([a]) == [""]
    c = of(0.2, 0.9, {"FR": 1.0})
    assert differences([a, c])[1] == "land mostly FR, flag 90% (others 10%)"
    rates = [cluster(i, 0.5, n={"rate": r}) for i, r in enumerate((2.0, 20.0))]
    assert differences(rates) == ["n 10 times lower", "n 10 times as high"]


def test_the_rest_is_weighed():
    heavy = cluster(1, 0.8, x={"mean": 0.0, "variance": 1.0})
    light = cluster(2, 0.1, x={"mean": 90.0, "variance": 1.0})
    one = cluster(0, 0.1, x={"mean": 50.0, "variance": 1.0})
    assert differences([one, heavy, light])[0] == "x higher (50, others 10)"
    like = cluster(0, 0.1, x={"mean": 10.0, "variance": 1.0})
    assert differences([like, heavy, light])[0] == "much like the rest"


def test_what_differs_most_is_said_where_nothing_is_clear():
    def two(a, b):
        return differences([cluster(i, 0.5, x=about) for i, about in enumerate((a, b))])

    near = [{"mean": mean, "variance": 400.0} for mean in (2001.3, 1984.0)]
    assert two(*near) == ["x higher (2,001, others 1,984)", "x lower (1,984, others 2,001)"]
    budget = [{"median": 10.0**e, "low": 0.5 * 10.0**e, "high": 2 * 10.0**e} for e in (4, 8)]
    assert two(*budget)[1] == "x higher (100,000,000, others 10,000)"
    wide = [{"mean": 0.0, "variance": v, "low": -(v**0.5), "high": v**0.5} for v in (1.0, 81.0)]
    assert two(*wide)[0] == "x less varied (-1 to 1)"
    flags = [{"probability": p} for p in (0.5, 0.6)]
    assert two(*flags) == ["x 50% (others 60%)", "x 60% (others 50%)"]


def test_one_batch_has_no_times():
    model = ScStream(random_state=0, max_sweeps=5).fit(squares(1, n=60))
    assert not {"born", "age", "speed"} & set(model.summary())
    assert "<th scope='col'>age</th>" not in model._repr_html_()
