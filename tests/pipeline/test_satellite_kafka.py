"""Satellite's forwarder of logs to Kafka becomes a sender of type spark."""

from pathlib import Path
from typing import Any

import pytest
from skywalking.protocol.logging.Logging_pb2 import LogData

from mmapqueue._cli.main import main
from mmapqueue.pipeline import EventType, encode
from mmapqueue.pipeline.config import Loaded, load_all
from mmapqueue.pipeline.process.senders.spark import SparkSender

from .processing import pipeline, process, push

FILE = """\
sharing:
  clients:
    - plugin_name: grpc-client
    - plugin_name: kafka-client{client}
  servers: [{{plugin_name: grpc-server}}]
pipes:
- common_config: {{pipe_name: logs}}
  gatherer:
    server_name: grpc-server
    receiver: {{plugin_name: grpc-native-{receiver}-receiver}}
    queue: {{plugin_name: mmap-queue}}
  sender:
    client_name: {name}
    forwarders: [{{plugin_name: native-log-kafka-forwarder{topic}}}]
"""
PIPE = "pipes[0].sender.forwarders[0]"


def _file(
    directory: Path, *, client: str = "", receiver: str = "log", name: str = "kafka-client", topic: str = ""
) -> Path:
    file = directory / "satellite_config.yaml"
    file.write_text(FILE.format(client=client, receiver=receiver, name=name, topic=topic))
    return file


def _load(directory: Path, **parts: str) -> tuple[SparkSender, Loaded]:
    loaded = load_all(_file(directory, **parts))
    (sender,) = loaded.pipeline.pipes[0].senders
    assert isinstance(sender, SparkSender)
    return sender, loaded


def test_defaults(tmp_path: Path) -> None:
    sender, loaded = _load(tmp_path)
    assert (sender.name, sender.format) == ("kafka", "kafka")
    assert sender.options == {"kafka.bootstrap.servers": "localhost:9092", "topic": "log-topic"}
    assert loaded.warnings[-1].endswith(
        f"{PIPE}.plugin_name: Spark needs its data source of Kafka, spark-sql-kafka-0-10, on its class path"
    )


def test_keys_of_the_client(tmp_path: Path) -> None:
    keys = {
        "brokers": "one:9092,two:9092",
        "client_id": "shop",
        "required_acks": 1,
        "producer_max_retry": 5,
        "retry_backoff": 200,
        "max_message_bytes": 2_000_000,
        "idempotent_writes": "false",
        "compression_codec": 4,
        "enable_TLS": "true",
        "ca_pem_path": "ca.pem",
        "client_pem_path": "client.pem",
    }
    client = "".join(f"\n      {key}: {value}" for key, value in keys.items())
    sender, loaded = _load(tmp_path, client=client, topic=", topic: shop-logs")
    assert sender.options == {
        "kafka.bootstrap.servers": "one:9092,two:9092",
        "topic": "shop-logs",
        "kafka.client.id": "shop",
        "kafka.acks": "1",
        "kafka.retries": "5",
        "kafka.retry.backoff.ms": "200",
        "kafka.max.request.size": "2000000",
        "kafka.compression.type": "zstd",
        "kafka.security.protocol": "SSL",
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.location": "ca.pem",
    }
    words = "the client has no certificate: Kafka's client of Java needs key and chain in one file"
    assert any(each.endswith(f"{PIPE}.plugin_name: {words}") for each in loaded.warnings)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"receiver": "tracing"}, "cannot send the events of the receiver (skywalking)"),
        ({"name": "grpc-client"}, "needs a kafka-client, and has 'grpc-client'"),
    ],
)
def test_what_kafka_cannot_get_is_left_out(
    parts: dict[str, str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = _file(tmp_path, **parts)
    assert main(["check", str(file)]) == 2
    found = f"{PIPE}: the pipe logs is left out: the forwarder 'native-log-kafka-forwarder' {words}"
    assert capsys.readouterr().err.splitlines()[-1] == f"{file}:14: {found}"


def test_each_log_is_a_message_that_stands_alone(spark: Any, tmp_path: Path) -> None:
    sender, _ = _load(tmp_path)
    logs = [LogData(service="shop", serviceInstance="one"), LogData(endpoint="/a"), LogData(service="other")]
    streams = [[each.SerializeToString() for each in logs], [LogData(service="last").SerializeToString()]]
    configured = pipeline(
        tmp_path,
        sender.model_copy(update={"format": "parquet", "options": {"path": str(tmp_path / "out")}}),
    )
    push(tmp_path / "queue", [encode(type=EventType.LOGGING, logs=each) for each in streams])
    process(spark, configured)
    frame = spark.read.parquet(str(tmp_path / "out"))
    assert frame.columns == ["value"]
    got = [LogData.FromString(bytes(row.value)) for row in frame.collect()]
    assert sorted((each.service, each.serviceInstance, each.endpoint) for each in got) == [
        ("last", "", ""),
        ("other", "one", ""),
        ("shop", "one", ""),
        ("shop", "one", "/a"),
    ]
