"""A stream reads an archive as the queue that was shipped to it: tests of streams, each over an archive."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from . import test_stream_read
from .conftest import Fill
from .streams import Streams
from .test_stream_consumers import test_a_driver_that_is_killed as test_a_driver_that_is_killed
from .test_stream_consumers import test_two_queries_with_a_consumer_each as test_two_queries_with_a_consumer_each
from .test_stream_read import (
    test_a_batch_that_was_not_committed_is_the_same_again as test_a_batch_that_was_not_committed_is_the_same_again,
)
from .test_stream_read import (
    test_a_record_larger_than_the_limit_is_a_batch as test_a_record_larger_than_the_limit_is_a_batch,
)
from .test_stream_read import (
    test_batches_are_ranges_and_a_restart_goes_on as test_batches_are_ranges_and_a_restart_goes_on,
)
from .test_stream_read import test_few_records_do_not_wait_for_ever as test_few_records_do_not_wait_for_ever
from .test_stream_read import test_few_records_wait_for_more as test_few_records_wait_for_more
from .test_stream_read import test_limits_in_bytes_are_kept_about as test_limits_in_bytes_are_kept_about
from .test_stream_read import test_once_takes_everything as test_once_takes_everything
from .test_stream_read import test_one_column as test_one_column
from .test_stream_read import (
    test_the_first_batch_begins_again_where_it_began as test_the_first_batch_begins_again_where_it_began,
)
from .test_stream_read import test_wrong_options_are_named as test_wrong_options_are_named

test_partitions_that_are_added = test_stream_read.test_partitions_that_are_added_are_read_from_their_beginning


@pytest.fixture
def fill(ship: Fill) -> Fill:
    return ship


@pytest.fixture
def streams(spark: SparkSession, archive_dir: Path, tmp_path: Path) -> Streams:
    return Streams(spark, archive_dir, tmp_path / "checkpoint")
