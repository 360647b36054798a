"""The Spark session of `mmapqueue process`."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

import mmapqueue
from mmapqueue.pipeline.config import Pipeline
from mmapqueue.pipeline.process.pools import FILE, pools

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Properties that apply unless the file or the command line sets them.
_DEFAULTS = {
    # Jobs of one sender do not wait for those of others.
    "spark.scheduler.mode": "FAIR",
    # Of queries that stream Spark supports none, and warns of each.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.streaming.stopTimeout": "30s",
    "spark.ui.showConsoleProgress": "false",
}


def session(pipeline: Pipeline) -> SparkSession:
    """Creates the session, or uses that of spark-submit: its master and properties override those of the file.

    Raises:
        mmapqueue.JarNotFound: This installation carries no jar.
        mmapqueue.MmapQueueError: Spark did not start.
    """
    from py4j.protocol import Py4JError, Py4JJavaError
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    settings = pipeline.spark
    builder = SparkSession.builder
    given: set[str] = set()
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        # A SparkConf has the command line's properties only after this process is connected to spark-submit's JVM.
        SparkContext._ensure_initialized()
        given = {key for key, _ in SparkConf().getAll()}
    else:
        # Senders run in Spark's Python workers, which need the packages of this process.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    properties = {**_DEFAULTS, **settings.conf, "spark.app.name": settings.app_name or pipeline.name}
    if settings.master is not None:
        properties["spark.master"] = settings.master
    with ExitStack() as stack:
        if FILE not in properties:
            queries = (name for pipe in pipeline.pipes for name in pipe.queries())
            properties[FILE] = stack.enter_context(pools(queries))
        for key, value in properties.items():
            if key not in given:
                builder = builder.config(key, value)
        try:
            spark = mmapqueue.configure(builder).getOrCreate()
        except (Py4JError, PySparkException) as error:
            reason = error.java_exception.toString() if isinstance(error, Py4JJavaError) else error
            # The JVM has written the rest to stderr.
            raise mmapqueue.MmapQueueError(f"Spark did not start: {str(reason).splitlines()[0]}") from error
    spark.sparkContext.setLogLevel("WARN")
    return spark
