"""What the tests of the data source share: one session for all of them, and queues to read."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import mmapqueue
from conftest import checkpoint_files

pytest.importorskip("pyspark")

import pyspark
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

#: A segment is a page here: a few hundred records lie in several of them.
SMALL = {"segment_size": "4k", "queue_capacity_segments": 256, "max_in_mem_segments": 10, "max_event_size": 8000}

#: How the failure of a query arrives, which depends on the Java class of its cause.
QueryFailed = (PySparkException, Py4JJavaError)

Fill = Callable[..., list[bytes]]
Load = Callable[..., DataFrame]


@pytest.fixture(scope="package")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session on two cores; it ends with this package, so that the other tests may have one of their own."""
    builder = SparkSession.builder.master("local[2]").appName("tests")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        **checkpoint_files(pyspark.__version__),
    }.items():
        builder.config(key, value)
    session = mmapqueue.configure(builder).getOrCreate()
    session.sparkContext.setLogLevel("WARN")
    yield session
    session.stop()


@pytest.fixture
def queue_dir(tmp_path: Path) -> Path:
    """Where a test's queue lies; it is not there yet."""
    return tmp_path / "queue"


@pytest.fixture
def fill(spark: SparkSession, queue_dir: Path) -> Fill:
    """Pushes records in the driver, and closes the queue again: a number of them, or those given; returns them."""

    def push(
        records: int | Iterable[bytes], *, path: Path = queue_dir, partition: int | None = None, **configuration: Any
    ) -> list[bytes]:
        items = [b"record %d" % i for i in range(records)] if isinstance(records, int) else list(records)
        directory = path if partition is None else path / f"p={partition}"
        with mmapqueue.Queue(spark, directory, **(SMALL | configuration)) as queue:
            queue.push_many(items)
        return items

    return push


@pytest.fixture
def load(spark: SparkSession, queue_dir: Path) -> Load:
    """A batch read with options."""

    def read(path: Path = queue_dir, **options: Any) -> DataFrame:
        return spark.read.format("mmapqueue").options(**options).load(str(path))

    return read


def plan(frame: DataFrame) -> DataFrame:
    """Makes Spark find out what the tasks will read; nothing is read yet."""
    frame._jdf.queryExecution().executedPlan().execute().getNumPartitions()
    return frame


def explained(frame: DataFrame) -> str:
    """The physical plan, as text."""
    return str(frame._jdf.queryExecution().executedPlan().toString())
