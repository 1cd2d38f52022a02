"""Groups of a model: shapes are found whole, Gaussians stay apart, ids last."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from scstream import ScStream
from scstream.datasets import gaussian_stream, multinomial_stream
from scstream.metrics import Contingency
from scstream.plot import ClusterColors, plot_groups, plot_tree

CENTRES = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0], [9.0, 9.0]])


def squares(b, n=1000):
    rng = np.random.default_rng([7, b])
    y = rng.integers(4, size=n)
    return CENTRES[y] + 0.03 * b + rng.uniform(-2, 2, size=(n, 2)), y


def log_normals(b, n=1000):
    rng = np.random.default_rng([8, b])
    y = rng.integers(4, size=n)
    return 2.0 * CENTRES[y] + np.exp(0.7 * rng.normal(size=(n, 2))), y


def ring_and_spot(b, n=1000):
    rng = np.random.default_rng([9, b])
    y = rng.integers(2, size=n)
    angle, radius = rng.uniform(0, 2 * np.pi, n), 5.0 + 0.3 * rng.normal(size=n)
    ring = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    return np.where(y[:, None] == 0, ring, 0.6 * rng.normal(size=(n, 2))), y


def learned(draw, n_batches=8, **params):
    model = ScStream(random_state=1, **params)
    for b in range(n_batches):
        model.partial_fit(draw(b)[0])
    return model


@pytest.mark.parametrize("draw", [squares, log_normals, ring_and_spot])
def test_a_shape_is_one_group(draw):
    model = learned(draw)
    X, y = draw(8)
    assert model.n_clusters_ > 1.5 * len(np.unique(y))  # there is something to be joined
    assert Contingency.from_labels(y, model.predict(X)).ari < 0.8
    assert Contingency.from_labels(y, model.predict_group(X)).ari > 0.95
    # a cluster of a few stray rows, which touches no other, may be a group by itself
    assert sum(group.weight > 0.01 for group in model.groups_) == len(np.unique(y))


def overlapping(b, n=1000):
    rng = np.random.default_rng([10, b])
    y = rng.integers(4, size=n)
    return 3.4 * CENTRES[y] / 9.0 + rng.normal(size=(n, 2)) * [0.9, 1.1], y


@pytest.mark.parametrize("level", [None, 0.3])
def test_gaussians_that_overlap_stay_apart(level):
    model, scores = ScStream(random_state=1, group_level=level), []
    for b in range(25):
        X, y = overlapping(b)
        model.partial_fit(X)
        if b >= 10:
            clusters = Contingency.from_labels(y, model.predict(X)).ari
            scores.append((clusters, Contingency.from_labels(y, model.predict_group(X)).ari))
    clusters, groups = np.mean(scores, axis=0)
    assert clusters > 0.6
    assert groups > clusters - 0.05


@pytest.mark.parametrize(("d", "box"), [(5, 20.0), (16, 8.0)])
def test_separated_gaussians_are_groups_of_their_own(d, box):
    stream = gaussian_stream(6, 1000, 12, d, box=box, speed=0.5, random_state=2)
    model = ScStream(random_state=0)
    for batch in stream:
        model.partial_fit(batch.X)
    assert len(model.groups_) == model.n_clusters_ == 12


def test_groups_add_up_to_the_clusters():
    model = learned(squares)
    groups, clusters = model.groups_, {c.id: c for c in model.clusters_}
    assert sorted(i for g in groups for i in g.members) == sorted(clusters)
    for group in groups:
        mine = [clusters[i] for i in group.members]
        assert group.count == pytest.approx(sum(c.count for c in mine))
        assert group.weight == pytest.approx(sum(c.weight for c in mine))
        mean = np.average([c.mean for c in mine], axis=0, weights=[c.count for c in mine])
        np.testing.assert_allclose(group.mean, mean)
    X, _ = squares(8)
    owner = {i: g.id for g in groups for i in g.members}
    assert model.predict_group(X).tolist() == [owner[i] for i in model.predict(X).tolist()]
    proba = model.predict_group_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    for column, group in enumerate(groups):
        places = [list(clusters).index(i) for i in group.members]
        np.testing.assert_allclose(proba[:, column], model.predict_proba(X)[:, places].sum(axis=1))


def test_levels_go_from_clusters_to_one_whole():
    model = learned(squares)
    assert len(model.groups(1.0)) == 1
    assert len(set(model.tree_.cut(4).tolist())) == 4
    assert len(model.groups(0.0)) >= len(model.groups_)
    for wrong in (-0.1, 1.1, "deep", np.nan, True):
        with pytest.raises(ValueError, match="level must be a number in"):
            model.groups(wrong)
        with pytest.raises(ValueError, match=r"level must be|group_level must be"):
            ScStream(group_level=wrong).partial_fit(squares(0)[0]).groups(wrong)


def test_ids_last_while_clusters_come_and_go():
    model, seen = ScStream(random_state=1), []
    for b in range(30):
        X, y = squares(b)
        model.partial_fit(X)
        if b >= 5:
            seen.append(Contingency.from_labels(y, model.predict_group(X)))
    whole = sum(seen[1:], start=seen[0])
    assert max(r.n_clusters for r in model.history_) > 8
    assert whole.nmi > 0.95


def test_asking_changes_nothing():
    plain, asked = ScStream(random_state=3), ScStream(random_state=3, group_level=0.3)
    for b in range(6):
        X = squares(b)[0]
        np.testing.assert_array_equal(plain.partial_fit(X).labels_, asked.partial_fit(X).labels_)
    assert [c.id for c in plain.clusters_] == [c.id for c in asked.clusters_]
    assert {g.members for g in plain.groups_} == {g.members for g in asked.groups_}


def test_groups_are_the_same_on_any_number_of_threads():
    one, many = learned(squares, n_jobs=1), learned(squares, n_jobs=2)
    assert one.tree_.heights.tobytes() == many.tree_.heights.tobytes()
    assert one.groups_ == many.groups_


def test_a_loaded_model_goes_on_with_its_groups(tmp_path):
    model = learned(squares, group_level=0.3)
    model.save(tmp_path / "model.scs")
    again = ScStream.load(tmp_path / "model.scs")
    assert again.groups_ == model.groups_
    for b in range(8, 12):
        X = squares(b)[0]
        assert again.partial_fit(X).groups_ == model.partial_fit(X).groups_
    assert again.tree_.heights.tobytes() == model.tree_.heights.tobytes()


@pytest.mark.parametrize("level", [0.3, 3])
@pytest.mark.parametrize("family", ["gaussian", "auto"])
def test_batches_of_any_size_are_saved_between(tmp_path, family, level):
    model, again = ScStream(family, random_state=1, group_level=level), None
    for b, n in enumerate((5000, 300, 70, 400)):
        X, y = squares(b, n)
        table = {"x": X[:, 0], "y": X[:, 1], "land": np.where(y == 3, "DE", "FR")}
        rows = X if family == "gaussian" else pd.DataFrame(table)
        groups = model.partial_fit(rows).groups_
        if again is not None:
            assert again.partial_fit(rows).groups_ == groups
        model.save(tmp_path / "model")
        again = ScStream.load(tmp_path / "model")
        assert again.groups_ == groups


def test_so_many_groups_as_are_asked_for():
    model = learned(squares)
    X = squares(8)[0]
    for n in (1, 2, 5, 1000):
        assert len(model.groups(n=n)) == min(n, model.n_clusters_)
        assert {g.id for g in model.groups(n=n)} >= set(model.predict_group(X, n=n).tolist())
        assert model.predict_group_proba(X, n=n).shape == (len(X), len(model.groups(n=n)))
    two, four = ({i: g.id for g in model.groups(n=n) for i in g.members} for n in (2, 4))
    assert len({(two[i], four[i]) for i in two}) == 4  # one is within the other
    for wrong in ({"n": 0}, {"n": 2.5}, {"n": 2, "level": 0.3}, {"level": 1.5}):
        with pytest.raises(ValueError, match=r"group|not both"):
            model.groups(**wrong)


def test_no_row_is_saved_unless_it_waits_to_be_looked_at(tmp_path):
    for name, level, n in (("plain", None, 1000), ("asked", 0.3, 1000), ("small", 0.3, 60)):
        draw = overlapping if name == "small" else squares
        model = learned(lambda b, f=draw, n=n: f(b, n), 24 if n < 100 else 8, group_level=level)
        model.save(tmp_path / name)
        again = ScStream.load(tmp_path / name)
        waiting = sum(len(X) for X in again._grouping.pending)
        assert {"plain": waiting == 0, "asked": waiting < 3000, "small": 0 < waiting < 3000}[name]
        assert sum(len(group.members) for group in again.groups_) == again.n_clusters_
        if name != "plain":
            assert [g.members for g in again.groups_] == [g.members for g in model.groups_]


def test_events_say_which_groups_merge_and_split():
    kinds = set()
    for seed in range(1, 5):
        told, names = [], []
        model = ScStream(random_state=seed, group_level=0.3, on_event=told.append)
        for gap in (6.0, 6.0, 6.0, 3.0, 0.0, 0.0, 0.0, 0.0, 3.0, 6.0, 6.0, 6.0, 6.0):
            rng = np.random.default_rng(len(names))
            X = rng.uniform(-2, 2, size=(1000, 2))
            X[:500, 0] += 4.0 + gap
            model.partial_fit(X)
            names.append({g.id for g in model.groups_})
        kinds |= {event.kind for event in told}
        known = set()
        for before, after in pairwise(names):
            known |= before
            assert not (after - before) & known  # what is gone never comes back
        for event in told:
            if event.kind.startswith("group-"):
                assert event.to_dict()["other"] != event.cluster
    assert {"group-merge", "group-split"} <= kinds


def test_any_family_has_groups():
    model = ScStream("multinomial", random_state=0)
    for batch in multinomial_stream(4, 500, random_state=0):
        model.partial_fit(batch.X)
    assert len(model.groups_) > 1
    assert set(model.predict_group(batch.X).tolist()) <= {g.id for g in model.groups_}
    one = ScStream(random_state=0).partial_fit(np.random.default_rng(0).normal(size=(300, 1)))
    assert len(one.groups_) == 1
    same = ScStream(random_state=0).partial_fit(np.ones((50, 3)))
    assert [g.members for g in same.groups_] == [(0,)]


@pytest.mark.parametrize("family", ["diagonal", "spherical"])
def test_other_gaussians_are_grouped_by_valleys(family):
    model = learned(squares, family=family)
    X, y = squares(8)
    assert Contingency.from_labels(y, model.predict_group(X)).ari > 0.95


def test_tables_of_several_kinds_of_columns_have_groups():
    rng = np.random.default_rng(0)
    z = rng.integers(2, size=400)
    table = np.empty((400, 3), dtype=object)
    table[:, 0], table[:, 1] = rng.normal(20.0 * z, 1.0), np.where(z, "DE", "FR")
    table[:, 2] = rng.poisson(np.where(z, 30, 5))
    model = ScStream("auto", random_state=0).partial_fit(table).partial_fit(table)
    members = sorted(i for group in model.groups_ for i in group.members)
    assert members == [cluster.id for cluster in model.clusters_]
    assert len(np.unique(model.predict_group(table))) == 2


def test_pictures_of_groups():
    plt = pytest.importorskip("matplotlib.pyplot", reason="Matplotlib is not installed")
    model = learned(squares, 4)
    fig, (left, right) = plt.subplots(1, 2)
    colors = ClusterColors()
    assert plot_groups(model, squares(4)[0], colors=colors, ax=left) is left
    assert set(colors) == {g.id for g in model.groups_}
    assert len(left.patches) == model.n_clusters_
    assert plot_tree(model, ax=right) is right
    assert len(right.collections) > 0
    plt.close(fig)


def test_shapes_in_many_columns_are_one_group():
    """L shapes in a plane of 120 columns, which the family describes by a few coordinates."""
    # broken on purpose (rows of more than 100 columns are not looked at): 8 groups and more
    rng, n = np.random.default_rng(5), 2000
    plane = np.linalg.qr(rng.normal(size=(120, 2)))[0]
    model = ScStream(random_state=0, n_jobs=1, group_level=0.3)
    for _ in range(4):
        y, along, across = rng.integers(4, size=n), rng.uniform(-4, 4, n), rng.uniform(-0.6, 0.6, n)
        flat, steep = np.column_stack([-along, across]), np.column_stack([across, along])
        X = 1.5 * CENTRES[y] + np.where(along[:, None] < 0.0, flat, steep)
        X = X @ plane.T + 0.1 * rng.normal(size=(n, 120))
        model.partial_fit(X)
    assert model.n_clusters_ > 6
    assert len(model.groups_) == 4
    assert Contingency.from_labels(y, model.predict_group(X)).ari > 0.98
