"""`read`, `read_stream`, `write` and `write_stream`: each argument is the option of its name, in its unit."""

import inspect
import re
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from pyspark.sql import SparkSession

import mmapqueue

from .conftest import SMALL, Fill, QueryFailed

TIME = datetime(2026, 1, 31, 13, 0, 0, 5, tzinfo=timezone(timedelta(hours=1)))
INSTANT = "2026-01-31T12:00:00.000005Z"

READ: dict[str, tuple[Any, str, Any]] = {
    "starting_offsets": ({0: 1, 1: -2}, "startingOffsets", '{"0": 1, "1": -2}'),
    "ending_offsets": (7, "endingOffsets", "7"),
    "starting_timestamp": (TIME, "startingTimestamp", INSTANT),
    "ending_timestamp": (TIME, "endingTimestamp", INSTANT),
    "consumer": ("c", "consumer", "c"),
    "min_partitions": (3, "minPartitions", 3),
    "max_partition_bytes": ("1m", "maxPartitionBytes", 1 << 20),
    "fail_on_data_loss": (False, "failOnDataLoss", False),
    "on_damage": ("skip", "onDamage", "skip"),
}
READ_STREAM: dict[str, tuple[Any, str, Any]] = {
    **{name: given for name, given in READ.items() if not name.startswith("ending")},
    "max_offsets_per_trigger": (5, "maxOffsetsPerTrigger", 5),
    "min_offsets_per_trigger": (4, "minOffsetsPerTrigger", 4),
    "max_trigger_delay": (timedelta(minutes=1.5), "maxTriggerDelay", "90000ms"),
    "max_bytes_per_trigger": (1000, "maxBytesPerTrigger", 1000),
}
WRITE: dict[str, tuple[Any, str, Any]] = {
    "partitions": (2, "partitions", 2),
    "key": ("k", "key", "k"),
    "sync": (True, "sync", True),
    "push_timeout": (timedelta(seconds=1, milliseconds=500), "pushTimeout", "1500ms"),
    "capacity": ("1m", "capacity", "1m"),
    "segment_size": (8192, "segment_size", 8192),
    "dead_letter_dir": (Path("/dead"), "dead_letter_dir", "/dead"),
}

#: An invalid value for each option, and the error, which shows that the JVM has received the option.
WRONG = {
    "starting_offsets": "option startingOffsets = wrong",
    "ending_offsets": "option endingOffsets = wrong",
    "starting_timestamp": "option startingTimestamp = wrong",
    "ending_timestamp": "option endingTimestamp = wrong",
    "consumer": "option consumer = wr/ong",
    "min_partitions": "option minPartitions = wrong",
    "fail_on_data_loss": "option failOnDataLoss = wrong",
    "on_damage": "option onDamage = wrong",
    "max_offsets_per_trigger": "option maxOffsetsPerTrigger = wrong",
    "min_offsets_per_trigger": "option minOffsetsPerTrigger = wrong",
    "partitions": "option partitions = wrong",
    "key": "option key = wrong",
    "sync": "option sync = wrong",
    "capacity": "option capacity = wrong",
    "segment_size": "option segment_size = wrong",
}


def wrong(argument: str) -> dict[str, Any]:
    return {argument: "wr/ong" if argument == "consumer" else "wrong"}


class Recorder:
    """A reader or writer of Spark that records its calls; every call returns itself."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.options_given: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any) -> "Recorder":
            self.calls.append((name, args))
            return self

        return call

    def options(self, **options: Any) -> "Recorder":
        self.options_given |= options
        return self

    def option(self, name: str, value: Any) -> "Recorder":
        self.options_given[name] = value
        return self


def arguments(known: dict[str, tuple[Any, str, Any]]) -> dict[str, Any]:
    return {name: given for name, (given, _, _) in known.items()}


def expected(known: dict[str, tuple[Any, str, Any]]) -> dict[str, Any]:
    return {option: value for _, option, value in known.values()}


def test_read_names_its_options() -> None:
    reader = Recorder()
    mmapqueue.read(Path("/q"), spark=MagicMock(read=reader), **arguments(READ))
    assert reader.calls == [("format", ("mmapqueue",)), ("load", ("/q",))]
    assert reader.options_given == expected(READ)


def test_read_stream_names_its_options() -> None:
    reader = Recorder()
    mmapqueue.read_stream(Path("/q"), spark=MagicMock(readStream=reader), **arguments(READ_STREAM))
    assert reader.calls == [("format", ("mmapqueue",)), ("load", ("/q",))]
    assert reader.options_given == expected(READ_STREAM)


def test_read_stream_names_the_source() -> None:
    reader = Recorder()
    mmapqueue.read_stream("/q", spark=MagicMock(readStream=reader), name="orders")
    assert reader.calls == [("format", ("mmapqueue",)), ("name", ("orders",)), ("load", ("/q",))]


def test_write_names_its_options() -> None:
    writer = Recorder()
    mmapqueue.write(MagicMock(write=writer), Path("/q"), **arguments(WRITE))
    assert writer.calls == [("format", ("mmapqueue",)), ("mode", ("append",)), ("save", ())]
    assert writer.options_given == expected(WRITE) | {"path": "/q"}


def test_write_stream_names_its_options() -> None:
    writer = Recorder()
    made: object = mmapqueue.write_stream(
        MagicMock(writeStream=writer), Path("/q"), checkpoint=Path("/cp"), **arguments(WRITE)
    )
    assert made is writer
    assert writer.calls == [("format", ("mmapqueue",))]
    assert writer.options_given == expected(WRITE) | {"path": "/q", "checkpointLocation": "/cp"}


def test_what_is_not_given_is_not_said() -> None:
    reader, writer = Recorder(), Recorder()
    mmapqueue.read("/q", spark=MagicMock(read=reader))
    mmapqueue.read_stream("/q", spark=MagicMock(readStream=reader))
    mmapqueue.write(MagicMock(write=writer), "/q")
    assert (reader.options_given, writer.options_given) == ({}, {"path": "/q"})


def test_each_option_of_the_source_is_an_argument(spark: SparkSession) -> None:
    for function, known in ((mmapqueue.read, READ), (mmapqueue.read_stream, READ_STREAM)):
        assert known.keys() == inspect.signature(function).parameters.keys() - {"path", "spark", "name"}
    with pytest.raises(QueryFailed) as caught:
        spark.read.format("mmapqueue").option("unknown", 1).load("/q")
    allowed = re.search(r"there is no such option; allowed: ([\w, ]+)", str(caught.value))
    assert allowed
    # The other names are keys of the configuration, and options of writes.
    own = {each for each in allowed[1].split(", ") if not each.islower()} | {"consumer"}
    assert own == {"pushTimeout", *expected(READ), *expected(READ_STREAM)}


@pytest.mark.parametrize("argument", [name for name in READ if name in WRONG])
def test_the_jvm_reads_each_option_of_read(argument: str, spark: SparkSession, fill: Fill, queue_dir: Path) -> None:
    fill(1)
    with pytest.raises(QueryFailed) as caught:
        mmapqueue.read(queue_dir, spark=spark, **wrong(argument)).collect()
    assert WRONG[argument] in str(caught.value)


@pytest.mark.parametrize("argument", ["max_partition_bytes", "max_bytes_per_trigger", "max_trigger_delay"])
def test_sizes_and_durations_are_checked_before_spark_is_asked(argument: str) -> None:
    options: dict[str, Any] = {argument: "wrong"}
    with pytest.raises(mmapqueue.ConfigError, match=f"{argument} = 'wrong' is invalid; allowed: "):
        mmapqueue.read_stream("/q", spark=MagicMock(), **options)
    with pytest.raises(mmapqueue.ConfigError, match="push_timeout = 'wrong' is invalid; allowed: "):
        mmapqueue.write(MagicMock(), "/q", push_timeout="wrong")


TIMES = [
    (function, name)
    for function, known in ((mmapqueue.read, READ), (mmapqueue.read_stream, READ_STREAM))
    for name in known
    if name.endswith("_timestamp")
]


@pytest.mark.parametrize(("function", "argument"), TIMES)
@pytest.mark.parametrize("time", ["2026-01-31T12:00:00Z", 1769860800000])
def test_a_time_is_also_what_the_option_takes(function: Any, argument: str, time: Any) -> None:
    reader = Recorder()
    function("/q", spark=MagicMock(read=reader, readStream=reader), **{argument: time})
    assert reader.options_given == {READ[argument][1]: str(time)}


@pytest.mark.parametrize(("function", "argument"), TIMES)
def test_another_time_is_an_error_that_names_the_argument(function: Any, argument: str) -> None:
    for wrong_type in (1.5, True, TIME.date()):
        with pytest.raises(TypeError, match=f"{argument} is an aware datetime, .*, not {type(wrong_type).__name__}"):
            function("/q", spark=MagicMock(), **{argument: wrong_type})
    with pytest.raises(ValueError, match=f"{argument} = .* has no time zone"):
        function("/q", spark=MagicMock(), **{argument: TIME.replace(tzinfo=None)})


@pytest.mark.parametrize("argument", [name for name in READ_STREAM if name in WRONG])
def test_the_jvm_reads_each_option_of_read_stream(
    argument: str, spark: SparkSession, fill: Fill, queue_dir: Path
) -> None:
    fill(1)
    frame = mmapqueue.read_stream(queue_dir, spark=spark, **wrong(argument))
    with pytest.raises(QueryFailed) as caught:
        frame.writeStream.format("noop").trigger(availableNow=True).start().awaitTermination()
    assert WRONG[argument] in str(caught.value)


@pytest.mark.parametrize("argument", [name for name in WRITE if name in WRONG])
def test_the_jvm_reads_each_option_of_write(argument: str, spark: SparkSession, queue_dir: Path) -> None:
    with pytest.raises(QueryFailed) as caught:
        mmapqueue.write(spark.range(1).selectExpr("'x' AS value"), queue_dir, **wrong(argument))
    assert WRONG[argument] in str(caught.value)
    assert not queue_dir.exists()


def test_units(spark: SparkSession, fill: Fill, queue_dir: Path, tmp_path: Path) -> None:
    fill(10)
    with mmapqueue.Queue(queue_dir, spark=spark) as queue:
        sixth = queue.read_at(5).timestamp
    assert sixth is not None
    first = mmapqueue.read(queue_dir, spark=spark, starting_timestamp=sixth).agg({"offset": "min"}).collect()[0][0]
    assert first <= 5
    assert mmapqueue.read(queue_dir, spark=spark, starting_timestamp=sixth + timedelta(days=1)).count() == 0
    for time in (sixth.isoformat().replace("+00:00", "Z"), round(sixth.timestamp() * 1000)):
        assert mmapqueue.read(queue_dir, spark=spark, ending_timestamp=time).count() == first
    assert mmapqueue.read(queue_dir, spark=spark, ending_timestamp=sixth - timedelta(days=1)).count() == 0
    thick = spark.range(3).selectExpr("rpad('x', 7000, '.') AS value")
    small: dict[str, Any] = {**SMALL, "queue_capacity_segments": 8}
    mmapqueue.write(thick, tmp_path / "full", **small)
    with pytest.raises(QueryFailed, match="no room within pushTimeout = 1250ms"):
        mmapqueue.write(thick, tmp_path / "full", push_timeout=timedelta(seconds=1.25), **small)
