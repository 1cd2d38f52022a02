"""How much a batch counts later: half-lives, kernels, times of the user's own."""

import copy

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from streams import CORNERS, blob_stream, blobs, box, hyperbola, ids, total_count

from scstream import ScStream

SIZES = np.array([120, 60, 200, 90, 150, 40, 130, 70])
TIMES = np.array([0.0, 1.0, 1.5, 3.0, 7.0, 7.25, 9.0, 9.5])


def counts_through(model, times=TIMES, centres=CORNERS, drift=0.0):
    """Return the model's total count after each batch."""
    out = []
    for b, (n, time) in enumerate(zip(SIZES, times, strict=True)):
        model.partial_fit(blobs(n, b, centres + b * drift)[0], time=time)
        out.append(total_count(model))
    return np.array(out)


def brute_force(weight, times=TIMES):
    """Return what all batches so far count together after each batch."""
    return np.array(
        [
            sum(n * weight(times[b] - t) for n, t in zip(SIZES[: b + 1], times, strict=False))
            for b in range(len(SIZES))
        ]
    )


# -- half-lives ---------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Only .* of the weight of the last batch")
@pytest.mark.parametrize("half_life", [0.5, 1, 5.0, 100.0])
def test_a_batch_counts_half_after_a_half_life(half_life) -> None:
    found = counts_through(ScStream(half_life=half_life, random_state=0))
    right = brute_force(lambda age: 2.0 ** (-age / half_life))
    # It is an upper bound: by chance a cluster may seem to have moved and be forgotten faster.
    assert np.all(found <= right * (1 + 1e-9))
    assert np.all(found >= right * 0.8)
    assert found[:3] == pytest.approx(right[:3])


def test_without_a_half_life_a_cluster_that_is_gone_is_remembered() -> None:
    model = ScStream(half_life=None, random_state=0)
    X, y = blobs(300, 0)
    model.partial_fit(X)
    label = model.labels_[y == 2][0]
    for b in range(1, 15):
        model.partial_fit(blobs(200, b, CORNERS[:2])[0])
    assert model.predict(CORNERS[2:])[0] == label
    X, y = blobs(300, 20)
    assert set(model.partial_fit(X).labels_[y == 2].tolist()) == {label}


def test_time_is_the_users_and_only_differences_matter() -> None:
    runs = []
    for shift, unit in [(0.0, 1.0), (1e6, 1.0), (-50.0, 1.0), (0.0, 64.0)]:
        model = ScStream(half_life=2.0 * unit, random_state=0)
        runs.append(counts_through(model, shift + unit * TIMES))
        assert model.time_ == shift + unit * TIMES[-1]
    for run in runs[1:]:
        np.testing.assert_allclose(run, runs[0], rtol=1e-6)


def test_batches_without_a_time_come_one_apart() -> None:
    model = ScStream(random_state=0)
    for X, _ in blob_stream(2, 50):
        model.partial_fit(X)
    assert [record.time for record in model.history_] == [0.0, 1.0]
    model.partial_fit(X, time=5)
    model.partial_fit(X)
    assert [record.time for record in model.history_[2:]] == [5.0, 6.0]


# -- kernels ------------------------------------------------------------------------------------


def test_an_exponential_kernel_is_a_half_life() -> None:
    """The same counts and clusters; drops by epsilon and adaptive forgetting aside."""
    models = [
        ScStream(half_life=2.0, random_state=0),
        ScStream(kernel=lambda age: 2.0 ** (-age / 2.0), random_state=0),
    ]
    for b in range(6):
        X, y = blobs(200, b)
        for model in models:
            assert adjusted_rand_score(y, model.partial_fit(X).labels_) >= 0.99
    assert total_count(models[0]) == pytest.approx(total_count(models[1]), rel=0.05)


def test_after_a_kernel_has_run_out_the_model_begins_anew() -> None:
    model = ScStream(kernel=box, random_state=0)
    before = ids(model.partial_fit(blobs(200, 0)[0]))
    model.partial_fit(blobs(200, 1)[0], time=3.0)
    assert set(ids(model)) == set(before)
    model.partial_fit(blobs(200, 2)[0], time=6.5)
    assert total_count(model) == pytest.approx(200)
    assert set(model.history_[-1].returns) == set(ids(model)) == set(before)  # but known again
    model.partial_fit(blobs(200, 3)[0] + 1e3, time=16.5)
    assert min(ids(model)) > max(before)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"kernel": hyperbola}, {"kernel": None, "half_life": 1.0}),
        ({"kernel": None, "half_life": 1.0}, {"kernel": hyperbola}),
        ({"kernel": hyperbola}, {"kernel": lambda age: 0.5}),
    ],
    ids=["kernel to half-life", "half-life to kernel", "kernel to kernel"],
)
def test_the_way_of_forgetting_may_be_changed_mid_stream(before, after) -> None:
    model = ScStream(random_state=0, **before)
    for b in range(3):
        model.partial_fit(blobs(200, b)[0])
    was = total_count(model)
    model.set_params(**after)
    fresh = copy.deepcopy(model)
    model.partial_fit(np.empty((0, 2)))
    if "half_life" in after or before["kernel"] is None:
        assert total_count(model) == pytest.approx(0.5 * was)
    else:
        assert total_count(model) == pytest.approx(0.5 * 600)
    for b in range(3, 6):
        X, y = blobs(200, b)
        assert adjusted_rand_score(y, fresh.partial_fit(X).labels_) >= 0.99
