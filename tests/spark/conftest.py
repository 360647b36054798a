"""Fixtures of the data source's tests: one session for all of them, and queues to read."""

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import mmapqueue

pytest.importorskip("pyspark")

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from conftest import Ring
from sessions import spark_session

#: Small segments: a few hundred records need several of them.
SMALL = Ring(segment_size="4k", queue_capacity_segments=256, max_in_mem_segments=10, max_event_size=8000)

#: The exceptions of a failed query, which depend on the Java class of the cause.
QueryFailed = (PySparkException, Py4JJavaError)

Fill = Callable[..., list[bytes]]
Load = Callable[..., DataFrame]


@pytest.fixture(scope="package")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session on two cores, for all tests of the data source."""
    with spark_session(2, tmp_path_factory.mktemp("warehouse"), "WARN") as session:
        yield session


@pytest.fixture
def queue_dir(tmp_path: Path) -> Path:
    """The directory of a test's queue; it does not exist yet."""
    return tmp_path / "queue"


def pushing(spark: SparkSession, default: Path, **defaults: Any) -> Fill:
    """Pushes records in the driver, and closes the queue again: a number of them, or those given; returns them."""

    def push(
        records: int | Iterable[bytes], *, path: Path = default, partition: int | None = None, **configuration: Any
    ) -> list[bytes]:
        items = [b"record %d" % i for i in range(records)] if isinstance(records, int) else list(records)
        directory = path if partition is None else path / f"p={partition}"
        options: dict[str, Any] = {**SMALL, **defaults, **configuration}
        with mmapqueue.Queue(directory, spark=spark, **options) as queue:
            queue.push_many(items)
        return items

    return push


@pytest.fixture
def fill(spark: SparkSession, queue_dir: Path) -> Fill:
    """Pushes records; see `pushing`."""
    return pushing(spark, queue_dir)


@pytest.fixture
def archive_dir(tmp_path: Path) -> Path:
    """The directory of a test's archive; it does not exist yet."""
    return tmp_path / "shared" / "archive"


@pytest.fixture
def ship(spark: SparkSession, queue_dir: Path, archive_dir: Path) -> Fill:
    """Pushes records into the local queue and ships them: each call leaves one more run, or several."""
    return pushing(spark, queue_dir, archive_uri=archive_dir)


@pytest.fixture
def load(spark: SparkSession, queue_dir: Path) -> Load:
    """A batch read with options."""

    def read(path: Path = queue_dir, **options: Any) -> DataFrame:
        return spark.read.format("mmapqueue").options(**options).load(str(path))

    return read


def plan(frame: DataFrame) -> DataFrame:
    """Makes Spark plan the input partitions, without reading them."""
    frame._jdf.queryExecution().executedPlan().execute().getNumPartitions()
    return frame


def explained(frame: DataFrame) -> str:
    """The physical plan, as text."""
    return str(frame._jdf.queryExecution().executedPlan().toString())


@pytest.fixture(scope="package")
def bursts(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of a queue and the archive of it: two partitions of 300 records, in bursts of the same time."""
    path = tmp_path_factory.mktemp("bursts")
    options: dict[str, Any] = {
        **SMALL,
        "archive_uri": path / "archive",
        "ship_period": "10ms",
        "flush_period": "10ms",
    }
    for partition in range(2):
        with mmapqueue.Queue(path / "queue" / f"p={partition}", spark=spark, **options) as queue:
            queue.create_consumer("keep")  # what is shipped need not be retained
            for i in range(0, 300, 50):
                queue.push_many([b"%d" % number for number in range(i, i + 50)], shipped=True)
                last = queue.read_at(i + 49).timestamp_micros
                while time.time_ns() // 1000 < last + 2000:
                    pass
    return path


@pytest.fixture(scope="package", params=["queue", "archive"])
def timed(bursts: Path, request: pytest.FixtureRequest) -> Path:
    """The same records in a queue, and in an archive: tests run with each."""
    return bursts / str(request.param)


@pytest.fixture(scope="package")
def plain(bursts: Path, spark: SparkSession) -> DataFrame:
    """The same rows where nothing can be pushed down."""
    rows = spark.read.format("mmapqueue").load(str(bursts / "queue")).collect()
    return spark.createDataFrame(rows, "value binary, partition int, offset long, timestamp timestamp")


@pytest.fixture(scope="module")
def interpreted(spark: SparkSession) -> Iterator[None]:
    """Switches off code generation: compiling a hundred plans takes longer than the tests."""
    changed = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    for key, value in changed.items():
        spark.conf.set(key, value)
    yield
    for key in changed:
        spark.conf.unset(key)
