"""One Spark for all tests of a process: it takes seconds to start."""

import pytest
from spark_streams import prepare, session


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    prepare()
    spark = session(tmp_path_factory.mktemp("spark"))
    yield spark
    spark.stop()
