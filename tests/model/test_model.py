"""ScStream in use: labels that last, predictions, and what its options do."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from streams import CORNERS, blob_stream, blobs, counts, ids, labels_of, total_count

from scstream import Gaussian, Multinomial, Rules, ScStream

STREAM = blob_stream(12, 150, drift=[0.6, -0.3])


@pytest.fixture(scope="module")
def followed():
    model = ScStream(random_state=0)
    return model, labels_of(model, [X for X, _ in STREAM])


def far_points(n, seed):
    angle = np.random.default_rng(seed).uniform(0, 2 * np.pi, n)
    return CORNERS.mean(axis=0) + 200.0 * np.column_stack([np.cos(angle), np.sin(angle)])


# -- labels -------------------------------------------------------------------------------------


def test_labels_last_while_clusters_move(followed) -> None:
    _, labels = followed
    y = np.concatenate([y for _, y in STREAM])
    assert adjusted_rand_score(y, np.concatenate(labels)) >= 0.99


def test_first_labels_are_numbered_from_0_the_largest_cluster_first() -> None:
    y = np.repeat([0, 1, 2], [20, 90, 50])
    X = CORNERS[y] + np.random.default_rng(0).standard_normal((160, 2))
    for labels in (ScStream(random_state=0).fit_predict(X), labels_of(ScStream(), [X])[0]):
        np.testing.assert_array_equal(labels, np.array([2, 0, 1])[y])
    again = ScStream(random_state=0).partial_fit(X + 50).partial_fit(X).fit_predict(X)
    np.testing.assert_array_equal(again, np.array([2, 0, 1])[y])


@pytest.mark.parametrize("options", [{}, {"outlier_weight": 0.1}, {"splits": False}], ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_labels_and_sublabels_are_those_that_the_statistics_were_summed_by(options, seed) -> None:
    near = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])
    rules = Rules(warmup_rows=0)
    model = ScStream(random_state=seed, max_sweeps=20, rules=rules, **options)
    for b in range(6):
        X, _ = blobs(200, b, near)
        weight = (
            np.random.default_rng(b).integers(0, 3, 200).astype(float) if seed else np.ones(200)
        )
        model.partial_fit(X, sample_weight=weight)
        T = weight[:, None] * model.family_.statistics(X)
        for i, sums in zip(ids(model), model._learner.state.now.current, strict=True):
            own = model.labels_ == i
            np.testing.assert_allclose(sums.sum(axis=0), T[own].sum(axis=0), atol=1e-9)
            # parts share their rows by probability, and a sub-label is the more probable part
            for j in (0, 1):
                assert sums[j, 0] >= 0.5 * (weight @ (own & (model.sublabels_ == j))) - 1e-9


# -- predictions --------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"outlier_weight": 0.05}], ids=["", "outliers"])
def test_prediction_is_the_most_probable_cluster(options) -> None:
    model = ScStream(random_state=0, **options)
    for X, _ in STREAM[:3]:
        model.partial_fit(X)
    X = np.vstack([np.random.default_rng(0).uniform(-10, 25, (500, 2)), far_points(50, 1)])
    chances = model.predict_proba(X)
    assert chances.shape == (550, model.n_clusters_)
    assert np.all((chances >= 0) & (chances <= 1))
    rest = 1.0 - chances.sum(axis=1)
    if options:
        assert rest.min() >= -1e-12
        assert rest.max() > 0.5
        chances, names = np.column_stack([chances, rest]), [*ids(model), -1]
    else:
        np.testing.assert_allclose(rest, 0.0, atol=1e-12)
        names = ids(model)
    np.testing.assert_array_equal(model.predict(X), np.array(names)[chances.argmax(axis=1)])
    np.testing.assert_array_equal(model.transform(X), model.predict_proba(X))


def test_prediction_of_rows_does_not_depend_on_their_company(followed) -> None:
    model, _ = followed
    X = np.random.default_rng(0).uniform(-10, 25, (9000, 2))
    for method in (model.predict, model.predict_proba, model.score_samples):
        whole = method(X)
        np.testing.assert_allclose(method(X[4000:4010]), whole[4000:4010], rtol=1e-12)


# -- options ------------------------------------------------------------------------------------


@pytest.mark.parametrize("bound", [1, 4])
@pytest.mark.parametrize("rows", [15, 400])
def test_there_are_never_more_clusters_than_max_clusters(bound, rows) -> None:
    centres = 15.0 * np.array([[i, j] for i in range(3) for j in range(3)])
    model = ScStream(max_clusters=bound, random_state=0, max_sweeps=20)
    for b in range(6):
        model.partial_fit(blobs(rows, b, centres)[0])
        assert model.n_clusters_ <= bound
    model.partial_fit(blobs(rows, 9, centres)[0], time=1e9)
    assert model.n_clusters_ <= bound


def test_without_splits_no_cluster_is_added() -> None:
    model = ScStream(splits=False, random_state=0)
    numbers = []
    for X, _ in blob_stream(3, 200, centres=CORNERS[:2]) + blob_stream(5, 200):
        model.partial_fit(X)
        numbers.append(model.n_clusters_)
    assert numbers == sorted(numbers, reverse=True)
    assert all(not record.splits for record in model.history_)
    assert all(not record.births for record in model.history_[1:])


def test_without_merges_no_cluster_is_lost_to_another() -> None:
    """Two clusters come to lie upon each other."""
    model = ScStream(merges=False, half_life=None, random_state=0)
    X, y = blobs(200, 0, CORNERS[:2])
    model.partial_fit(X, labels=y)
    before = set(ids(model))
    assert before >= {0, 1}
    for b in range(1, 8):
        model.partial_fit(blobs(200, b, CORNERS[:2] * (1 - b / 7))[0])
        assert all(not record.merges for record in model.history_)
        assert before <= set(ids(model))


def test_given_labels_are_where_it_starts() -> None:
    """Without splits and merges the clusters are those given, by place if not by number."""
    X, y = blobs(300, 0, np.vstack([CORNERS, [[12.0, 12.0]]]))
    for given, right in [(y, y), (y // 2, y // 2), (7 * y + 3, y), (y.astype(np.uint8), y)]:
        model = ScStream(splits=False, merges=False, random_state=0).fit(X, labels=given)
        assert model.n_clusters_ == len(set(given.tolist()))
        assert adjusted_rand_score(right, model.labels_) >= 0.99
        model.partial_fit(X)
        assert adjusted_rand_score(right, model.labels_) >= 0.99


def test_a_bad_start_is_left_if_clusters_may_split_and_merge() -> None:
    X, y = blobs(300, 0)
    for given in (np.zeros(300, int), np.arange(300) % 7):
        labels = ScStream(random_state=0).fit_predict(X, labels=given)
        assert adjusted_rand_score(y, labels) >= 0.99


def test_a_larger_alpha_makes_more_clusters() -> None:
    X = np.random.default_rng(0).standard_normal((400, 2))
    family = Gaussian(cov=0.05, cov_strength=10.0)
    few, many = (
        ScStream(family, alpha=alpha, random_state=0, max_sweeps=30).fit(X).n_clusters_
        for alpha in (1e-6, 1e3)
    )
    assert few < many


# -- outliers -----------------------------------------------------------------------------------


def test_far_points_are_outliers_and_others_are_not() -> None:
    kept = []
    for seed in range(20):
        model = ScStream(outlier_weight=0.01, random_state=seed).partial_fit(blobs(300, 9)[0])
        assert np.mean(model.labels_ == -1) <= 0.01
        aside = True
        for b in range(4):
            model.partial_fit(np.vstack([blobs(300, b)[0], far_points(6, b)]))
            assert np.mean(model.labels_[:300] == -1) <= 0.01
            aside &= bool((model.labels_[300:] == -1).all()) and model.n_clusters_ == 3
        if aside:
            np.testing.assert_array_equal(model.predict(far_points(5, 9)), -1)
            decay = 2.0 ** (-np.arange(5) / 5.0)
            assert total_count(model) <= 300 * decay.sum() * (1 + 1e-12)
        np.testing.assert_array_equal(model.predict(CORNERS) >= 0, True)
        kept.append(aside)
    # a cluster of a few points may draw a covariance so wide that it takes the far ones: rarely
    assert np.mean(kept) >= 0.6


# -- families -----------------------------------------------------------------------------------


def test_a_prior_that_is_given_is_the_prior() -> None:
    X, _ = blobs(200, 0)
    family = Gaussian(mean=[1.0, 2.0], mean_strength=0.1, cov=[2.0, 3.0], cov_strength=9.0)
    prior = ScStream(family, random_state=0).fit(X).prior_
    np.testing.assert_allclose(prior["mean"], [1.0, 2.0])
    np.testing.assert_allclose(prior["cov"], np.diag([2.0, 3.0]))
    assert prior["mean_strength"] == pytest.approx(0.1)
    assert prior["cov_strength"] == pytest.approx(9.0)
    given = Multinomial(concentration=0.7)
    prior = ScStream(given, random_state=0).fit(counts(100, 0)[0]).prior_
    np.testing.assert_allclose(prior["concentration"], 0.7)


def test_the_prior_keeps_its_strength_and_follows_the_clusters() -> None:
    model = ScStream(random_state=0).partial_fit(blobs(1000, 0)[0])
    before = model.prior_
    for b in range(1, 5):
        model.partial_fit(blobs(200, b)[0])
    after = model.prior_
    for name in ("mean_strength", "cov_strength"):
        assert before[name] == after[name]
    means = np.array([cluster.mean for cluster in model.clusters_])
    assert np.all((after["mean"] > means.min(axis=0)) & (after["mean"] < means.max(axis=0)))
    assert not np.array_equal(before["cov"], after["cov"])
    np.testing.assert_allclose(before["cov"], after["cov"], atol=0.15 * np.trace(before["cov"]))
    assert model.family_.name == "gaussian"


# -- talk ---------------------------------------------------------------------------------------


def test_progress_goes_to_standard_error_and_only_if_asked_for(capfd) -> None:
    ScStream(random_state=0, verbose=True, max_sweeps=12).fit(STREAM[0][0])
    out, err = capfd.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert 1 <= len(lines) <= 12
    for i, line in enumerate(lines):
        assert line.startswith(f"scstream: sweep {i + 1}, ")
        assert " clusters, log posterior " in line
    ScStream(random_state=0).fit(STREAM[0][0])
    assert capfd.readouterr() == ("", "")
