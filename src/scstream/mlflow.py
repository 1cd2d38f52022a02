"""Models in MLflow: saved as a checkpoint, not a pickle, and served with labels and scores."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from scstream import __version__
from scstream.model import ScStream
from scstream.support.extras import need_package

if TYPE_CHECKING:
    from mlflow.models.model import Model, ModelInfo
    from pandas import DataFrame

__all__ = ["load_model", "log_model", "save_model"]

FLAVOR = "scstream"
_FILE = "model.scs"
_COLUMNS = {  # that MLflow's pyfunc returns, and their types
    "label": "long",
    "group": "long",
    "probability": "double",
    "score": "double",
    "anomaly": "double",
}


def save_model(
    model: ScStream,
    path: str | os.PathLike[str],
    *,
    input_example: Any = None,
    signature: Any = None,
    pip_requirements: Any = None,
    metadata: dict[str, Any] | None = None,
    mlflow_model: Model | None = None,
) -> None:
    """Write a fitted model to a new folder, as MLflow does.

    Parameters
    ----------
    model : ScStream
    path : str or path-like
    input_example : array-like, optional
        Some rows, saved beside the model. Their columns and types become the signature: MLflow
        refuses other ones.
    signature : mlflow.models.ModelSignature, optional
        In place of that.
    pip_requirements : list of str, optional
        Default: this version of scstream, and what the extra ``mlflow`` brings.
    metadata : dict, optional
        What MLflow is to keep with the model.
    mlflow_model : mlflow.models.Model, optional
        What MLflow gives when it logs a model.
    """
    mlflow = _mlflow()
    check_is_fitted(model)
    if signature is None and input_example is not None:
        signature = _signature(mlflow, input_example)
    about = mlflow_model or mlflow.models.Model()
    about.add_flavor(FLAVOR, scstream_version=__version__, data=f"data/{_FILE}")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / _FILE
        model.save(file)
        mlflow.pyfunc.save_model(
            path=os.fspath(path),
            loader_module=__name__,
            data_path=os.fspath(file),
            mlflow_model=about,
            signature=signature,
            input_example=input_example,
            pip_requirements=pip_requirements or [f"scstream[mlflow]=={__version__}"],
            metadata=metadata,
        )


def log_model(model: ScStream, name: str, **more: Any) -> ModelInfo:
    """Log a fitted model to the active run, and return what MLflow says of it.

    Parameters
    ----------
    model : ScStream
    name : str
    **more : optional
        Arguments of `save_model`, and of ``mlflow.models.Model.log``, such as
        ``registered_model_name``.
    """
    check_is_fitted(model)
    log = _mlflow().models.Model.log
    info: ModelInfo = log(None, sys.modules[__name__], name=name, model=model, **more)
    return info


def load_model(model_uri: str, *, kernel: Any = None) -> ScStream:
    """Return the model behind a URI of MLflow; it learns on from where it was.

    Parameters
    ----------
    model_uri : str
        Such as ``models:/topics/3``, ``runs:/<run>/<name>``, or the path of a folder.
    kernel : callable, optional
        The kernel that the model had, see `ScStream.load`.
    """
    mlflow = _mlflow()
    folder = mlflow.artifacts.download_artifacts(artifact_uri=model_uri)
    flavors = mlflow.models.Model.load(folder).flavors
    if FLAVOR not in flavors:
        raise ValueError(f"{model_uri!r} is not a model of scstream; its flavors: {list(flavors)}.")
    return ScStream.load(Path(folder) / flavors[FLAVOR]["data"], kernel=kernel)


class Served:
    """A model as MLflow's ``pyfunc`` calls it."""

    def __init__(self, model: ScStream) -> None:
        self._model = model

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> DataFrame:
        """Return a data frame with a row for each row of the input.

        Its columns are ``label`` (-1 for outliers), ``group``, ``probability`` (of the label),
        ``score`` (the log density) and ``anomaly``.
        """
        pd = need_package("pandas", "mlflow")
        model = self._model
        label, shares = model.predict(model_input), model.predict_proba(model_input)
        outlier = 1.0 - shares.sum(axis=1)
        return pd.DataFrame(
            {
                "label": label,
                "group": model.predict_group(model_input),
                "probability": np.where(label == -1, outlier, shares.max(axis=1)),
                "score": model.score_samples(model_input),
                "anomaly": model.anomaly(model_input),
            }
        )


def _load_pyfunc(path: str) -> Served:
    """Return what MLflow's ``pyfunc`` calls, given the file of a model."""
    return Served(ScStream.load(path))


def _signature(mlflow: Any, input_example: Any) -> Any:
    """Return the types of rows such as these, and of what `Served` returns."""
    types = mlflow.types
    outputs = types.Schema([types.ColSpec(kind, name) for name, kind in _COLUMNS.items()])
    inputs = mlflow.models.infer_signature(input_example).inputs
    return mlflow.models.ModelSignature(inputs=inputs, outputs=outputs)


def _mlflow() -> Any:
    """Return MLflow with the parts used here."""
    for part in ("mlflow.artifacts", "mlflow.models", "mlflow.pyfunc", "mlflow.types"):
        need_package(part, "mlflow", "saving models for MLflow needs mlflow")
    return need_package("mlflow", "mlflow")
