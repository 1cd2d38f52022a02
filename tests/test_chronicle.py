"""The chronicle: what it notes, that its memory is bounded, files that are read as they grow."""

import json
import tracemalloc

import numpy as np
import pytest

from scstream import Product, ScStream
from scstream.chronicle import QUANTILES, Chronicle, ChronicleError, Moment, Score
from scstream.chronicle.outline import Outline, events_in
from scstream.datasets import gaussian_stream
from scstream.groups.lasting import Lasting
from scstream.plot import Projection
from scstream.records import BatchRecord


def follow(n_batches=6, n_features=3, chronicle=None, **options):
    """Return a chronicle of a small stream, its text, and the model at the end."""
    model = ScStream(random_state=0, **options)
    chronicle = Chronicle() if chronicle is None else chronicle
    text = ""
    stream = gaussian_stream(
        n_batches, 80, n_clusters=4, n_features=n_features, births=0.5, random_state=3
    )
    for batch in stream:
        scores = model.score_samples(batch.X) if model.n_batches_ else None
        text += chronicle.text(chronicle.observe(model.partial_fit(batch.X), scores))
    return chronicle, text, model


@pytest.fixture(scope="module")
def followed():
    return follow()


def moment(batch, events=(), k=2):
    return Moment(
        batch=batch,
        time=float(batch),
        n_points=10,
        ids=np.arange(k),
        weights=np.full(k, 1.0 / k),
        counts=np.full(k, 5.0),
        born=np.zeros(k),
        events=tuple(events),
    )


def fed(n, limit, **options):
    chronicle = Chronicle(limit, **options)
    for batch in range(n):
        chronicle._add(moment(batch))
    return chronicle


def same(a, b):
    """Whether two moments say the same, up to the digits that a file keeps."""
    for name in ("batch", "time", "n_points", "events"):
        assert getattr(a, name) == getattr(b, name)
    for name in ("ids", "weights", "counts", "born", "means", "places", "spreads", "speeds"):
        left, right = getattr(a, name), getattr(b, name)
        assert (left is None) == (right is None), name
        if left is not None:
            np.testing.assert_allclose(left, right, rtol=1e-6)
    assert (a.score is None) == (b.score is None)
    if a.score is not None:
        np.testing.assert_allclose(a.score.quantiles, b.score.quantiles, rtol=1e-6)


def test_last_moment_is_the_model_as_it_is(followed):
    chronicle, _, model = followed
    last, clusters = chronicle[-1], model.clusters_
    assert (last.batch, last.time, last.n_points) == (5, 5.0, 80)
    assert last.ids.tolist() == [c.id for c in clusters]
    np.testing.assert_array_equal(last.weights, [c.weight for c in clusters])
    np.testing.assert_array_equal(last.counts, [c.rows for c in clusters])
    np.testing.assert_array_equal(last.means, [c.mean for c in clusters])
    np.testing.assert_array_equal(last.places, chronicle.projection([c.mean for c in clusters]))
    seen = chronicle.projection.covariances(clusters[0].covariance[None])[0]
    np.testing.assert_allclose(last.spreads[0], [seen[0, 0], seen[0, 1], seen[1, 1]])


def test_projection_is_that_of_the_first_batch(followed):
    chronicle, _, _ = followed
    stream = gaussian_stream(6, 80, n_clusters=4, n_features=3, births=0.5, random_state=3)
    first = ScStream(random_state=0).partial_fit(stream[0].X)
    assert chronicle.projection == Projection.from_model(first)


def test_events_and_speeds_are_those_of_the_model(followed):
    chronicle, _, model = followed
    drift = {e.cluster: e.speed for e in model.events_ if e.kind == "drift"}
    assert drift
    speeds = dict(zip(chronicle[-1].ids.tolist(), chronicle[-1].speeds, strict=True))
    assert {i: v for i, v in speeds.items() if not np.isnan(v)} == drift
    births = [e["cluster"] for e in chronicle.events if e["kind"] == "birth"]
    assert sorted(births) == sorted({i for m in chronicle for i in m.ids.tolist()})
    assert chronicle.totals.events["birth"] == len(births)
    assert not any(e["kind"] == "drift" for e in chronicle.events)


def test_scores_are_summed_up(followed):
    chronicle, _, _ = followed
    assert chronicle[0].score is None
    quantiles = chronicle.score_quantiles()
    assert list(quantiles) == list(QUANTILES)
    rows = np.array(list(quantiles.values()))
    assert np.isnan(rows[:, 0]).all()
    assert (np.diff(rows[:, 1:], axis=0) >= 0).all()
    assert chronicle.totals.lowest_score == rows[0, 1:].min()
    score = Score.of([1.0, 2.0, 9.0, np.nan, np.inf])
    assert (score.mean, score.quantiles[0], score.quantiles[3]) == (4.0, 1.0, 2.0)
    assert Score.of([np.nan]) is None


def test_what_pictures_ask_for(followed):
    chronicle, _, model = followed
    assert chronicle.times.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert chronicle.n_clusters[-1] == model.n_clusters_
    assert chronicle.weights()[-1] == {c.id: c.weight for c in model.clusters_}
    for cluster_id, path in chronicle.paths().items():
        assert len(path) == sum(cluster_id in m.ids for m in chronicle)


# -- memory ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 3, 4, 5, 7, 8, 9, 64, 1000])
@pytest.mark.parametrize("limit", [4, 5, 8])
def test_moments_kept_are_few_and_evenly_spread(n, limit):
    chronicle = fed(n, limit)
    kept = [m.batch for m in chronicle]
    assert kept[0] == 0
    assert kept[-1] == n - 1
    assert min(n, limit // 2) <= len(kept) <= limit
    gaps = np.diff(kept)
    assert len(set(gaps[:-1].tolist())) <= 1
    assert len(gaps) < 2 or gaps[-1] <= gaps[0]
    assert chronicle.totals.n_batches == n
    assert chronicle.totals.n_points == 10 * n


def test_events_kept_are_the_first_and_the_latest():
    chronicle = Chronicle(limit=4)
    for batch in range(600):
        event = {"kind": "birth", "time": float(batch), "cluster": batch}
        chronicle._add(moment(batch, [event, event]))
    stored = [e["cluster"] for e in chronicle.events]
    assert stored == np.repeat([*range(250), *range(350, 600)], 2).tolist()
    assert chronicle.n_events_left_out == 200
    assert chronicle.totals.events == {"birth": 1200}


def test_memory_does_not_grow_with_the_stream():
    chronicle = fed(1000, 100)
    tracemalloc.start()
    try:
        event = {"kind": "birth", "time": 0.0, "cluster": 1}
        for batch in range(1000, 6000):
            chronicle._add(moment(batch, [event]))
        grown = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert grown < 100 * 3000 + 500 * 100  # a hundred small moments, and not three thousand


# -- families -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "X", "places", "spreads"),
    [
        ("diagonal", 7.0 * np.arange(120).reshape(40, 3) % 121, True, True),
        ("poisson", np.arange(120).reshape(40, 3) % 7, True, True),
        ("multinomial", np.arange(120).reshape(40, 3) % 7, True, False),
        ("categorical", (np.arange(120).reshape(40, 3) % 2).astype(str), False, False),
    ],
)
def test_every_family_has_a_chronicle(family, X, places, spreads):
    chronicle = Chronicle()
    noted = chronicle.observe(ScStream(family, random_state=0).partial_fit(X))
    assert (noted.places is not None, noted.spreads is not None) == (places, spreads)
    assert (chronicle.projection is not None) == places
    same(noted, Moment.from_dict(json.loads(noted.to_line())))


def test_mixed_columns_are_seen_as_far_as_they_have_a_location():
    rng = np.random.default_rng(0)
    X = np.empty((60, 4), dtype=object)
    X[:, :2] = rng.normal(size=(60, 2))
    X[:, 2] = rng.integers(9, size=60)
    X[:, 3] = rng.choice(["a", "b"], size=60)
    family = Product({"gaussian": [0, 1], "poisson": [2], "categorical": [3]})
    chronicle = Chronicle()
    noted = chronicle.observe(ScStream(family, random_state=0).partial_fit(X))
    assert chronicle.columns == ["column 0", "column 1", "column 2"]
    assert noted.means.shape == (noted.n_clusters, 3)


def test_columns_have_names_if_they_are_given():
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = ScStream(random_state=0).partial_fit(X)
    chronicle = Chronicle(columns=["rain", "wind", "sun"])
    chronicle.observe(model)
    assert chronicle.columns == ["rain", "wind", "sun"]
    assert not any("column" in label for label in chronicle.projection.labels)


# -- files ----------------------------------------------------------------------------------------


def test_text_is_read_back(followed, tmp_path):
    chronicle, text, _ = followed
    path = tmp_path / "run.jsonl"
    path.write_text(text)
    again = Chronicle.read(path)
    assert again.projection == chronicle.projection
    assert again.columns == chronicle.columns
    assert again.events == chronicle.events
    for ours, theirs in zip(chronicle, again, strict=True):
        same(ours, theirs)


def test_write_replaces_the_file_whole(followed, tmp_path):
    chronicle, text, _ = followed
    path = tmp_path / "run.jsonl"
    path.write_text("something else\n")
    chronicle.write(path)
    assert path.read_text() == text
    assert [p.name for p in tmp_path.iterdir()] == ["run.jsonl"]


def test_file_that_grows_can_be_read_at_any_byte(followed, tmp_path):
    _, text, _ = followed
    raw = text.encode()
    ends = [i + 1 for i, byte in enumerate(raw) if byte == ord("\n")]
    path = tmp_path / "run.jsonl"
    for size in [*range(ends[0], len(raw), 97), *ends]:
        path.write_bytes(raw[:size])
        assert len(Chronicle.read(path)) == sum(end <= size for end in ends) - 1


def test_reading_on_continues_the_chronicle(followed, tmp_path):
    _, text, model = followed
    lines = text.splitlines(keepends=True)
    path = tmp_path / "run.jsonl"
    path.write_text("".join(lines[:-1]))
    chronicle = Chronicle.read(path)
    moment = chronicle.observe(model)
    assert chronicle.text(moment).count("\n") == 1  # no second first line
    assert json.loads(chronicle.text(moment))["ids"] == json.loads(lines[-1])["ids"]
    assert json.loads(chronicle.text(moment))["places"] == json.loads(lines[-1])["places"]


HEAD = '{"chronicle":1,"columns":[],"projection":null,"dates":false,"fields":[]}\n'
GOOD = '{"batch":0,"time":0,"n_points":1,"ids":[0],"weights":[1],"counts":[1],"born":[0]}\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no chronicle yet"),
        ('{"chronicle":1', "holds no chronicle yet"),
        ("a,b,c\n1,2,3\n", "line 1 of .* is not one of a chronicle"),
        ("[1]\n", "a list in place of names"),
        ("[" * 100_000 + "\n", "line 1"),
        ('{"a":1}\n', "line 1"),
        ('{"chronicle":2,"columns":[]}\n', "format 2; this version of scstream reads format 1"),
        (HEAD + "{}\n" + GOOD, "line 2"),
        (HEAD + GOOD + GOOD.replace("[1]", "[1,2]"), r"line 3 .* shape \(2,\) for 1 clusters"),
        (HEAD + GOOD.replace('"ids":[0]', '"ids":[1e400]'), "line 2"),
        (HEAD + GOOD.replace("}\n", ',"score":[1,2]}\n'), "1 quantiles in place of"),
        (HEAD + GOOD.replace("}\n", ',"events":[{"kind":"birth"}]}\n'), "line 2"),
    ],
)
def test_files_that_are_no_chronicle_are_refused(tmp_path, text, message):
    path = tmp_path / "run.jsonl"
    path.write_text(text)
    with pytest.raises(ChronicleError, match=message):
        Chronicle.read(path)


def test_batches_without_a_moment_are_part_of_the_next_one():
    model, chronicle, whole = ScStream(random_state=0), Chronicle(limit=8), Chronicle(limit=8)
    shown, passed = [], []
    for b, batch in enumerate(gaussian_stream(n_batches=60, n_clusters=3, random_state=2)):
        model.partial_fit(batch.X)
        scores = model.score_samples(batch.X)
        whole.observe(model, scores)
        if b and b % 3:
            passed.append(Outline.of(model, scores))
        else:
            shown.append(chronicle.observe(model, scores, passed=passed))
            passed = []
    chronicle.observe(model.partial_fit(batch.X), scores, passed=passed)
    whole.observe(model, scores)
    assert chronicle.totals == whole.totals
    assert chronicle.events == whole.events
    assert len(chronicle) <= 8
    batches = [moment.batch for moment in chronicle]
    assert batches == sorted(set(batches))
    assert (batches[0], batches[-1]) == (0, 60)
    first = len(shown[0].ids) and shown[0].n_points
    assert all(moment.n_points == 3 * first for moment in shown[1:])


def test_what_happens_to_groups_is_noted_where_clusters_stay_as_they_are():
    calm = BatchRecord(4, 4.0, 10, 3, -1.0, births=(), deaths=(), splits=(), merges=())
    groups = Lasting(splits=((0, 2),), merges=((2, 1),))
    events = events_in(calm, groups)
    assert [(e["kind"], e["cluster"], e["other"]) for e in events] == [
        ("group-split", 0, 2),
        ("group-merge", 2, 1),
    ]
    assert events_in(calm, None) == ()
