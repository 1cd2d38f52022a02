"""Models that learned apart, merged: the clusters of one model, in any order, that learns on."""

import itertools
from datetime import timedelta
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score
from streams import snapshot

import scstream
from examples import example
from scstream import Gaussian, Product, Rules, ScStream, divide, merge
from scstream.datasets import gaussian_stream
from scstream.families import BY_NAME

CENTRES = np.array([[0.0, 0.0], [12.0, 0.0], [0.0, 12.0], [12.0, 12.0], [24.0, 6.0]])


def rows(n: int, seed: int, which=range(5), shift: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of clusters that lie 12 deviations apart, and their clusters."""
    rng = np.random.default_rng(seed)
    y = rng.choice(list(which), size=n)
    return CENTRES[y] + shift + rng.normal(size=(n, 2)), y


def learned(seed: int, n_batches: int = 4, n: int = 400, **more) -> ScStream:
    """Return a model that learned rows of its own; ``more`` goes to `rows` or to the model."""
    of_rows = {name: more.pop(name) for name in ("which", "shift") if name in more}
    start = more.pop("start", 0)
    model = ScStream(random_state=seed, max_sweeps=20, **more)
    for b in range(n_batches):
        X = rows(n, 100 * seed + b, **of_rows)[0]
        model.partial_fit(X, time=float(start + b))
    return model


def partition(model: ScStream, X) -> frozenset[frozenset[int]]:
    """Return which rows are together, whatever ids they have."""
    labels = model.predict(X)
    return frozenset(frozenset(np.flatnonzero(labels == i).tolist()) for i in np.unique(labels))


@pytest.fixture(scope="module")
def four() -> list[ScStream]:
    """Return four models: of different clusters, numbers of rows and seeds."""
    which = [range(5), (0, 1, 2), (2, 3), (4, 0)]
    return [
        learned(seed, n=n, which=some)
        for seed, (some, n) in enumerate(zip(which, (400, 700, 150, 300), strict=True))
    ]


X, Y = rows(500, 99)


# -- what is found ------------------------------------------------------------------------------


def test_the_union_of_clusters_is_found(four) -> None:
    model = merge(four)
    assert model.n_clusters_ == 5
    assert adjusted_rand_score(Y, model.predict(X)) > 0.99
    counts = sum(m._learner.state.count for m in four)
    assert model._learner.state.count == pytest.approx(counts, rel=1e-9)


def test_clusters_of_one_model_each_stay_apart_where_one_model_would_keep_them() -> None:
    """Four deviations: the ratio without the entropy of labels joins clusters up to 3.4 apart."""
    rng = np.random.default_rng(0)
    models = []
    for seed, place in enumerate((0.0, 4.0)):
        own = ScStream(Gaussian(mean=0.0, mean_strength=0.01, cov=1.0, cov_strength=5.0),
                       random_state=seed)  # fmt: skip
        for _ in range(3):
            own.partial_fit(rng.normal(size=(500, 2)) + np.array([place, 0.0]))
        models.append(own)
    assert merge(models).n_clusters_ == 2


def test_parts_of_one_cluster_become_one() -> None:
    model = merge([learned(seed, which=[1]) for seed in range(6)])
    assert model.n_clusters_ == 1
    np.testing.assert_allclose(model.clusters_[0].mean, CENTRES[1], atol=0.1)
    np.testing.assert_allclose(model.clusters_[0].covariance, np.eye(2), atol=0.1)


def test_weights_add_up() -> None:
    """A model with three times the rows has three times the say."""
    model = merge([learned(0, n=900, which=[0]), learned(1, n=300, which=[1])])
    found = {tuple(c.mean.round().astype(int) // 12): c.weight for c in model.clusters_}
    assert found[(0, 0)] == pytest.approx(0.75, abs=0.02)
    _, labels = model.sample(4000, random_state=0)
    share = (labels == model.predict([[0.0, 0.0]])[0]).mean()
    assert share == pytest.approx(0.75, abs=0.04)


@pytest.mark.parametrize("births", [0.0, 1 / 3])
def test_a_stream_cut_by_row_gives_what_one_model_gives(births) -> None:
    stream = list(gaussian_stream(30, births=births, random_state=300))
    one = ScStream(random_state=0)
    parts = [ScStream(random_state=seed) for seed in range(2)]
    rng = np.random.default_rng(0)
    for batch in stream:
        one.partial_fit(batch.X)
        part = rng.integers(2, size=len(batch.X))
        for i, model in enumerate(parts):
            model.partial_fit(batch.X[part == i])
    both, last = merge(parts), stream[-1]
    ari = [adjusted_rand_score(last.y, model.predict(last.X)) for model in (one, both)]
    assert ari[1] > 0.95 * ari[0]
    assert abs(both.n_clusters_ - one.n_clusters_) <= 1


def test_days_that_were_learned_apart_follow_each_other() -> None:
    """Clusters move by two deviations and more from day to day; of days apart there would be 27."""
    stream = list(gaussian_stream(45, random_state=300))
    days = []
    for day in range(3):
        days.append(ScStream(random_state=day))
        for batch in stream[15 * day : 15 * day + 15]:
            days[-1].partial_fit(batch.X, time=batch.time)
    model, last = merge(days), stream[-1]
    assert abs(model.n_clusters_ - 20) <= 1
    alone, whole = (adjusted_rand_score(last.y, m.predict(last.X)) for m in (days[-1], model))
    assert whole > alone - 0.01
    first = set(days[0]._learner.state.ids.tolist())
    assert len(first & set(model._learner.state.ids.tolist())) >= 18  # places follow their clusters


def test_merged_and_divided_again_and_again_is_as_one_model() -> None:
    stream = list(gaussian_stream(30, random_state=302))
    one, workers = ScStream(random_state=0), [ScStream(random_state=i) for i in range(3)]
    for b, batch in enumerate(stream):
        one.partial_fit(batch.X)
        for i, worker in enumerate(workers):
            worker.partial_fit(batch.X[i::3])
        if b % 10 == 9:
            model = merge(workers)
            workers = divide(model, 3)
    last = stream[-1]
    ari = [adjusted_rand_score(last.y, m.predict(last.X)) for m in (one, model)]
    assert ari[1] > 0.97 * ari[0]
    assert abs(model.n_clusters_ - one.n_clusters_) <= 1


# -- order --------------------------------------------------------------------------------------


def test_any_order_gives_the_same_model(four) -> None:
    first = merge(four)
    for order in itertools.permutations(range(4)):
        other = merge([four[i] for i in order])
        assert snapshot(other._learner) == snapshot(first._learner)
        assert [other.id_maps_[order.index(i)] for i in range(4)] == first.id_maps_


def test_any_tree_gives_the_same_partition(four) -> None:
    a, b, c, d = four
    first = merge(four)
    trees = [
        a.merge(b).merge(c).merge(d),
        d.merge(c).merge(b).merge(a),
        a.merge(b).merge(c.merge(d)),
        merge([a.merge(d), b, c]),
    ]
    for tree in trees:
        assert partition(tree, X) == partition(first, X)
        np.testing.assert_allclose(tree.score_samples(X), first.score_samples(X), atol=0.05)


def test_trees_of_overlapping_clusters_differ_little() -> None:
    """Which of two overlapping clusters are one is decided with less known in a tree."""
    parts = [ScStream(random_state=seed) for seed in range(4)]
    stream = list(gaussian_stream(15, 800, random_state=203))
    for batch in stream:
        for i, model in enumerate(parts):
            model.partial_fit(batch.X[i::4])
    flat = merge(parts).predict(stream[-1].X)
    for i, j in ((0, 1), (0, 3)):
        rest = [m for n, m in enumerate(parts) if n not in (i, j)]
        tree = merge([merge([parts[i], parts[j]]), merge(rest)])
        assert adjusted_rand_score(tree.predict(stream[-1].X), flat) > 0.9


def test_bytes_are_merged_as_the_models_are(four) -> None:
    """In bytes the last batch has single precision."""
    data, model = merge([m.to_bytes() for m in four]), merge(four)
    assert partition(data, X) == partition(model, X)
    np.testing.assert_allclose(data.score_samples(X), model.score_samples(X), rtol=1e-5)


def test_models_stay_as_they_are(four) -> None:
    before = [m.to_bytes() for m in four]
    merge(four).partial_fit(X)
    assert [m.to_bytes() for m in four] == before


def test_more_models_than_are_matched_at_once() -> None:
    models = [learned(seed, n_batches=1, n=600) for seed in range(3)]
    models += [learned(seed, n_batches=1, n=600, which=(seed % 5, 4)) for seed in range(3, 20)]
    model = merge(models)
    assert adjusted_rand_score(Y, model.predict(X)) > 0.99
    assert [set(one) for one in model.id_maps_] == [
        set(m._learner.state.ids.tolist()) for m in models
    ]
    ids = set(model._learner.state.ids.tolist())
    assert all(set(one.values()) <= ids for one in model.id_maps_)


# -- what becomes of it -------------------------------------------------------------------------


def test_it_learns_on_like_any_other(four) -> None:
    model = merge(four)
    for seed in range(5):
        new, y = rows(300, 1000 + seed, shift=0.2 * seed)
        model.partial_fit(new)
    assert model.n_clusters_ == 5
    assert adjusted_rand_score(y, model.predict(new)) > 0.98
    assert model.time_ == max(m.time_ for m in four) + 5
    assert model.n_batches_ == 4 + 5  # those that were learned side by side are one


def test_it_is_saved_and_goes_on_bit_for_bit(four, tmp_path) -> None:
    model = merge(four)
    model.save(tmp_path / "m")
    twins = [model, ScStream.load(tmp_path / "m"), ScStream.from_bytes(model.to_bytes())]
    for twin in twins:
        twin.partial_fit(X)
    for twin in twins[1:]:
        np.testing.assert_array_equal(twin.score_samples(X), model.score_samples(X))


def test_ids_are_those_of_the_oldest_then_of_the_heaviest_part() -> None:
    old = learned(0, which=(0, 1))
    young = learned(1, which=(1, 2), start=2, n=2000)
    model = merge([young, old])
    first, second, third = model.predict(CENTRES[:3]).tolist()
    assert [first, second] == old.predict(CENTRES[:2]).tolist()
    assert third not in (first, second)
    assert model.id_maps_[1] == {i: i for i in old._learner.state.ids.tolist()}
    assert model.id_maps_[0][int(young.predict(CENTRES[1:2])[0])] == second
    light, heavy = (learned(s, which=[0, 1], n=n) for s, n in ((2, 300), (3, 900)))
    np.testing.assert_array_equal(merge([light, heavy]).predict(X), heavy.predict(X))


def test_what_became_of_ids_is_an_event(four) -> None:
    model = merge(four)
    record = model.history_[-1]
    merged = {(e.cluster, e.other) for e in model.events_ if e.kind == "merge"}
    assert merged == set(record.merges)
    for new, old in record.merges:
        assert any(own.get(old) == new for own in model.id_maps_)
    born = {e.cluster for e in model.events_ if e.kind == "birth"}
    known = set().union(*(m._learner.state.ids.tolist() for m in four))
    assert born == set(model._learner.state.ids.tolist()) - known


def test_clocks_are_aligned_by_discounting() -> None:
    early, late = learned(0, half_life=2.0), learned(1, half_life=2.0, start=4)
    model = merge([early, late])
    expected = early._learner.state.count / 4.0 + late._learner.state.count  # two half-lives
    assert model._learner.state.count <= expected * 1.0001
    assert model.time_ == late.time_
    never = [learned(s, half_life=None, start=4 * s) for s in range(2)]
    assert merge(never)._learner.state.count == pytest.approx(3200.0)


def test_dormant_clusters_come_back_under_their_old_ids() -> None:
    """One model has forgotten the cluster that the other knows, under another id."""
    forgot = learned(0, half_life=1.0)
    old = int(forgot.predict(CENTRES[4:5])[0])
    for b in range(25):
        forgot.partial_fit(rows(400, 700 + b, which=range(4))[0], time=4.0 + b)
    assert old in forgot._learner.dormant.ids
    other = learned(1, half_life=1.0, which=[4], start=27, n_batches=3)
    model = merge([forgot, other])
    assert model.predict(CENTRES[4:5]).tolist() == [old]
    assert old not in model._learner.dormant.ids
    again = merge([forgot, learned(2, half_life=1.0, which=[0, 1], start=27)])
    assert old in again._learner.dormant.ids


def test_scores_of_all_are_known(four) -> None:
    model = merge(four)
    assert model._learner.scores.seen == sum(m._learner.scores.seen for m in four)
    usual, odd = model.anomaly(X), model.anomaly([[60.0, 60.0]])
    assert 0.35 < usual.mean() < 0.65
    assert odd[0] < 1e-3


def test_backgrounds_add_up() -> None:
    rng, models = np.random.default_rng(5), []
    for seed in range(2):
        model = ScStream(outlier_weight="auto", random_state=seed, max_sweeps=30)
        for b in range(4):
            noise = rng.uniform(-20, 40, size=(40, 2))
            model.partial_fit(np.concatenate([rows(400, 10 * seed + b)[0], noise]))
        models.append(model)
    both = merge(models)
    assert both.n_clusters_ <= max(model.n_clusters_ for model in models)
    assert both.predict([[-19.0, 39.0]]).tolist() == [-1]
    assert adjusted_rand_score(Y, both.predict(X)) > 0.95
    noise = merge([models[0], learned(3, outlier_weight="auto")])
    assert noise.predict([[-19.0, 39.0]]).tolist() == [-1]


def test_outliers_of_a_given_weight_are_as_wide_as_all_first_batches() -> None:
    models = [learned(seed, outlier_weight=0.05, which=[seed]) for seed in range(2)]
    both = merge(models)
    assert both._learner.outliers.weight == 0.05
    assert both._learner.outliers.sums[0, 0] == pytest.approx(800.0)
    assert both.predict([[6.0, 40.0], [0.0, 0.0]])[0] == -1


def test_groups_are_formed_of_the_merged_clusters() -> None:
    models = [learned(seed, group_level=0.3) for seed in range(2)]
    model = merge(models)
    assert sorted(g.members for g in model.groups_) == [
        (i,) for i in sorted(model._learner.state.ids)
    ]


def test_models_that_have_few_rows_so_far_are_merged_with_these() -> None:
    """Ten rows each: none knows its clusters yet, and the next batch starts from all rows."""
    models = [learned(seed, n_batches=1, n=10) for seed in range(12)]
    model = merge(models)
    assert sum(len(kept.ids) for kept in model._learner.warmup) == 120
    model.partial_fit(rows(60, 77)[0])
    assert model.n_clusters_ == 5
    ScStream.from_bytes(model.to_bytes())


def test_tables_that_have_few_rows_so_far_are_merged_with_these() -> None:
    """Codes of words are those of the table that they came in: these met theirs in other orders."""
    family = Product({"gaussian": ["x"], "poisson": ["clicks"], "categorical": ["tree"]})
    models, rows_of = [], []
    for seed, words in enumerate((["ash", "oak"], ["oak", "ash"], ["fir", "oak"])):
        rows_of.append(table(seed, words).drop(columns="label")[:15])
        models.append(ScStream(family, random_state=seed).partial_fit(rows_of[-1]))
    model = merge(models)
    stored = model._learner.warmup
    assert sum(len(one.ids) for one in stored) == 45
    (codes,) = (block for block in model._learner.family._families if block.name == "categorical")
    names = [codes.known[0][int(row[2])] for one in stored for row in one.batch.X]
    assert sorted(names) == sorted(pd.concat(rows_of)["tree"])
    again = merge(divide(model, 3))  # which share these rows
    assert sum(len(one.ids) for one in again._learner.warmup) == 45
    weights = np.concatenate([one.batch.weight for one in again._learner.warmup])
    np.testing.assert_allclose(weights, 1.0)
    new = pd.concat([table(70, ["ash", "oak"])])
    again.partial_fit(new.drop(columns="label"))
    labels = again.predict(new.drop(columns="label"))
    assert adjusted_rand_score(new["label"], labels) > 0.95


def two_weeks(age: float) -> float:
    return 0.5 ** (age / 2.0) if age < 3.5 else 0.0


def test_with_a_kernel_the_records_of_batches_add_up() -> None:
    """Batches of one time become one record, and each is forgotten when the kernel says so."""
    models = [learned(seed, kernel=two_weeks, start=seed) for seed in range(2)]
    model = merge(models)
    assert model._learner.state.window.times.tolist() == [1.0, 2.0, 3.0, 4.0]
    weights = np.array([two_weeks(4.0 - t) for t in range(1, 5)])
    rows_of = np.array([800.0, 800.0, 800.0, 400.0])
    assert model._learner.state.count == pytest.approx(weights @ rows_of, rel=1e-9)
    assert adjusted_rand_score(Y, model.predict(X)) > 0.99
    model.partial_fit(X, time=7.0)
    assert model._learner.state.window.times.tolist() == [4.0, 7.0]
    loaded = [ScStream.from_bytes(m.to_bytes(), kernel=two_weeks) for m in models]
    assert partition(merge(loaded), X) == partition(merge(models), X)
    with pytest.raises(ValueError, match="kernels are not the same function"):
        merge([models[0].to_bytes(), models[1]])


def test_a_cluster_that_covers_two_of_others_is_divided_among_them() -> None:
    """Few rows show one model one cluster where the others have two."""
    rng = np.random.default_rng(3)
    prior = Gaussian(mean=0.0, mean_strength=0.01, cov=1.0, cov_strength=5.0)
    both = np.concatenate([rng.normal(size=(300, 2)), 7.0 + rng.normal(size=(300, 2))])
    known = [ScStream(prior, random_state=seed).partial_fit(both[seed::2]) for seed in range(2)]
    wide = ScStream(prior, max_clusters=1, random_state=2).partial_fit(both)
    wide.set_params(max_clusters=None)
    assert [m.n_clusters_ for m in known] == [2, 2]
    assert wide.n_clusters_ == 1
    model = merge([*known, wide])
    assert model.n_clusters_ == 2
    for cluster in model.clusters_:
        np.testing.assert_allclose(cluster.covariance, np.eye(2), atol=0.3)
        assert cluster.weight == pytest.approx(0.5, abs=0.03)
    only = int(wide._learner.state.ids[0])
    assert model.id_maps_[2][only] in model._learner.state.ids


def test_a_column_that_is_the_same_in_all_clusters_hides_none() -> None:
    """Had each been compared with the twelve nearest alone there would be 22."""
    rng, models = np.random.default_rng(4), []
    places = np.stack(np.meshgrid(np.arange(5), np.arange(4)), axis=-1).reshape(-1, 2) * 12.0
    for seed in range(3):
        models.append(ScStream(random_state=seed, max_sweeps=20))
        for _ in range(2):
            own = places[rng.integers(20, size=800)] + rng.normal(size=(800, 2)) + 1e6
            models[-1].partial_fit(np.column_stack([own, np.full(800, 7.0)]))
    assert [model.n_clusters_ for model in (*models, merge(models))] == [20] * 4


def test_small_clusters_count_together() -> None:
    """Less than a point in each of four parts is more than one together."""
    model = learned(0, half_life=1.0, which=[0, 1])
    for b in range(7):
        model.partial_fit(rows(400, 50 + b, which=[0])[0])
    left = model._learner.state.totals[:, 0].min()
    assert 1.0 < left < 4.0
    again = merge(divide(model, 4))
    assert again.n_clusters_ == 2
    assert again._learner.state.totals[:, 0].min() == pytest.approx(left)


def test_what_divided_models_have_in_common_counts_once() -> None:
    """However often a model is divided and merged."""
    model = learned(0, outlier_weight=0.05, n_batches=6, half_life=1.0, which=[0, 1, 2])
    for b in range(12):
        model.partial_fit(rows(400, 50 + b, which=[0, 1])[0])
    own = model._learner
    assert len(own.dormant.ids) == 1
    for _ in range(3):
        model = merge(divide(model, 4))
    again = model._learner
    assert again.n_batches == own.n_batches
    assert again.state.count == pytest.approx(own.state.count)
    assert again.scores.seen == pytest.approx(own.scores.seen)
    assert again.scores.count == pytest.approx(own.scores.count)
    assert len(again.repeats.hashes) == len(own.repeats.hashes)
    np.testing.assert_allclose(again.outliers.sums, own.outliers.sums)
    np.testing.assert_allclose(again.dormant.sums, own.dormant.sums)
    np.testing.assert_allclose(again.dormant.most, own.dormant.most)
    np.testing.assert_allclose(again.latest, own.latest, rtol=0.01)


def test_a_thousand_merges_take_no_more_memory() -> None:
    model, sizes = learned(0), []
    for b in range(1000):
        part = learned(1 + b % 3, n_batches=1, n=50, start=4 + b) if b < 3 else part  # noqa: F821
        model = model.merge(part)
        if b % 200 == 199:
            sizes.append(len(model.to_bytes()))
        assert model.n_clusters_ <= 6
    assert max(sizes) < 1.2 * min(sizes) + 2000


def test_a_divided_model_is_whole_again_when_merged(four) -> None:
    model = merge(four)
    parts = divide(model, 3)
    assert len({part._learner.seed for part in parts}) == 3
    for part in parts:
        assert part._learner.state.count == pytest.approx(model._learner.state.count / 3)
        np.testing.assert_array_equal(part.predict(X), model.predict(X))
    again = merge(parts)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again._learner.state.count == pytest.approx(model._learner.state.count)
    with pytest.raises(ValueError, match="whole number of workers"):
        divide(model, 0)


# -- families -----------------------------------------------------------------------------------

ALIKE = sorted(set(BY_NAME) - {"count-shares", "spherical"})  # whose examples are of no clusters


def some_rows(name: str, seed: int, times: int = 10):
    """Return the rows of a family's example, drawn several times."""
    rng = np.random.default_rng(seed)
    return np.concatenate([np.asarray(p) for _ in range(times) for p in example(name, rng)])


@pytest.mark.parametrize("name", ALIKE)
def test_models_of_each_family_are_merged(name) -> None:
    models = []
    for seed in range(3):
        models.append(ScStream(name, random_state=seed, max_sweeps=20))
        for b in range(3):
            models[-1].partial_fit(some_rows(name, 10 * seed + b))
    new = some_rows(name, 77)
    model = merge(models)
    assert model.n_clusters_ == max(m.n_clusters_ for m in models)
    assert adjusted_rand_score(models[0].predict(new), model.predict(new)) > 0.9
    assert np.isfinite(model.partial_fit(new).score_samples(new)).all()


def table(seed: int, words) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=300)
    return pd.DataFrame(
        {
            "x": rng.normal(8.0 * y),
            "clicks": rng.poisson(2 + 12 * y).astype(float),
            "tree": np.where(rng.random(300) < 0.9, np.array(words)[y], "elm"),
            "label": y,
        }
    )


def test_tables_that_met_their_words_in_another_order_are_merged() -> None:
    family = Product({"gaussian": ["x"], "poisson": ["clicks"], "categorical": ["tree"]})
    models = []
    for seed, words in enumerate((["ash", "oak"], ["fir", "ash"])):
        models.append(ScStream(family, random_state=seed))
        for b in range(3):
            models[-1].partial_fit(table(10 * seed + b, words).drop(columns="label"))
    model = merge(models)
    new = pd.concat([table(70, ["ash", "oak"]), table(71, ["fir", "ash"])])
    labels = model.predict(new.drop(columns="label"))
    assert adjusted_rand_score(new["label"], labels) > 0.98
    assert list(model.feature_names_in_) == ["x", "clicks", "tree"]
    for cluster in model.clusters_:  # by the share of each word in its rows
        rows_of = new["tree"][labels == cluster.id].value_counts(normalize=True)
        shares = cluster.columns["tree"]
        shares = shares.get("probabilities", shares)
        for word in ("ash", "oak", "fir"):
            assert shares.get(word, 0.0) == pytest.approx(rows_of.get(word, 0.0), abs=0.12)


# -- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"family": "diagonal"}, "families are 'gaussian' and 'diagonal'"),
        ({"alpha": 2.0}, "alpha is 1.0 in one and 2.0 in the other"),
        ({"half_life": 3.0}, "half_life is 'auto' in one and 3.0"),
        ({"max_clusters": 7}, "max_clusters"),
        ({"outlier_weight": "auto"}, "outlier_weight"),
        ({"rules": Rules(follow=False)}, "rules"),
        ({"kernel": lambda age: float(age < 3)}, "kernel"),
    ],
)
def test_other_requests_are_refused(options, match) -> None:
    with pytest.raises(ValueError, match=match):
        merge([learned(0, n_batches=1), learned(1, n_batches=1, **options)])


def test_other_columns_and_units_are_refused() -> None:
    one = learned(0, n_batches=1)
    for other, match in (
        (ScStream(random_state=0).partial_fit(np.c_[X, X]), "one has 2 columns, the other 4"),
        (ScStream(random_state=0).partial_fit(1000.0 * X), "spreads by .*units must be the same"),
        (
            ScStream(random_state=0).partial_fit(X, time="2026-01-01"),
            "times of .* are dates",
        ),
    ):
        with pytest.raises(ValueError, match=match):
            merge([one, other])
    a, b = (
        ScStream(random_state=0).partial_fit(pd.DataFrame(X, columns=names))
        for names in (["a", "b"], ["a", "c"])
    )
    with pytest.raises(ValueError, match="column 1 is 'b' in one and 'c' in the other"):
        merge([a, b])


@pytest.mark.parametrize(
    ("common", "straight", "match"),
    [
        (3.0, False, "the common value of a column differs"),
        (0.0, True, "scales of their column ., .* differ by"),
    ],
)
def test_rows_that_are_summed_up_otherwise_are_refused(common, straight, match) -> None:
    """Amounts of one model go by their logarithms, those of the other as they are."""
    rng, models = np.random.default_rng(0), []
    for value, plain in ((0.0, False), (common, straight)):
        amounts = np.exp(rng.normal(np.log(300.0), 2.0, (400, 2)))
        if plain:
            amounts = rng.normal(0.0, 300.0, (400, 2))
        amounts[rng.random(amounts.shape) < 0.3] = value
        models.append(ScStream("hurdle", random_state=0).partial_fit(amounts))
    with pytest.raises(ValueError, match=match):
        merge(models)


def test_equal_lengths_of_time_are_equal() -> None:
    models = [
        ScStream(half_life=half_life, random_state=0).partial_fit(X, time="2026-01-01")
        for half_life in ("1d", timedelta(days=1))
    ]
    assert merge(models).n_clusters_ == 5


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(ValueError, match="no model to merge"):
        merge([])
    with pytest.raises(TypeError, match="Model 1 is of type str"):
        merge([ScStream(), "model"])
    with pytest.raises(TypeError, match="takes a list of models"):
        merge(ScStream().to_bytes())


def test_a_model_that_learned_nothing_adds_nothing(four) -> None:
    one, fresh = four[0], partial(ScStream, max_sweeps=20)
    model = merge([fresh(), one, fresh()])
    np.testing.assert_array_equal(model.predict(X), one.predict(X))
    assert model.id_maps_[0] == {}
    assert merge([fresh(), fresh()]).n_batches_ == 0
    assert scstream.merge is merge
