"""Numbers far from 0: what a float can hold is clustered as it is near 0."""

import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score
from streams import CORNERS, blobs

from scstream import Product, ScStream
from scstream.estimator.resolution import warning_of_resolution

OFFSETS = 1e6, 1e10, -1e13, 1e14  # doubles are .016 apart about the last
WIDE = 2.0 * np.random.default_rng(5).normal(size=(3, 100))


def real(seed, offset):
    X, y = blobs(300, seed)
    return X + offset, y


def wide(seed, offset):
    X, y = blobs(400, seed, WIDE)
    return X + offset, y


def mixed(seed, offset):
    """Two real columns beside yes and no, and counts."""
    X, y = real(seed, offset)
    rng = np.random.default_rng(seed)
    return np.column_stack([X, rng.random(300) < 0.3, rng.poisson(4.0, 300)]), y


def table(seed, offset):
    X, y = mixed(seed, offset)
    word = np.random.default_rng(seed).choice(["a", "b"], len(X))
    return pd.DataFrame({"x": X[:, 0], "word": word, "n": X[:, 3], "y": X[:, 1]}), y


def with_total(seed, offset):
    X, y = real(seed, offset)
    return np.column_stack([X, X.sum(axis=1), X[:, 0]]), y


def with_gaps(seed, offset):
    X, y = blobs(300, seed, np.hstack([CORNERS, CORNERS]))
    X[::9, 1] = np.nan
    return X + offset, y


PRODUCT = Product([("gaussian", [0, 1]), ("bernoulli", [2]), ("poisson", [3])])
STREAMS = {
    "gaussian": ("gaussian", real),
    "diagonal": ("diagonal", real),
    "spherical": ("spherical", real),
    "student": ("student", real),
    "diagonal-student": ("diagonal-student", real),
    "hurdle": ("hurdle", real),
    "low rank": ("gaussian", wide),
    "gaps": ("gaussian", with_gaps),
    "a total": ("gaussian", with_total),
    "product": (PRODUCT, mixed),
    "auto": ("auto", table),
}


@cache
def learned(name, offset):
    """Return a model of three batches, and the labels of each."""
    family, batch = STREAMS[name]
    model = ScStream(family, random_state=0)
    return model, [model.partial_fit(batch(b, offset)[0]).labels_ for b in range(3)]


def last_rows(name, offset):
    return STREAMS[name][1](9, offset)


def clusters_by_truth(name, offset):
    """Return the cluster of each true one."""
    model, (X, y) = learned(name, offset)[0], last_rows(name, offset)
    found, by_id = model.predict(X), {c.id: c for c in model.clusters_}
    return [by_id[np.bincount(found[y == i]).argmax()] for i in range(3)]


def is_resolved(name, offset):
    """Whether floats hold what a total differs by from its parts: less than clusters do."""
    return name != "a total" or abs(offset) < 1e12


CASES = [(name, at) for name in STREAMS for at in OFFSETS if is_resolved(name, at)]


@pytest.mark.parametrize(("name", "offset"), CASES)
def test_a_large_offset_changes_no_cluster(name, offset):
    model, labels = learned(name, offset)
    plain, expected = learned(name, 0.0)
    assert model.n_clusters_ == plain.n_clusters_ == 3
    for these, those in zip(labels, expected, strict=True):
        assert adjusted_rand_score(these, those) > 0.99
    X, y = last_rows(name, offset)
    assert adjusted_rand_score(model.predict(X), y) > 0.99
    assert len(model.groups_) == len(plain.groups_)


@pytest.mark.parametrize(("name", "offset"), CASES)
def test_clusters_are_described_at_their_offset(name, offset):
    X, plain = (pd.DataFrame(last_rows(name, at)[0]) for at in (offset, 0.0))
    clusters = zip(*(clusters_by_truth(name, at) for at in (offset, 0.0)), strict=True)
    for there, here in clusters:
        for column, own in here.columns.items():
            if "variance" not in own:
                continue
            values, found = X[column], there.columns[column]
            moved = float((values - plain[column]).median())
            assert values.min() <= found["low"] <= found["mean"] <= found["high"] <= values.max()
            assert found["mean"] == pytest.approx(own["mean"] + moved, abs=0.1)
            assert found["variance"] == pytest.approx(own["variance"], rel=0.2)


@pytest.mark.parametrize(("name", "offset"), CASES)
def test_densities_are_those_without_the_offset(name, offset):
    logs = learned(name, offset)[0].score_samples(last_rows(name, offset)[0])
    plain = learned(name, 0.0)[0].score_samples(last_rows(name, 0.0)[0])
    assert logs.mean() == pytest.approx(plain.mean(), abs=0.03)
    np.testing.assert_allclose(logs, plain, atol=0.5)


@pytest.mark.parametrize("name", ["gaussian", "spherical", "low rank", "auto"])
def test_a_checkpoint_keeps_the_offset(name, tmp_path):
    model, X = learned(name, 1e14)[0], last_rows(name, 1e14)[0]
    model.save(tmp_path / "model.scs")
    again = ScStream.load(tmp_path / "model.scs")
    np.testing.assert_array_equal(again.score_samples(X), model.score_samples(X))
    again.partial_fit(X)
    assert again.n_clusters_ == 3


PLACES = {
    "by leaps": 2e5 * np.arange(10),
    "ever faster": 8.0 ** np.arange(12),
    "to 1e6 and on": np.repeat([0.0, 1e6, 1e10], [6, 3, 3]),
    "to 1e14": np.repeat([0.0, 1e14], [6, 3]),
}


@pytest.mark.parametrize("family", ["gaussian", "diagonal"])
@pytest.mark.parametrize("way", PLACES)
def test_a_stream_that_goes_far_is_followed(way, family):
    model, agreement = ScStream(family, random_state=0), []
    for b, place in enumerate(PLACES[way]):
        X, y = real(b, place)
        agreement.append(adjusted_rand_score(y, model.partial_fit(X).labels_))
    assert np.mean(agreement) > 0.98
    assert agreement[-1] > 0.99
    X, y = real(999, place)
    assert adjusted_rand_score(model.predict(X), y) > 0.99
    here = [c for c in model.clusters_ if abs(c.columns[0]["mean"] - place) < 1e3]
    assert len(here) == 3
    for cluster in here:
        assert 0.5 < cluster.columns[0]["variance"] < 2.0


@pytest.mark.parametrize("kind", ["auto", "product"])
def test_one_column_that_goes_far_does_not_hide_clusters(kind):
    family, batch = STREAMS[kind]
    model = ScStream(family, random_state=0)
    for b in range(12):
        X, y = batch(b, 1e12 * (b > 8))
        model.partial_fit(X)
    assert adjusted_rand_score(model.labels_, y) > 0.99


def test_some_faulty_readings_are_no_reason_to_begin_anew():
    model = ScStream(random_state=0)
    for b in range(12):
        X, y = real(b, 0.0)
        X[:3, 0] = 1e9 if b else 0.0
        model.partial_fit(X)
    assert adjusted_rand_score(model.labels_[3:], y[3:]) > 0.99
    assert model.clusters_[0].age == 11


# -- what a float cannot hold ---------------------------------------------------------------------

RNG = np.random.default_rng(3)
TENTHS = RNG.integers(10, size=2000)
LOST = {
    "1e16": blobs(300, 0)[0] + 1e16,
    "1e17, clusters far apart": 1e17
    + 2e4 * TENTHS[:, None]
    + RNG.normal(size=(2000, 1), scale=9.0),
    "singles": (blobs(300, 0)[0] + 1e8).astype(np.float32),
    "whole numbers": np.rint(blobs(300, 0)[0]).astype(np.int64) + 10**18,
}
HELD = {
    "near 0": blobs(300, 0)[0],
    "1e15": blobs(5000, 0)[0] + 1e15,
    "singles": (blobs(5000, 0)[0] + 1e5).astype(np.float32),
    "large whole numbers": RNG.integers(2**62, size=(300, 2)),
    "nanoseconds": 1.7e18 + 1e9 * RNG.normal(size=(300, 1)),
    "a constant": np.full((300, 1), 1e17),
    "few large numbers": 1e17 + 1e3 * TENTHS[:, None],
    "tenths, computed in two ways": np.where(RNG.random(2000) < 0.5, 0.1, 0.7 / 7)[:, None]
    * TENTHS[:, None],
    "yes and no": (TENTHS[:, None] < 3).astype(np.float32),
    "words": pd.DataFrame({"word": ["a", "b"] * 50}),
}


@pytest.mark.parametrize("name", LOST)
def test_what_a_float_cannot_hold_is_said(name):
    assert "differ by less than a float can hold" in warning_of_resolution(LOST[name])


@pytest.mark.parametrize("name", HELD)
def test_what_a_float_holds_is_not_talked_about(name):
    assert warning_of_resolution(HELD[name]) == ""


@pytest.mark.parametrize("family", ["gaussian", "spherical", "auto"])
def test_the_warning_comes_once_and_names_the_columns(family):
    def batch(seed):
        X = blobs(300, seed)[0]
        return pd.DataFrame({"y": X[:, 1], "x": X[:, 0] + 1e17, "t": X[:, 0] - 1e17})

    model = ScStream(family, random_state=0)
    with pytest.warns(UserWarning, match="less than a float can hold") as told:
        model.partial_fit(batch(0))
    (warning,) = [w for w in told if "float" in str(w.message)]
    assert str(warning.message).startswith("Columns 'x', 't': values around 1e+17 differ")
    assert warning.filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(batch(1))


@pytest.mark.parametrize("kind", [np.float32, np.int64])
def test_other_types_with_an_offset(kind):
    """Singles are .06 apart about 1e6; whole numbers beyond 2**53 are not all floats."""
    model, offset = ScStream(random_state=0), 10**6 if kind is np.float32 else 2**56
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for b in range(3):
            X, y = blobs(300, b)
            X = (1000.0 * X).astype(kind) + kind(offset) if kind is np.int64 else X + offset
            model.partial_fit(X.astype(kind))
    assert adjusted_rand_score(model.labels_, y) > 0.99
    wide = 1000.0 if kind is np.int64 else 1.0
    for cluster in model.clusters_:
        assert cluster.columns[0]["variance"] == pytest.approx(wide**2, rel=0.3)
