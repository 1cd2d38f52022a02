"""One model for a stream: right clusters, and the same model whatever fails, and wherever."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pd = pytest.importorskip("pandas", reason="pandas is not installed")
pytest.importorskip("pyspark", reason="pyspark is not installed")

from spark_streams import run, stream, write_stream  # noqa: E402

from scstream import ScStream  # noqa: E402
from scstream.datasets import gaussian_stream  # noqa: E402
from scstream.metrics import adjusted_rand_index  # noqa: E402
from scstream.spark import StreamLearner  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # Spark's, of other packages' versions
STREAM = gaussian_stream(5, 600, 4, 2, random_state=2)
START = pd.Timestamp("2026-01-01")

KILLED = """
import os, signal, sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from spark_streams import prepare, run, session, stream
prepare()
spark = session({folder!r})
from scstream import ScStream
from scstream.spark import StreamLearner

def then(rows, batch):
    if batch == 2:
        os.kill(os.getpid(), signal.SIGKILL)

folder = Path({folder!r})
learner = StreamLearner(
    ScStream(random_state=0), folder / "killed", columns=["x", "y"], time="at", parts=3, then=then
)
run(stream(spark, folder / "in"), learner, folder / "killed-spark")
"""


def tables() -> list:
    """Return micro-batches of named columns with times; the fourth comes too late."""
    return [
        pd.DataFrame(batch.X, columns=["x", "y"]).assign(
            z=batch.y, at=START + pd.Timedelta(hours=2.0 if i == 3 else i)
        )
        for i, batch in enumerate(STREAM)
    ]


def learner(folder: Path, **options) -> StreamLearner:
    given = {"columns": ["x", "y"], "time": "at", "parts": 3} | options
    return StreamLearner(ScStream(random_state=0), folder, **given)


def content(folder: Path, batch: int) -> tuple:
    """Return what a stored model has learned."""
    model = ScStream.load(folder / f"{batch}.scs")
    state = model._learner.state
    return model.time_, model.n_batches_, state.ids.tolist(), state.totals.tolist()


def test_a_query_that_fails_or_is_killed_learns_each_row_once(spark, tmp_path) -> None:
    write_stream(tmp_path / "in", tables())
    rows, labelled = stream(spark, tmp_path / "in"), {}

    def collect(frame, batch):
        labelled[batch] = frame.toPandas()

    whole = learner(tmp_path / "whole", then=collect)
    run(rows, whole, tmp_path / "whole-spark")
    model = whole.model
    assert model.feature_names_in_.tolist() == ["x", "y"]
    assert model.n_features_in_ == 2
    assert model.n_jobs is None
    found = [labelled[i] for i in range(5)]
    for table in found[1:]:
        assert adjusted_rand_index(table["z"], table["label"]) >= 0.95

    script = KILLED.format(tests=str(Path(__file__).parents[1]), folder=str(tmp_path))
    killed = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=600)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()[-2000:]
    assert [f"{i}.scs" for i in range(3)] == sorted(os.listdir(tmp_path / "killed"))
    again = []
    run(rows, learner(tmp_path / "killed", then=lambda _, batch: again.append(batch)),
        tmp_path / "killed-spark")  # fmt: skip
    assert again == [2, 3, 4]
    for batch in range(5):
        assert content(tmp_path / "killed", batch) == content(tmp_path / "whole", batch)
