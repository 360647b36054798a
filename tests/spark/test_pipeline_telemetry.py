"""Telemetry of a pipeline's queries."""

import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from conftest import eventually

from .conftest import Fill

pytest.importorskip("pydantic")
pytest.importorskip("prometheus_client")

from mmapqueue.pipeline.config import Pipeline
from mmapqueue.pipeline.plugins import Sender
from mmapqueue.pipeline.telemetry import ProcessTelemetry


class Nowhere(Sender):
    type: str = "nowhere"

    def start(self, *_: Any) -> Any:
        raise NotImplementedError


def get(port: int, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_a_query_is_counted(spark: SparkSession, fill: Fill, queue_dir: Path) -> None:
    fill(100)
    pipe = {"name": "logs", "queue": {"dir": queue_dir}, "senders": (Nowhere(name="archive"),)}
    config = Pipeline.model_validate({"name": "test", "telemetry": {"listen": "127.0.0.1:0"}, "pipes": (pipe,)})
    with ProcessTelemetry(config) as telemetry:
        telemetry.attach(spark)
        assert get(telemetry.port, "/ready")[0] == 503
        rows = spark.readStream.format("mmapqueue").option("consumer", "archive").load(str(queue_dir))
        writer = rows.writeStream.queryName("logs.archive").format("noop")
        query = writer.option("checkpointLocation", str(config.pipes[0].checkpoint("archive"))).start()
        try:
            assert eventually(lambda: get(telemetry.port, "/ready")[0] == 200, 60)

            def shows(line: str) -> bool:
                return eventually(lambda: line in get(telemetry.port, "/metrics")[1].splitlines(), 60)

            assert shows('queue_output_count{pipe="logs",status="success"} 100.0')
            assert shows('sender_output_count{pipe="logs",status="success",type="archive"} 100.0')
            assert shows('sender_lag_records{pipe="logs",sender="archive"} 0.0')
            assert get(telemetry.port, "/health") == (200, "ok\n")
        finally:
            query.stop()
        assert eventually(lambda: get(telemetry.port, "/ready")[0] == 503, 60)
        telemetry.detach()
