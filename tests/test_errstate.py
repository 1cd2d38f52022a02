"""A caller's ``np.errstate(all="raise")`` changes nothing."""

import numpy as np
import pytest
from streams import snapshot

from examples import example_rows
from scstream import Product, ScStream
from scstream.families import BY_NAME

FAMILIES = [*BY_NAME, "product", "outliers"]


def rows(name, seed):
    """Return 30 rows that a family takes."""
    if name in ("product", "outliers"):
        rng = np.random.default_rng(seed)
        X = np.concatenate([rng.normal(size=(15, 2)), rng.normal(9.0, 0.01, size=(15, 2))])
        return np.column_stack([X, rng.poisson(3.0, size=30)])
    return example_rows(name, seed)


def model_of(name):
    options = {"random_state": 0, "max_sweeps": 3, "half_life": 0.5, "n_jobs": 1}
    if name == "product":
        return ScStream(Product([("gaussian", [0, 1]), ("poisson", [2])]), **options)
    if name == "outliers":
        return ScStream(outlier_weight=0.05, **options)
    return ScStream(name, **options)


def learned(name):
    """Return all that a model finds."""
    model, found = model_of(name), []
    for seed in range(2):
        X = rows(name, seed)
        for part in (X[:12], X[12:]):
            found.append(model.partial_fit(part).labels_)
    found += [model.predict(X), model.predict_proba(X), model.score_samples(X), model.score(X)]
    found += [model.transform(X), model.get_feature_names_out().tolist()]
    found += [model.clusters_, model.events_, model.prior_, model.history_, model.time_]
    found += [[c.columns for c in model.clusters_], [c.parameters for c in model.clusters_]]
    found.append(model_of(name).fit_predict(X))
    return snapshot(found)


@pytest.mark.parametrize("name", FAMILIES)
def test_floating_point_settings_of_the_caller_change_nothing(name):
    expected = learned(name)
    with np.errstate(all="raise"):
        assert learned(name) == expected


def test_a_loaded_model_too(tmp_path):
    path = tmp_path / "model"
    model_of("categorical").fit(rows("categorical", 0)).save(path)
    with np.errstate(all="raise"):
        model = ScStream.load(path)
        model.partial_fit(rows("categorical", 1))
        model.save(path)
        assert np.geterr()["over"] == "raise"


@pytest.mark.parametrize("columns", [2, 60])
@pytest.mark.parametrize("size", [1e-300, 1.0, 1e150])
def test_labels_of_a_few_rows_neither(columns, size):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, columns)) + 9.0 * rng.integers(2, size=(300, 1))
    model = ScStream(random_state=0, max_sweeps=3).fit(X)
    for n in (3, 300):
        expected = model.predict(size * X[:n])
        with np.errstate(all="raise"):
            np.testing.assert_array_equal(model.predict(size * X[:n]), expected)
