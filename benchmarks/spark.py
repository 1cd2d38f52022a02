"""How many rows a second Spark learns on this machine, beside one process.

``python -m benchmarks.spark`` runs a stream through `StreamLearner` (``--batches``, ``--rows``,
``--parts``) and then through one model in this process, in turns, and a stream of many keys through
`learn_by_key` (``--keys``, ``--each``). What Spark takes is the time from one micro-batch to the
next, median; starting up does not count. Needs Java and ``scstream[spark]``.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import machine
from scstream import ScStream
from scstream.datasets import gaussian_stream
from scstream.metrics import adjusted_rand_index

ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def session(cores: int) -> Any:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{cores}]")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": str(cores),
        "spark.sql.streaming.stateStore.providerClass": ROCKS,
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def write(folder: Path, tables: Any) -> None:
    """Write a file for each micro-batch, in their order."""
    folder.mkdir()
    for i, table in enumerate(tables):
        path = folder / f"{i:05}.parquet"
        table.to_parquet(path, index=False)
        os.utime(path, (1e9 + i, 1e9 + i))


def run(rows: Any, each: Any, checkpoint: Path) -> None:
    writer = rows.writeStream.foreachBatch(each).option("checkpointLocation", str(checkpoint))
    writer.trigger(availableNow=True).start().awaitTermination()


def reading(spark: Any, folder: Path) -> Any:
    schema = spark.read.parquet(str(folder)).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


def noted(ends: list[float]) -> Any:
    """Return what takes all rows of a micro-batch and notes when it ends."""

    def each(rows: Any, batch: int) -> None:
        rows.write.format("noop").mode("overwrite").save()
        ends.append(time.perf_counter())

    return each


def between(ends: list[float], *, after: int = 2) -> float:
    """Return the median of the seconds between micro-batches; the first are not counted."""
    return float(np.median(np.diff(ends[after:])))


def one_stream(spark: Any, folder: Path, args: argparse.Namespace) -> None:
    """Print rows a second and agreement with the truth, of Spark and of one process in turns."""
    import pandas as pd

    from scstream.spark import StreamLearner

    stream = gaussian_stream(args.batches, args.rows, n_features=5, random_state=1)
    names = [f"x{j}" for j in range(5)]
    write(folder / "in", (pd.DataFrame(batch.X, columns=names) for batch in stream))
    took: dict[str, list[float]] = {"Spark": [], "one process": []}
    scores: dict[str, list[float]] = {"Spark": [], "one process": []}
    for turn in range(args.turns):
        ends: list[float] = []
        place = folder / f"models{turn}"

        model = ScStream(random_state=0)
        learner = StreamLearner(model, place, columns=names, parts=args.parts, then=noted(ends))
        run(reading(spark, folder / "in"), learner, folder / f"spark{turn}")
        took["Spark"].append(between(ends))
        last = stream[args.batches - 1]
        frame = pd.DataFrame(last.X, columns=names)
        scores["Spark"].append(adjusted_rand_index(last.y, learner.model.predict(frame)))
        model, ends = ScStream(random_state=0, n_jobs=args.cores), []
        for batch in stream:
            X = pd.DataFrame(batch.X, columns=names)
            begin = time.perf_counter()
            model.partial_fit(X).predict(X)
            ends.append(time.perf_counter() - begin)
        took["one process"].append(float(np.median(ends[2:])))
        scores["one process"].append(adjusted_rand_index(last.y, model.predict(frame)))
    print(f"\n{args.batches} micro-batches of {args.rows:,} rows in 5-D, {args.parts} parts\n")
    print("| | s a micro-batch | rows a second | ARI of the last |")
    print("| --- | ---: | ---: | ---: |")
    for name, seconds in took.items():
        middle = float(np.median(seconds))
        ari = float(np.median(scores[name]))
        print(f"| {name} | {middle:.3f} | {args.rows / middle:,.0f} | {ari:.3f} |")


def many_keys(spark: Any, folder: Path, args: argparse.Namespace) -> None:
    """Print rows a second and the size of the state of a model for each key."""
    import pandas as pd

    from scstream.spark import learn_by_key

    stream = gaussian_stream(args.key_batches, args.keys * args.each, 5, 2, random_state=1)
    key = np.arange(args.keys * args.each) % args.keys
    tables = (pd.DataFrame(batch.X, columns=["x", "y"]).assign(key=key) for batch in stream)
    write(folder / "keyed", tables)
    ends: list[float] = []

    model = ScStream(random_state=0, max_sweeps=20)
    rows = learn_by_key(reading(spark, folder / "keyed"), "key", model)
    run(rows, noted(ends), folder / "spark-keyed")
    states = spark.read.format("statestore").option("stateVarName", "model")
    sizes = [len(row.value.model) for row in states.load(str(folder / "spark-keyed")).collect()]
    seconds = between(ends, after=1)
    n = args.keys * args.each
    print(f"\n{len(sizes):,} keys, {args.each} rows of each in {args.key_batches} micro-batches\n")
    print(f"{seconds:.2f} s a micro-batch, {n / seconds:,.0f} rows a second")
    print(f"a model takes {np.median(sizes):,.0f} bytes (median), all {sum(sizes) / 1e6:.1f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--batches", type=int, default=200)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--keys", type=int, default=1000)
    parser.add_argument("--each", type=int, default=20, help="rows of a key in a micro-batch")
    parser.add_argument("--key-batches", type=int, default=5)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    spark = session(args.cores)
    with tempfile.TemporaryDirectory() as folder:
        if args.batches:
            one_stream(spark, Path(folder), args)
        if args.keys:
            many_keys(spark, Path(folder), args)
    now = machine.circumstances()
    print(f"\n{now['machine']}; {now['versions']}; revision {now['revision']}")
    spark.stop()


if __name__ == "__main__":
    main()
