"""The clustering does not depend on units, origin, order or the form in which data come."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from streams import blob_stream, labels_of

from scstream import ScStream

CENTRES = np.array([[0.0, 0.0, 5.0], [14.0, 0.0, 0.0], [0.0, 14.0, 0.0], [14.0, 14.0, 9.0]])
STREAM = blob_stream(5, 200, centres=CENTRES, drift=[0.3, 0.1, -0.2])
BATCHES = [X for X, _ in STREAM]


@pytest.fixture(scope="module")
def plain():
    return labels_of(ScStream(random_state=0), BATCHES)


def labels_when(change):
    return labels_of(ScStream(random_state=0), [change(X) for X in BATCHES])


def assert_same(these, those) -> None:
    for mine, theirs in zip(these, those, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def assert_true_clusters(labels, stream=STREAM) -> None:
    """Check the clusters and that they keep their labels through the stream."""
    y = np.concatenate([y for _, y in stream])
    assert adjusted_rand_score(y, np.concatenate(labels)) >= 0.99


@pytest.mark.parametrize(
    "change",
    [
        lambda X: X + 1e6,
        lambda X: X - 1e6,
        lambda X: X + np.array([1e6, -1e3, 0.0]),
        lambda X: X * 1e6,
        lambda X: X * 1e-6,
        lambda X: X * np.array([1e6, 1.0, 1e-6]),
        lambda X: X * 2.0**100,
        lambda X: X * 2.0**-100,
        lambda X: -X,
        lambda X: 1e-6 * X + 1.0,
    ],
    ids=[
        "+1e6",
        "-1e6",
        "columns shifted",
        "times 1e6",
        "times 1e-6",
        "columns scaled",
        "times 2^100",
        "times 2^-100",
        "mirrored",
        "small and off the origin",
    ],
)
def test_origin_and_unit_change_no_label(change, plain) -> None:
    assert_same(labels_when(change), plain)


@pytest.mark.parametrize(("shift", "scale"), [(1e6, 1.0), (0.0, 1e-6), (0.0, 1e6), (-3.0, 20.0)])
def test_parameters_come_in_the_units_of_the_data(shift, scale) -> None:
    plain, other = ScStream(random_state=0), ScStream(random_state=0)
    for X in BATCHES:
        plain.partial_fit(X)
        other.partial_fit(scale * X + shift)
    for a, b in zip(plain.clusters_, other.clusters_, strict=True):
        np.testing.assert_allclose(b.mean, scale * a.mean + shift, rtol=1e-9)
        # 1e6 costs ten digits of a coordinate, which leaves 1e-4 of the smallest unit
        np.testing.assert_allclose(b.covariance, scale**2 * a.covariance, rtol=1e-3, atol=1e-7)
        assert b.count == pytest.approx(a.count)
    logs = other.score_samples(scale * X + shift) - plain.score_samples(X)
    np.testing.assert_allclose(logs, -3 * np.log(scale), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("order", [[2, 1, 0], [1, 2, 0]])
def test_the_order_of_columns_changes_nothing_but_draws(order) -> None:
    assert_true_clusters(labels_when(lambda X: X[:, order]))


def test_the_order_of_rows_changes_nothing_but_draws() -> None:
    orders = [np.random.default_rng(b).permutation(200) for b in range(5)]
    model = ScStream(random_state=0)
    labels = labels_of(model, [X[order] for X, order in zip(BATCHES, orders, strict=True)])
    assert_true_clusters([z[np.argsort(order)] for z, order in zip(labels, orders, strict=True)])


def test_a_rotation_changes_nothing_but_draws() -> None:
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    assert_true_clusters(labels_when(lambda X: X @ turn))


def test_a_shear_changes_nothing_but_draws() -> None:
    shear = np.array([[1.0, 3.0, 0.0], [0.0, 1.0, -2.0], [0.0, 0.0, 1.0]])
    assert_true_clusters(labels_when(lambda X: X @ shear))


# -- the form of the data -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=0)[::2],
        lambda X: X[::-1][::-1],
        lambda X: X.tolist(),
        lambda X: X.astype(object),
        lambda X: X.astype(">f8"),
        lambda X: X.astype(np.longdouble),
    ],
    ids=["Fortran", "strided", "twice reversed", "lists", "objects", "big-endian", "long double"],
)
def test_the_same_numbers_in_another_form_give_the_same_labels(change, plain) -> None:
    assert_same(labels_when(change), plain)


def test_single_precision_is_computed_in_double() -> None:
    single = [X.astype(np.float32) for X in BATCHES]
    double = [X.astype(np.float64) for X in single]
    models = ScStream(random_state=0), ScStream(random_state=0)
    labels = labels_of(models[0], single)
    assert_same(labels, labels_of(models[1], double))
    assert_true_clusters(labels)
    scores = [m.score_samples(X[-1]) for m, X in zip(models, (single, double), strict=True)]
    np.testing.assert_array_equal(*scores)
    assert scores[0].dtype == np.float64


def test_input_is_read_and_never_written() -> None:
    model, before = ScStream(random_state=0), [X.copy() for X in BATCHES]
    weight = np.linspace(0.5, 1.5, 200)
    for X in (*BATCHES, weight):
        X.flags.writeable = False
    try:
        for X in BATCHES:
            model.partial_fit(X, sample_weight=weight)
            model.predict(X), model.predict_proba(X), model.score_samples(X)
    finally:
        for X in BATCHES:
            X.flags.writeable = True
    assert_same(BATCHES, before)
    np.testing.assert_array_equal(weight, np.linspace(0.5, 1.5, 200))
