"""Models in MLflow: what is saved is a checkpoint, and comes back whole."""

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from scstream import ScStream

mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed")
pytest.importorskip("mlflow.pyfunc", reason="MLflow's pyfunc is not installed")
from scstream.mlflow import load_model, log_model, save_model  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("default::FutureWarning"),  # between its own parts
    pytest.mark.filterwarnings("default::UserWarning:mlflow"),
]


def frame(seed=0, n=300):
    rng = np.random.default_rng(seed)
    kind = rng.integers(3, size=n)
    numbers = rng.normal(size=(n, 2)) + 5.0 * kind[:, None]
    return pd.DataFrame({"height": numbers[:, 0], "width": numbers[:, 1], "kind": kind})


@pytest.fixture
def model():
    return ScStream(outlier_weight=0.02, random_state=0).partial_fit(frame())


@pytest.fixture
def tracking(tmp_path, monkeypatch):
    """Track runs in a folder of the test."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    yield
    mlflow.set_tracking_uri(before)


def check_answer(answer, model, X):
    """Check what ``pyfunc`` returns against the model's own methods."""
    assert list(answer) == ["label", "group", "probability", "score", "anomaly"]
    label = model.predict(X)
    np.testing.assert_array_equal(answer["label"], label)
    np.testing.assert_array_equal(answer["group"], model.predict_group(X))
    np.testing.assert_array_equal(answer["score"], model.score_samples(X))
    np.testing.assert_array_equal(answer["anomaly"], model.anomaly(X))
    ids, shares = [cluster.id for cluster in model.clusters_], model.predict_proba(X)
    shares = np.column_stack([shares, 1.0 - shares.sum(axis=1)])
    place = [[*ids, -1].index(i) for i in label.tolist()]
    np.testing.assert_allclose(answer["probability"], shares[np.arange(len(X)), place])


def test_a_logged_model_labels_rows_and_learns_on(tracking, model):
    X = frame(1)
    assert -1 in model.predict(X)
    with mlflow.start_run():
        info = log_model(model, "clusters", input_example=X[:3], registered_model_name="shapes")
    for uri in (info.model_uri, "models:/shapes/1"):
        check_answer(mlflow.pyfunc.load_model(uri).predict(X), model, X)
        again = load_model(uri)
        assert type(again) is ScStream
        assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.partial_fit(X).labels_, model.partial_fit(X).labels_)
    assert again.score_samples(X).tolist() == model.score_samples(X).tolist()


def test_the_folder_holds_a_checkpoint_and_no_pickle(tmp_path, model):
    save_model(model, tmp_path / "model", metadata={"team": "north"})
    files = {path.name: path for path in (tmp_path / "model").rglob("*") if path.is_file()}
    assert not [name for name in files if name.endswith((".pkl", ".pickle", ".joblib"))]
    assert ScStream.load(files["model.scs"]).n_clusters_ == model.n_clusters_
    about = mlflow.models.Model.load(tmp_path / "model")
    assert about.flavors["scstream"]["data"] == "data/model.scs"
    assert about.metadata == {"team": "north"}
    assert about.signature is None
    assert "scstream[mlflow]==" in files["requirements.txt"].read_text()


def test_the_example_gives_the_signature(tmp_path, model):
    X = frame(2)
    save_model(model, tmp_path / "model", input_example=X[:2])
    served = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    inputs = served.metadata.get_input_schema()
    assert [(column.name, column.type.name) for column in inputs] == [
        ("height", "double"), ("width", "double"), ("kind", "long"),
    ]  # fmt: skip
    answer = served.predict(X)
    types = {name: kind.kind for name, kind in answer.dtypes.items()}
    declared = {column.name: column.type.name for column in served.metadata.get_output_schema()}
    assert declared == {name: {"i": "long", "f": "double"}[kind] for name, kind in types.items()}
    check_answer(served.predict(X[["kind", "width", "height"]]), model, X)  # by name
    with pytest.raises(mlflow.MlflowException, match="width"):
        served.predict(X[["height", "kind"]])
    assert served.input_example.equals(X[:2])


def test_arrays_and_a_signature_of_the_users(tmp_path):
    X = frame()[["height", "width"]].to_numpy()
    model = ScStream("diagonal", random_state=0).partial_fit(X)
    given = mlflow.models.infer_signature(X)
    save_model(model, tmp_path / "model", signature=given, pip_requirements=["scstream"])
    served = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    assert served.metadata.signature == given
    check_answer(served.predict(X), model, X)


def test_a_kernel_is_given_again(tmp_path):
    model = ScStream(kernel=_kernel, random_state=0).partial_fit(frame())
    save_model(model, tmp_path / "model")
    again = load_model(str(tmp_path / "model"), kernel=_kernel)
    assert again.partial_fit(frame(1)).n_batches_ == 2


def _kernel(age):
    return float(age < 3)


def test_other_models_and_models_without_data_are_refused(tmp_path, model):
    with pytest.raises(NotFittedError):
        save_model(ScStream(), tmp_path / "unfitted")
    assert not (tmp_path / "unfitted").exists()
    mlflow.models.Model(flavors={"sklearn": {}}).save(tmp_path / "MLmodel")
    with pytest.raises(ValueError, match=r"not a model of scstream; its flavors: \['sklearn'\]"):
        load_model(str(tmp_path))


def test_the_extra_is_named(monkeypatch, tmp_path, model):
    monkeypatch.setitem(sys.modules, "mlflow.artifacts", None)
    with pytest.raises(ImportError, match=r"scstream\[mlflow\]"):
        save_model(model, tmp_path / "model")
    with pytest.raises(ImportError, match=r"scstream\[mlflow\]"):
        load_model(str(tmp_path / "model"))
