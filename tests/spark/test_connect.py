"""Spark Connect: all goes through a server on this host, and this process has no JVM. See `make test-connect`."""

import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mmapqueue
from conftest import Open, Ring

pyspark = pytest.importorskip("pyspark")
pytest.importorskip("grpc_status", reason="make test-connect brings what a client of Spark Connect needs")

from pyspark.errors import PySparkException  # noqa: E402
from pyspark.sql.connect.session import SparkSession  # noqa: E402

SMALL = Ring(segment_size="4k", queue_capacity_segments=256, max_in_mem_segments=10, max_event_size=2000)
SUBMIT = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
NEW = pyspark.__version__ >= "4"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server that has the jar."""
    port = free_port()
    root = tmp_path_factory.mktemp("server")
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(root / "warehouse"),
    }
    command: list[str | Path] = [
        SUBMIT,
        "--class",
        "org.apache.spark.sql.connect.service.SparkConnectServer",
        "--master",
        "local[2]",
    ]
    for key, value in settings.items():
        command += ["--conf", f"{key}={value}"]
    with (root / "log").open("w") as log:
        process = subprocess.Popen(
            [*command, "--jars", str(mmapqueue.jar_path())], stdout=log, stderr=subprocess.STDOUT, cwd=root
        )
    try:
        _wait_for(process, port, root / "log")
        yield f"sc://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(60)


def _wait_for(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        try:
            process.wait(0.2)
        except subprocess.TimeoutExpired:
            continue
        pytest.fail(f"the server has ended: {log.read_text()}")


@pytest.fixture(scope="module")
def session(server: str) -> Iterator[Any]:
    # Not through pyspark.sql: that would switch this process to Connect permanently.
    session = SparkSession.builder.remote(server).create()
    yield session
    session.stop()


@pytest.fixture
def source(tmp_path: Path, open_queue: Open) -> Path:
    """A queue that another process has filled."""
    with open_queue(tmp_path / "source", **SMALL) as queue:
        queue.push_many([b"%d" % i for i in range(10)])
    return tmp_path / "source"


def values(frame: Any) -> list[bytes]:
    return [bytes(row.value) for row in frame.orderBy("partition", "offset").select("value").collect()]


def test_batch_both_ways(session: Any, source: Path, tmp_path: Path) -> None:
    frame = mmapqueue.read(source, spark=session, starting_offsets=2, ending_offsets={0: 8})
    assert values(frame) == [b"%d" % i for i in range(2, 8)]
    mmapqueue.write(frame.selectExpr("upper(concat('v', CAST(value AS STRING))) AS value"), tmp_path / "out", **SMALL)
    assert values(session.read.format("mmapqueue").load(str(tmp_path / "out"))) == [b"V%d" % i for i in range(2, 8)]
    session.range(2).selectExpr("CAST(id AS STRING) AS value").write.format("mmapqueue").mode("append").save(
        str(tmp_path / "out")
    )
    assert len(values(mmapqueue.read(tmp_path / "out", spark=session))) == 8


def test_a_stream_both_ways(session: Any, source: Path, tmp_path: Path, open_queue: Open) -> None:
    def run() -> None:
        frame = mmapqueue.read_stream(source, spark=session, max_offsets_per_trigger=4).select("value")
        writer = mmapqueue.write_stream(frame, tmp_path / "out", checkpoint=tmp_path / "checkpoint", **SMALL)
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(180)
        assert query.exception() is None

    run()
    with open_queue(source, **SMALL) as queue:
        queue.push_many([b"10", b"11"])
    run()
    assert values(mmapqueue.read(tmp_path / "out", spark=session)) == [b"%d" % i for i in range(12)]


def test_events_of_the_collector(session: Any, tmp_path: Path, open_queue: Open) -> None:
    pytest.importorskip("pydantic", reason="the collector is an extra")
    from mmapqueue import pipeline

    lines = [b"one\ntwo", b"three"]
    with open_queue(tmp_path / "source", **SMALL) as queue:
        records = [
            pipeline.encode(type=pipeline.EventType.LOGGING, data=each, content_type="text/plain") for each in lines
        ]
        queue.push_many([*records, b"\xff"])
    batch = pipeline.events_batch(session, tmp_path / "source")
    found = [(row.offset, row.data and bytes(row.data), row.error is None) for row in batch.orderBy("offset").collect()]
    assert found == [(0, lines[0], True), (1, lines[1], True), (2, b"\xff", False)]
    logs = pipeline.explode(pipeline.events(session, tmp_path / "source", consumer="rows"), rows="logs")
    writer = logs.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = writer.trigger(availableNow=True).start(str(tmp_path / "out"))
    assert query.awaitTermination(180)
    assert query.exception() is None
    bodies = [row.body for row in session.read.parquet(str(tmp_path / "out")).orderBy("offset", "index").collect()]
    assert bodies == ["one", "two", "three", None]


def test_sql(session: Any, source: Path) -> None:
    name = "QueueCatalogWithProcedures" if NEW else "QueueCatalog"
    session.conf.set("spark.sql.catalog.q", f"org.mmapqueue.spark.{name}")
    session.conf.set("spark.sql.catalog.q.path", str(source.parent))
    session.sql("INSERT INTO q.source VALUES ('x')").collect()
    assert session.sql("SELECT max(offset) FROM q.source").collect() == [(10,)]
    if NEW:
        session.sql("CALL q.system.create_consumer('source', 'default')").collect()
        assert session.sql("CALL q.system.seek('source', 'default', 'latest')").collect() == [(0, "default", 11)]


def test_errors_arrive(session: Any, tmp_path: Path) -> None:
    with pytest.raises(PySparkException, match=r"option path = .*/none; allowed: the directory of a queue"):
        mmapqueue.read(tmp_path / "none", spark=session).collect()
    with pytest.raises(PySparkException, match="option startingOffsets = soon; allowed: earliest, latest"):
        mmapqueue.read(tmp_path / "none", spark=session, starting_offsets="soon").collect()


def test_a_queue_needs_a_jvm_in_reach(session: Any, tmp_path: Path) -> None:
    with pytest.raises(mmapqueue.MmapQueueError, match="a Spark Connect session has no JVM in reach"):
        mmapqueue.Queue(tmp_path / "queue", spark=session)
    assert not (tmp_path / "queue").exists()


def test_what_was_written_is_read_without_spark(session: Any, tmp_path: Path, open_queue: Open) -> None:
    frame = session.range(3).selectExpr("CAST(id AS STRING) AS value").coalesce(1)
    mmapqueue.write(frame, tmp_path / "out", sync=True, **SMALL)
    assert len(values(mmapqueue.read(tmp_path / "out", spark=session))) == 3
    with open_queue(tmp_path / "out", read_only=True) as queue:
        assert sorted(message.data for message in queue.read_many(0, 3)) == [b"0", b"1", b"2"]
