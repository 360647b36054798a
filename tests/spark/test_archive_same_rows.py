"""An archive is read as the queue that was shipped to it: tests of batch reads, each over an archive."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from .conftest import Fill, Load
from .test_batch_read import test_a_record_is_as_large_as_it_may_be as test_a_record_is_as_large_as_it_may_be
from .test_batch_read import test_an_empty_queue as test_an_empty_queue
from .test_batch_read import test_any_columns_in_any_order as test_any_columns_in_any_order
from .test_batch_read import test_bad_options_are_refused as test_bad_options_are_refused
from .test_batch_read import test_little_is_one_task as test_little_is_one_task
from .test_batch_read import test_metrics as test_metrics
from .test_batch_read import test_no_timestamps as test_no_timestamps
from .test_batch_read import test_offsets as test_offsets
from .test_batch_read import test_offsets_after_the_end as test_offsets_after_the_end
from .test_batch_read import test_partitions as test_partitions
from .test_batch_read import test_plans_that_take_no_batches as test_plans_that_take_no_batches
from .test_batch_read import (
    test_values_stay_when_the_next_batch_is_read as test_values_stay_when_the_next_batch_is_read,
)
from .test_metadata import test_a_query_that_names_it_reads_it as test_a_query_that_names_it_reads_it
from .test_metadata import test_rows_are_counted_by_it as test_rows_are_counted_by_it


@pytest.fixture
def fill(ship: Fill) -> Fill:
    return ship


@pytest.fixture
def load(spark: SparkSession, archive_dir: Path) -> Load:
    def read(path: Path = archive_dir, **options: Any) -> DataFrame:
        return spark.read.format("mmapqueue").options(**options).load(str(path))

    return read


@pytest.fixture
def ten(ship: Fill, archive_dir: Path) -> Path:
    """An archive of ten records."""
    ship([b"x"] * 10)
    return archive_dir


@pytest.fixture
def ids(spark: SparkSession, ship: Fill, queue_dir: Path) -> list[str]:
    """The ids of two partitions, with 3 and 4 records."""
    jvm: Any = spark._jvm
    found = []
    for partition in range(2):
        ship(3 + partition, partition=partition)
        directory = jvm.java.io.File(str(queue_dir / f"p={partition}")).toPath()
        found.append(str(jvm.org.mmapqueue.MmapQueue.idIn(directory).get().toString()))
    return found
