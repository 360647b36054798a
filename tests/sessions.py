"""Spark sessions for tests."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mmapqueue

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def jvm(spark: "SparkSession") -> Any:
    """py4j's view of the JVM."""
    return spark._jvm


def _checkpoint_files(version: str) -> dict[str, str]:
    """Settings of a session with checkpoints that need no child process: the default starts readlink for each file."""
    package = "org.apache.spark.sql.execution.streaming"
    if tuple(map(int, version.split(".")[:2])) >= (4, 1):
        package += ".checkpointing"
    return {"spark.sql.streaming.checkpointFileManagerClass": f"{package}.FileSystemBasedCheckpointFileManager"}


@contextmanager
def spark_session(cores: int, warehouse: Path, log_level: str, **properties: str) -> Iterator["SparkSession"]:
    """A session in this process, with the jar. It ends with the block, so that other tests may have another one.

    Args:
        cores: Number of tasks at a time.
        warehouse: Directory of tables.
        log_level: Of Spark's log.
        **properties: Further properties, with `_` in place of `.`.
    """
    import pyspark
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
        **_checkpoint_files(pyspark.__version__),
        **{key.replace("_", "."): value for key, value in properties.items()},
    }.items():
        builder.config(key, value)
    session = mmapqueue.configure(builder).getOrCreate()
    session.sparkContext.setLogLevel(log_level)
    try:
        yield session
    finally:
        session.stop()
