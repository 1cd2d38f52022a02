"""Graphs of ONNX give what the model gives: labels, probabilities and log densities."""

import json
import sys

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln
from sklearn.exceptions import NotFittedError

from scstream import ScStream

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

FAMILIES = ("gaussian", "diagonal", "spherical", "multinomial", "poisson")
GAPS = ("diagonal", "spherical", "poisson")  # whose graphs take rows with missing entries


def run(graph, X):
    """Return the label, the probabilities and the log density of rows, by the official runtime."""
    session = runtime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, {"X": np.asarray(X, dtype=np.float64)})


def rows(family, rng, n, d):
    """Return rows of a few clusters, in units and places of all kinds."""
    k = rng.integers(1, 5)
    z = rng.integers(k, size=n)
    if family == "multinomial":
        share = rng.dirichlet(np.full(d, 0.5), k)[z]
        return rng.multinomial(rng.integers(0, 10 ** rng.integers(1, 4), n), share)
    if family == "poisson":
        return rng.poisson(10.0 ** rng.uniform(-2, 3, (k, d))[z])
    scale, place = 10.0 ** rng.uniform(-6, 6, (2, d))
    return scale * (rng.normal(scale=6.0, size=(k, d))[z] + rng.normal(size=(n, d))) + place


def with_gaps(X, rng, share):
    out = X.astype(np.float64)
    out[rng.random(X.shape) < share] = np.nan
    return out


def random_model(seed):
    """Return a model of a few batches, and rows that it may be asked of."""
    rng = np.random.default_rng([47, seed])
    family = FAMILIES[seed % len(FAMILIES)]
    d, batches = rng.integers(1, 8), rng.integers(1, 3)
    if family == "gaussian" and seed // 10 % 2:
        d = rng.integers(50, 60)  # described by a few directions
    # Two rows of five columns would have a covariance that rounding rules.
    n = 3 * min(d, 8) + rng.integers(1, 60)
    stream = rows(family, rng, n * batches + 20, d)
    if family in GAPS and rng.random() < 0.3:
        stream = with_gaps(stream, rng, 0.1)
        stream[0] = 1.0
    weight = rng.uniform(0.01, 0.5) if seed // 5 % 2 else 0.0
    model = ScStream(
        family, alpha=10.0 ** rng.uniform(-1, 1), outlier_weight=weight, random_state=seed
    )
    for i in range(batches):
        model.partial_fit(stream[i * n : (i + 1) * n])
    return model, stream[-30:]


@pytest.mark.parametrize(
    "seeds", [range(20), pytest.param(range(20, 1020), marks=pytest.mark.slow)], ids=len
)
def test_random_models_give_the_same_anywhere(seeds):
    families = set()
    for seed in seeds:
        model, X = random_model(seed)
        graph = model.to_onnx()
        onnx.checker.check_model(graph, full_check=True)
        label, probabilities, density = run(graph, X)
        expected = model.predict_proba(X)
        about = f"seed {seed}, {model.family_}"
        np.testing.assert_allclose(probabilities, expected, rtol=1e-5, atol=1e-9, err_msg=about)
        np.testing.assert_allclose(
            density, model.score_samples(X), rtol=1e-5, atol=1e-6, err_msg=about
        )
        rest = np.sort(np.column_stack([expected, 1.0 - expected.sum(axis=1)]), axis=1)
        clear = rest[:, -1] - rest[:, -2] > 1e-6
        np.testing.assert_array_equal(label[clear], model.predict(X)[clear], err_msg=about)
        families.add(
            (model.family_.name, model.family_.space is not None, model.outlier_weight > 0.0)
        )
    assert len(families) == 2 * len(FAMILIES) + 2  # each with and without outliers


def one_model(family="gaussian", **more):
    rng = np.random.default_rng(5)
    X = rng.poisson(np.array([[2.0, 30.0, 5.0], [40.0, 3.0, 5.0]])[rng.integers(2, size=100)])
    return ScStream(family, random_state=0, **more).partial_fit(X), X


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n", [0, 1])
def test_any_number_of_rows(family, n):
    model, X = one_model(family)
    label, probabilities, density = run(model.to_onnx(), X[:n])
    assert label.dtype == np.int64
    assert probabilities.shape == (n, model.n_clusters_)
    np.testing.assert_array_equal(label, model.predict(X)[:n])
    np.testing.assert_allclose(density, model.score_samples(X)[:n])


def test_many_columns_in_several_batches():
    """Rows after the first batch lie further outside of its directions, which the density knows."""
    rng = np.random.default_rng(2)
    places = rng.normal(size=(3, 60))
    model = ScStream(random_state=0)
    for _ in range(3):
        X = 3.0 * places[rng.integers(3, size=300)] + rng.normal(size=(300, 60))
        model.partial_fit(X)
    space = model.family_.space
    assert space.usual > 1.05 * space.noise
    label, probabilities, density = run(model.to_onnx(), X)
    np.testing.assert_array_equal(label, model.predict(X))
    np.testing.assert_allclose(probabilities, model.predict_proba(X), atol=1e-9)
    np.testing.assert_allclose(density, model.score_samples(X), rtol=1e-9)


def test_outliers_are_labelled_so():
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(size=(300, 2)), rng.uniform(-30, 30, (20, 2))])
    model = ScStream(outlier_weight=0.05, random_state=0).partial_fit(X)
    label, probabilities, _ = run(model.to_onnx(), X)
    assert 0 < (label == -1).sum() < 30
    np.testing.assert_array_equal(label, model.predict(X))
    assert probabilities[label == -1].sum(axis=1).max() < 0.5


def test_ids_and_columns_are_in_the_graph():
    rng = np.random.default_rng(0)
    names = ["a", "b"]
    model = ScStream(random_state=0, half_life=0.5)
    for shift in (0, 0, 100, 200, 300, 300, 300, 300):  # the first clusters are forgotten
        model.partial_fit(pd.DataFrame(rng.normal(shift, size=(200, 2)), columns=names))
    ids = [cluster.id for cluster in model.clusters_]
    assert ids != list(range(len(ids)))
    graph = model.to_onnx()
    said = {item.key: item.value for item in graph.metadata_props}
    assert json.loads(said["columns"]) == names
    assert json.loads(said["ids"]) == ids
    assert said["family"] == "gaussian"
    frame = pd.DataFrame(rng.normal(300.0, size=(5, 2)), columns=names)
    assert run(graph, frame)[0].tolist() == model.predict(frame).tolist()


def test_a_row_with_gaps_has_no_label_among_full_covariances():
    model, X = one_model()
    X = X.astype(float)
    X[1, 0] = np.nan
    label, probabilities, density = run(model.to_onnx(), X)
    assert label[1] == -1
    assert np.isnan(density[1])
    assert np.isnan(probabilities[1]).all()
    others = np.arange(len(X)) != 1
    np.testing.assert_array_equal(label[others], model.predict(X)[others])


@pytest.mark.parametrize(
    ("family", "said"),
    [("student", "Student"), ("categorical", "Categorical"), ("auto", "NegativeBinomial")],
)
def test_other_families_are_refused_by_name(family, said):
    model, _ = one_model(family)
    with pytest.raises(
        ValueError, match=rf"family {said}\(.*\) cannot be .* 'gaussian', 'diagonal'"
    ):
        model.to_onnx()


def test_columns_of_other_kinds_are_refused_by_name():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"size": rng.normal(size=60), "country": np.tile(["NL", "DE", "FR"], 20)})
    model = ScStream("auto", random_state=0).partial_fit(table)
    with pytest.raises(ValueError, match=r"'categorical': \['country'\]"):
        model.to_onnx()


def test_a_model_without_data_is_refused():
    with pytest.raises(NotFittedError):
        ScStream().to_onnx()


def test_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"scstream\[onnx\]"):
        one_model()[0].to_onnx()


def test_ratios_of_gamma_functions():
    from scstream.onnx import Graph, Value, log_rise

    graph, a = Graph(onnx), 10.0 ** np.arange(-12.0, 16.0)
    graph("Identity", log_rise(graph, a, Value(graph, "X")), name="rise")
    rise = graph.finished({"X": 1}, {"rise": len(a)}, {})
    one, two, many = run(rise, [[1.0], [2.0], [1e6]])[0]
    np.testing.assert_allclose(one, np.log(a), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(two, np.log(a) + np.log1p(a), rtol=1e-12, atol=1e-12)
    small = a < 1e6
    expected = gammaln(a + 1e6) - gammaln(a)
    np.testing.assert_allclose(many[small], expected[small], rtol=1e-12)
