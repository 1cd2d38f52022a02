"""The same seed gives the same labels, whatever the threads; other seeds give other draws."""

import numpy as np
import pytest
from streams import blob_stream, blobs, labels_of, snapshot

from scstream import ScStream
from scstream.engines import CpuEngine

# Overlapping clusters, so that labels depend on the draws; batches of several blocks of rows, so
# that threads have something to share.
CLOSE = np.array([[0.0, 0.0], [2.5, 0.0], [0.0, 2.5], [2.5, 2.5]])
LARGE = [X for X, _ in blob_stream(2, 10_000, centres=CLOSE)]
SMALL = [X for X, _ in blob_stream(4, 150, centres=CLOSE)]


def assert_same(these, those) -> None:
    for mine, theirs in zip(these, those, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def large_model(**options):
    return ScStream(random_state=0, max_sweeps=2, **options)


@pytest.fixture(scope="module")
def one_thread():
    model = large_model(n_jobs=1)
    return labels_of(model, LARGE), model


@pytest.mark.parametrize("n_jobs", [2, 3, None])
def test_labels_do_not_depend_on_the_number_of_threads(n_jobs, one_thread) -> None:
    labels, model = one_thread
    other = large_model(n_jobs=n_jobs)
    assert_same(labels_of(other, LARGE), labels)
    assert snapshot(other._learner) == snapshot(model._learner)
    X = LARGE[0]
    np.testing.assert_array_equal(other.score_samples(X), model.score_samples(X))


def test_an_engine_of_the_users_own_gives_the_same_labels(one_thread) -> None:
    labels, model = one_thread
    engines = []

    def engine():
        engines.append(CpuEngine(2))
        return engines[-1]

    other = large_model(engine=engine)
    assert_same(labels_of(other, LARGE), labels)
    assert snapshot(other._learner) == snapshot(model._learner)
    assert len(engines) == len(LARGE)


def test_the_same_seed_gives_the_same_model() -> None:
    one, two = (ScStream(random_state=4) for _ in range(2))
    assert_same(labels_of(one, SMALL), labels_of(two, SMALL))
    assert snapshot(one) == snapshot(two)


def test_without_a_seed_every_run_is_another() -> None:
    models = [ScStream().partial_fit(SMALL[0]) for _ in range(2)]
    assert models[0]._learner.seed != models[1]._learner.seed


def test_fit_twice_gives_the_same_and_forgets_what_was_before() -> None:
    model = ScStream(random_state=0).fit(SMALL[0])
    first = snapshot(model)
    assert snapshot(model.fit(SMALL[0])) == first
    model.partial_fit(SMALL[1]).partial_fit(SMALL[2])
    assert snapshot(model.fit(SMALL[0])) == first
    wider = np.hstack([SMALL[0], SMALL[0]])
    assert model.fit(wider).n_features_in_ == 4


def test_fit_is_a_first_batch_and_partial_fit_goes_on_from_there() -> None:
    one, two = (ScStream(random_state=0) for _ in range(2))
    labels = labels_of(two, SMALL)
    np.testing.assert_array_equal(one.fit(SMALL[0]).labels_, labels[0])
    assert_same(labels_of(one, SMALL[1:]), labels[1:])
    assert snapshot(one) == snapshot(two)
    assert (one.n_batches_, one.time_) == (4, 3.0)


def test_looking_at_a_model_does_not_change_what_it_does_next() -> None:
    one, two = (ScStream(random_state=0) for _ in range(2))
    for X in SMALL:
        one.partial_fit(X)
        one.predict(X), one.predict_proba(X), one.score_samples(X), one.transform(X)
        _ = one.clusters_, one.history_, one.prior_, repr(one)
    labels_of(two, SMALL)
    assert snapshot(one) == snapshot(two)


def test_numpys_global_state_is_neither_used_nor_changed() -> None:
    np.random.seed(1)  # noqa: NPY002 - the legacy state is what is tested
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    ScStream().partial_fit(blobs(50, 0)[0]).partial_fit(blobs(50, 1)[0])
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
