"""A stream may come in batches of a few rows: the first of them are kept and clustered anew."""

import itertools

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from streams import blobs, counts, ids

from scstream import Gaussian, ScStream
from scstream.datasets import gaussian_stream
from scstream.sampler import first
from scstream.sampler.recipe import Batch, Plan, Recipe
from scstream.sampler.rules import RULES
from scstream.sampler.warmup import joined, same_clusters
from scstream.sampler.window import Forgetting

CENTRES = np.array([[x, y] for x in (0.0, 9.0, 18.0) for y in (0.0, 9.0, 18.0)])


def in_batches(X, n):
    return [X[i : i + n] for i in range(0, len(X), n)]


@pytest.fixture
def starts(monkeypatch):
    """Note the rows that each start is made from."""
    seen, first_batch = [], first.first_batch

    def noted(ctx, *args, **options):
        seen.append(ctx.engine.n_rows)
        return first_batch(ctx, *args, **options)

    monkeypatch.setattr(first, "first_batch", noted)
    return seen


@pytest.mark.parametrize(
    ("size", "seed"),
    [
        *((1, 0), (8, 1), (20, 2), (50, 0)),
        *(
            pytest.param(size, seed, marks=pytest.mark.slow)
            for size, seed in itertools.product([1, 8, 20, 50], range(3, 6))
        ),
    ],
)
def test_small_batches_find_the_clusters(size, seed) -> None:
    n = 800 if size == 1 else 1600  # a row at a time takes long
    X, y = blobs(n + 800, seed, CENTRES)
    model = ScStream(random_state=seed)
    found = [model.partial_fit(rows).labels_ for rows in in_batches(X[:n], size)]
    assert len(found) == n // size
    assert model.n_clusters_ == 9
    assert adjusted_rand_score(y[n:], model.predict(X[n:])) > 0.97


def test_a_start_is_made_anew_when_rows_have_doubled(starts) -> None:
    model = ScStream(random_state=0)
    for rows in in_batches(blobs(1200, 0)[0], 20):
        model.partial_fit(rows)
    assert starts == [20, 40, 80, 140, 260, 520, 1000]


@pytest.mark.parametrize(
    ("size", "expected"), [(250, [250, 500]), (100, [100, 200, 300, 600, 1000])]
)
def test_a_start_that_finds_the_same_clusters_again_is_the_last(starts, size, expected) -> None:
    model = ScStream(random_state=0)
    for rows in in_batches(blobs(1500, 0)[0], size):
        model.partial_fit(rows)
    assert starts == expected


def test_a_start_that_finds_other_clusters_is_not_the_last(starts) -> None:
    X, y = blobs(3000, 1)
    first = X[y < 2][:250]
    model = ScStream(random_state=0).partial_fit(first)
    for rows in in_batches(X[y >= 0][-1000:], 250):
        model.partial_fit(rows)
    assert starts == [250, 500, 750]
    assert model.n_clusters_ == 3


def test_few_rows_of_many_columns_start_twice(starts) -> None:
    rng = np.random.default_rng(0)
    mean, factors = rng.normal(size=(6, 80)), rng.normal(size=(6, 80, 5))
    model = ScStream(random_state=0)
    for _ in range(5):
        y = rng.integers(6, size=250)
        X = mean[y] + (factors[y] @ rng.normal(size=(250, 5, 1)))[..., 0]
        model.partial_fit(X + rng.normal(size=X.shape))
        assert adjusted_rand_score(y, model.labels_) > 0.98
    assert starts == [250, 500]


@pytest.mark.parametrize(
    ("now", "k", "same"),
    [
        ([2] * 100 + [0] * 100, 2, True),
        ([2] * 99 + [0] * 101, 2, True),
        ([2] * 97 + [0] * 103, 2, False),
        ([2] * 100 + [0] * 100, 3, False),  # one that has none of these rows
        ([2] * 100 + [0] * 99 + [1], 3, False),
        ([0] * 200, 1, False),
    ],
)
def test_clusters_are_the_same_under_other_names(now, k, same) -> None:
    before = np.repeat([7, 3], 100)
    assert same_clusters(before, np.array(now), k, RULES) is same


def test_a_few_rows_are_clustered_anew_with_each_batch(starts) -> None:
    model = ScStream(random_state=0, max_sweeps=3)
    for rows in in_batches(blobs(40, 0)[0], 2):
        model.partial_fit(rows)
    assert starts == [*range(2, 20, 2), 32]


def test_a_large_batch_is_a_start_at_once(starts) -> None:
    model = ScStream(random_state=0).partial_fit(blobs(500, 0)[0])
    assert model._learner.warmup == ()
    model.partial_fit(blobs(600, 1)[0])
    assert starts == [500]


def test_a_large_batch_after_a_few_rows_is_a_start(starts) -> None:
    model = ScStream(random_state=0).partial_fit(blobs(9, 0)[0])
    model.partial_fit(blobs(500, 1)[0])
    assert model._learner.warmup == ()
    model.partial_fit(blobs(600, 2)[0])
    assert starts == [9, 509]


def test_what_is_too_old_ends_the_beginning(starts) -> None:
    model = ScStream(random_state=0, half_life=1.0, max_sweeps=3)
    for rows in in_batches(blobs(400, 0)[0], 10):
        model.partial_fit(rows)
    assert model._learner.warmup == ()  # after 27 batches the first counts less than 1e-8
    assert max(starts) < 300


def test_clusters_keep_their_names(starts) -> None:
    X, y = blobs(1600, 3)
    model, names = ScStream(random_state=0), []
    for rows, truth in zip(in_batches(X, 40), in_batches(y, 40), strict=True):
        found = model.partial_fit(rows).labels_
        names.append([int(np.bincount(found[truth == c]).argmax()) for c in range(3)])
    assert len(starts) > 4
    assert len({tuple(name) for name in names[5:]}) == 1
    assert set(names[-1]) <= set(ids(model))


def test_clusters_that_move_on_are_followed_not_begun_anew() -> None:
    model, names = ScStream(random_state=0), []
    stream = gaussian_stream(5, 400, n_features=32, n_clusters=4, box=6, speed=3.0, random_state=0)
    for batch in stream:  # eight deviations a batch
        found = model.partial_fit(batch.X).labels_
        names.append([int(np.bincount(found[batch.y == c]).argmax()) for c in range(4)])
    assert len({tuple(name) for name in names}) == 1
    assert model._learner.warmup == ()


def test_a_model_saved_at_its_beginning_goes_on_bit_for_bit(tmp_path) -> None:
    batches = in_batches(blobs(1200, 5, CENTRES)[0], 30)
    straight = ScStream(random_state=0)
    there = [straight.partial_fit(rows).labels_ for rows in batches]
    model = ScStream(random_state=0)
    for rows, labels in zip(batches, there, strict=True):
        model.partial_fit(rows).save(tmp_path / "model")
        np.testing.assert_array_equal(model.labels_, labels)
        model = ScStream.load(tmp_path / "model")


def test_counts_in_small_batches_find_the_clusters() -> None:
    X, y = counts(1200, 0)
    model = ScStream("multinomial", random_state=0)
    for rows in in_batches(X[:800], 10):
        model.partial_fit(rows)
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(y[800:], model.predict(X[800:])) > 0.97


@pytest.mark.parametrize(("rows", "half_life"), [(1000, 5.0), (100, 5.0), (20, 25.0), (1, 500.0)])
def test_the_half_life_of_small_batches(rows, half_life) -> None:
    recipe = Recipe(Gaussian(), 1.0, Forgetting(), Plan(), 0.0, None, auto=True)
    assert recipe.for_batch(rows, 1.0, 1.0).forgetting.half_life == half_life
    model = ScStream(random_state=0)
    for b in range(3):
        model.partial_fit(blobs(rows, b)[0])
    assert model._learner.state.window.forgetting.half_life == half_life


@pytest.mark.parametrize("half_life", [None, 3.0])
def test_a_half_life_that_is_given_stays(half_life) -> None:
    model = ScStream(random_state=0, half_life=half_life)
    for b in range(3):
        model.partial_fit(blobs(4, b)[0])
    assert model._learner.state.window.forgetting.half_life == half_life


def test_no_rows_age_the_past_as_a_usual_batch_does() -> None:
    model = ScStream(random_state=0).partial_fit(blobs(200, 0)[0])
    model.partial_fit(np.empty((0, 2)))
    count = sum(cluster.count for cluster in model.clusters_)
    assert count == pytest.approx(200 * 2 ** (-1 / 5))


def test_batches_are_joined_by_age_and_one_alone_is_not_copied() -> None:
    one, two = (Batch(np.full((n, 2), n), np.arange(1.0, n + 1.0), 0.0) for n in (2, 3))
    X, weight = joined([one, two], [0.5, 1.0])
    assert X[:, 0].tolist() == [2, 2, 3, 3, 3]
    assert weight.tolist() == [0.5, 1.0, 1.0, 2.0, 3.0]
    X, weight = joined([one], [1.0])
    assert X is one.X
    assert weight is one.weight
