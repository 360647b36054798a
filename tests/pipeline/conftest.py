"""What the tests of the collector share: a Spark session."""

import os
import sys
from collections.abc import Iterator

import pytest

import mmapqueue
from conftest import checkpoint_files


@pytest.fixture(scope="package")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator["SparkSession"]:  # noqa: F821
    """A session on three cores; it ends with this package, so that the other tests may have one of their own."""
    pyspark = pytest.importorskip("pyspark")
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)

    builder = SparkSession.builder.master("local[3]").appName("tests")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.scheduler.mode": "FAIR",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        **checkpoint_files(pyspark.__version__),
    }.items():
        builder.config(key, value)
    session = mmapqueue.configure(builder).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
