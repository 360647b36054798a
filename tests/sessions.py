"""Spark sessions for tests."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import mmapqueue

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def spark_session(cores: int, warehouse: Path, log_level: str, **properties: str) -> Iterator["SparkSession"]:
    """A session in this process, with the jar. It ends with the block, so that other tests may have another one.

    Args:
        cores: Number of tasks at a time.
        warehouse: Directory of tables.
        log_level: Of Spark's log.
        **properties: Further properties, with `_` in place of `.`.
    """
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(f"local[{cores}]").appName("tests")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(warehouse),
        **{key.replace("_", "."): value for key, value in properties.items()},
    }.items():
        builder.config(key, value)
    session = mmapqueue.configure(builder).getOrCreate()
    session.sparkContext.setLogLevel(log_level)
    try:
        yield session
    finally:
        session.stop()
