"""Streams: the same data every time, drawn from the mixture they say, moving as they should.

Each statistical comparison refuses a right program with probability ``RARE``, so all of them
together less than once in a million; and the seeds are fixed.
"""

import tracemalloc

import numpy as np
import pytest
from scipy import stats

from scstream.datasets import (
    GaussianMixture,
    MultinomialMixture,
    Stream,
    gaussian_stream,
    multinomial_stream,
)

RARE = 1e-9
DRIFTS = ["none", "incremental", "gradual", "sudden", "recurring"]


def small_stream(family: str, n_batches: int = 12, **options) -> Stream:
    """Return a stream that is quick to draw, of either family."""
    shape = {"n_batches": n_batches, "batch_size": 60, "n_clusters": 6, "random_state": 4}
    if family == "gaussian":
        return gaussian_stream(**(shape | options))
    return multinomial_stream(**(shape | {"n_features": 8, "n_trials": 30} | options))


def places(stream: Stream, index: int) -> np.ndarray:
    """Parameters of the components at a batch, shape (c, d)."""
    truth = stream[index].truth
    return truth.means if isinstance(truth, GaussianMixture) else truth.probabilities


def present(stream: Stream, n_clusters: int) -> np.ndarray:
    """Whether each cluster is there at each batch, shape (n_batches, n_clusters)."""
    there = np.zeros((len(stream), n_clusters), dtype=bool)
    for row, batch in zip(there, stream, strict=True):
        row[batch.truth.clusters] = True
    return there


families = pytest.mark.parametrize("family", ["gaussian", "multinomial"])
drifts = pytest.mark.parametrize("drift", DRIFTS)


# --- a stream is a sequence that can be read again -------------------------------------------


@families
@drifts
def test_batches_are_the_same_in_any_order(family: str, drift: str) -> None:
    stream = small_stream(family, drift=drift, births=0.5)
    first = list(stream)
    again = small_stream(family, drift=drift, births=0.5)
    for index in (11, 0, 5, -1):
        np.testing.assert_array_equal(again[index].X, first[index].X)
        np.testing.assert_array_equal(again[index].y, first[index].y)
    for one, other in zip(first, stream, strict=True):
        np.testing.assert_array_equal(one.X, other.X)
        assert one.time == other.time


@families
def test_shapes_ids_and_times(family: str) -> None:
    stream = small_stream(family, n_features=3)
    assert len(stream) == 12
    assert (stream.n_features, stream.batch_size) == (3, 60)
    for index, batch in enumerate(stream):
        assert batch.X.shape == (60, 3)
        assert batch.y.shape == batch.oracle.shape == (60,)
        assert batch.time == index
        assert set(batch.y) <= set(range(6))
        assert batch.truth.weights.sum() == pytest.approx(1.0)


def test_memory_does_not_grow_with_the_stream() -> None:
    tracemalloc.start()
    stream = gaussian_stream(n_batches=10_000, births=0.5, random_state=0)
    for batch in stream[::2_000]:
        assert batch.X.shape == (1000, 2)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2e6


# --- points come from the mixture ------------------------------------------------------------


@pytest.mark.parametrize("n_features", [1, 2, 5])
def test_gaussian_points_have_the_moments_of_their_clusters(n_features: int) -> None:
    batch = gaussian_stream(
        n_batches=3, batch_size=20_000, n_clusters=7, n_features=n_features, random_state=1
    )[1]
    truth = batch.truth
    assert isinstance(truth, GaussianMixture)
    white = np.linalg.solve(truth.scales[batch.y], (batch.X - truth.means[batch.y])[..., None])
    white = white[..., 0]
    for cluster in range(7):
        points = white[batch.y == cluster]
        n = len(points)
        assert n * (points.mean(axis=0) ** 2).sum() < stats.chi2.isf(RARE, n_features)
        scatter = points.T @ points
        low, high = stats.chi2.ppf([RARE, 1 - RARE], n)
        assert (np.diagonal(scatter) > low).all()
        assert (np.diagonal(scatter) < high).all()
        off_diagonal = scatter[np.triu_indices(n_features, 1)] / np.sqrt(n)
        assert (np.abs(off_diagonal) < stats.norm.isf(RARE)).all()
    assert stats.kstest(white.ravel(), "norm").pvalue > RARE


@pytest.mark.parametrize("sparse", [False, True])
def test_multinomial_rows_have_the_moments_of_their_clusters(sparse: bool) -> None:
    batch = multinomial_stream(
        n_batches=3,
        batch_size=20_000,
        n_clusters=5,
        n_features=6,
        n_trials=20,
        sparse=sparse,
        random_state=1,
    )[1]
    truth = batch.truth
    assert isinstance(truth, MultinomialMixture)
    X = batch.X.toarray() if sparse else batch.X
    assert X.dtype == np.int64
    assert (X.sum(axis=1) == 20).all()
    for cluster, p in enumerate(truth.probabilities):
        rows = X[batch.y == cluster]
        assert stats.chisquare(rows.sum(axis=0), p * rows.sum()).pvalue > RARE
        # Trials of a row are independent: the counts' variance is binomial.
        spread = ((rows - 20 * p) ** 2).mean(axis=0) / (20 * p * (1 - p))
        kurtosis = 2 + (1 - 6 * p * (1 - p)) / (20 * p * (1 - p))
        error = np.sqrt(kurtosis / len(rows))
        assert (np.abs(spread - 1) < 7 * error).all()


def test_sparse_and_dense_counts_are_the_same() -> None:
    dense = small_stream("multinomial")[5]
    sparse = small_stream("multinomial", sparse=True)[5]
    np.testing.assert_array_equal(sparse.X.toarray(), dense.X)
    np.testing.assert_array_equal(sparse.oracle, dense.oracle)


# --- clusters start and move as the page says ------------------------------------------------


@families
def test_sudden_drift_jumps_after_each_quarter(family: str) -> None:
    stream = small_stream(family, drift="sudden")
    way = [places(stream, index) for index in range(12)]
    jumps = [index for index in range(1, 12) if not np.array_equal(way[index - 1], way[index])]
    assert jumps == [3, 6, 9]
    assert all((way[index - 1] != way[index]).all() for index in jumps)


@families
def test_gradual_drift_shifts_points_from_the_old_place_to_the_new(family: str) -> None:
    stream = small_stream(family, drift="gradual", n_batches=60)
    old, new = places(stream, 0), places(stream, 59)
    assert old.shape == new.shape == places(small_stream(family), 0).shape
    moved = np.zeros((60, 6))
    for index, batch in enumerate(stream):
        truth = batch.truth
        for place, cluster, weight in zip(
            places(stream, index), truth.clusters, truth.weights, strict=True
        ):
            is_new = np.array_equal(place, new[cluster])
            assert is_new or np.array_equal(place, old[cluster])
            moved[index, cluster] += is_new * weight * 6
    assert (np.diff(moved, axis=0) >= -1e-12).all()
    np.testing.assert_array_equal(moved[0], 0)
    np.testing.assert_allclose(moved[-1], 1)
    during = ((moved > 0) & (moved < 1 - 1e-9)).sum(axis=0)
    assert ((during >= 16) & (during <= 19)).all()  # three tenths of 60 batches
    assert np.unique((moved > 0).argmax(axis=0)).size > 1  # not all at once


@families
def test_recurring_clusters_come_back_to_the_same_place(family: str) -> None:
    stream = small_stream(family, drift="recurring", n_batches=60)
    there = present(stream, 6)
    assert there[:, 0].all()
    returns = (np.diff(there[:, 1:].astype(int), axis=0) == 1).sum(axis=0)
    assert ((returns >= 2) & (returns <= 3)).all()
    assert ((there[:, 1:].mean(axis=0) > 0.5) & (there[:, 1:].mean(axis=0) < 0.7)).all()
    home = places(small_stream(family, drift="none"), 0)
    for index, batch in enumerate(stream):
        np.testing.assert_array_equal(places(stream, index), home[batch.truth.clusters])


@families
@drifts
@pytest.mark.parametrize("births", [0.0, 0.5, 1.0])
def test_births_and_deaths(family: str, drift: str, births: float) -> None:
    n_batches, n_clusters = 50, 20
    options = {"n_clusters": n_clusters, "births": births, "drift": drift}
    there = present(small_stream(family, n_batches, **options), n_clusters)
    assert there[:, 0].all()
    if drift == "recurring":
        return
    passing = ~there.all(axis=0)
    assert passing.sum() == min(round(births * n_clusters), n_clusters - 1)
    assert (there.sum(axis=0) >= 0.2 * (n_batches - 1)).all()
    # No cluster lives twice: it is born at most once and dies at most once.
    turns = np.diff(there.astype(int), axis=0)
    assert ((turns == 1).sum(axis=0) <= 1).all()
    assert ((turns == -1).sum(axis=0) <= 1).all()
    if births:
        assert (turns == 1).any()
        assert (turns == -1).any()


# --- the oracle ------------------------------------------------------------------------------


@drifts
def test_gaussian_oracle_takes_the_most_probable_cluster(drift: str) -> None:
    stream = small_stream("gaussian", drift=drift, weights="dirichlet", box=6.0)
    for batch in stream[::4]:
        truth = batch.truth
        assert isinstance(truth, GaussianMixture)
        density = np.column_stack(
            [
                stats.multivariate_normal(mean, covariance).logpdf(batch.X)
                for mean, covariance in zip(truth.means, truth.covariances, strict=True)
            ]
        )
        np.testing.assert_allclose(truth.log_density(batch.X), density)
        check_oracle(batch, density)


@drifts
@pytest.mark.parametrize("sparse", [False, True])
def test_multinomial_oracle_takes_the_most_probable_cluster(drift: str, sparse: bool) -> None:
    stream = small_stream("multinomial", drift=drift, weights="dirichlet", sparse=sparse)
    for batch in stream[::4]:
        truth = batch.truth
        assert isinstance(truth, MultinomialMixture)
        X = batch.X.toarray() if sparse else batch.X
        density = np.column_stack([stats.multinomial(30, p).logpmf(X) for p in truth.probabilities])
        np.testing.assert_allclose(truth.log_density(batch.X), density)
        check_oracle(batch, density)


def check_oracle(batch, log_density: np.ndarray) -> None:
    """Compare the oracle with the plain sum over each cluster's components."""
    joint = batch.truth.weights * np.exp(log_density)
    by_cluster = np.zeros((len(joint), 6))
    for component, cluster in enumerate(batch.truth.clusters):
        by_cluster[:, cluster] += joint[:, component]
    np.testing.assert_array_equal(batch.oracle, by_cluster.argmax(axis=1))


# --- mistakes --------------------------------------------------------------------------------


@families
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_batches": 0}, "n_batches must be an integer of at least 1, got 0"),
        ({"batch_size": 2.5}, "batch_size must be an integer of at least 1, got 2.5"),
        ({"n_clusters": -1}, "n_clusters must be an integer of at least 1, got -1"),
        ({"n_clusters": True}, "n_clusters must be an integer of at least 1, got True"),
        ({"n_features": 0}, "n_features must be an integer of at least"),
        ({"drift": "slow"}, "drift must be one of 'none', 'incremental'.*got 'slow'"),
        ({"drift": ["none"]}, "drift must be one of"),
        ({"weights": "equal"}, "weights must be one of 'uniform', 'dirichlet'; got 'equal'"),
        ({"births": 1.5}, "births must be a finite number of at least 0 and at most 1, got 1.5"),
        ({"births": float("nan")}, "births must be a finite number"),
        ({"random_state": "a"}, "random_state must be an integer of at least 0, got 'a'"),
    ],
)
def test_bad_arguments_are_refused(family: str, options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small_stream(family, **options)


@pytest.mark.parametrize(
    ("family", "options", "message"),
    [
        ("gaussian", {"box": -1.0}, "box must be a finite number of at least 0, got -1.0"),
        ("gaussian", {"speed": np.inf}, "speed must be a finite number of at least 0, got inf"),
        ("gaussian", {"size": 0}, "size must be a finite number above 0, got 0"),
        ("multinomial", {"concentration": 0.0}, "concentration must be a finite number above 0"),
        ("multinomial", {"n_trials": 0}, "n_trials must be an integer of at least 1, got 0"),
        ("multinomial", {"n_features": 1}, "n_features must be an integer of at least 2, got 1"),
    ],
)
def test_bad_arguments_of_one_family_are_refused(family: str, options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small_stream(family, **options)
