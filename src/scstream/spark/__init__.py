"""ScStream on Spark 4 (needs ``scstream[spark]``); see docs/spark.md.

`StreamLearner` learns one model from a stream, a part of each micro-batch in each task;
`learn_by_key` learns one model for each key of a stream; `predict` labels any data frame.
"""

from scstream.support.extras import need_package

for _package in ("pyspark", "pandas", "pyarrow"):
    need_package(_package, "spark", f"scstream.spark needs {_package}")

from scstream.spark.by_key import learn_by_key  # noqa: E402 - what is missing is named first
from scstream.spark.predict import predict  # noqa: E402
from scstream.spark.stream import StreamLearner  # noqa: E402

__all__ = ["StreamLearner", "learn_by_key", "predict"]
