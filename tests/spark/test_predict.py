"""Labels and scores of data frames: those of the model itself, by names and by places."""

import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal

pd = pytest.importorskip("pandas", reason="pandas is not installed")
pytest.importorskip("pyspark", reason="pyspark is not installed")

from scstream import ScStream  # noqa: E402
from scstream.datasets import gaussian_stream  # noqa: E402
from scstream.spark import predict  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # Spark's, of other packages' versions
NAMES = ["x", "a.b", "c`d"]
STREAM = gaussian_stream(3, 400, 4, 3, random_state=0)


def learned(named: bool) -> ScStream:
    model = ScStream(random_state=0)
    for batch in STREAM:
        model.partial_fit(pd.DataFrame(batch.X, columns=NAMES) if named else batch.X)
    return model


@pytest.mark.parametrize("named", [True, False], ids=["names", "places"])
def test_columns_hold_what_the_model_says(spark, named) -> None:
    model, X = learned(named), STREAM[0].X
    table = pd.DataFrame(X[:, ::-1], columns=NAMES[::-1]).assign(row=np.arange(len(X)))
    rows = spark.createDataFrame(table).repartition(2)
    given = None if named else NAMES
    found = rows.select("row", *(
        predict(model, given, method=method).alias(method)
        for method in ("predict", "anomaly", "score_samples")
    )).toPandas().sort_values("row")  # fmt: skip
    own = pd.DataFrame(X, columns=NAMES) if named else X
    for method in ("predict", "anomaly", "score_samples"):
        assert_array_equal(found[method].to_numpy(), getattr(model, method)(own))
    assert found["predict"].nunique() > 1


def test_a_frame_without_rows_has_a_column(spark) -> None:
    rows = spark.createDataFrame([], "x double, `a.b` double, `c``d` double")
    assert rows.withColumn("label", predict(learned(True))).collect() == []


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        (ScStream(), {}, "learned nothing yet"),
        (learned(False), {}, "learned from 3 columns: name as many"),
        (learned(True), {"columns": ["x"]}, "learned from 3 columns: name as many"),
        (learned(True), {"columns": "xyz"}, "learned from 3 columns: name as many"),
        (learned(True), {"method": "fit"}, "method must be one of"),
    ],
)
def test_what_cannot_be_said_is_refused_before_anything_runs(spark, model, options, words) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        predict(model, **options)
