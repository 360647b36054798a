"""Clients from the registries of Go and npm, and Debian's Prometheus, send to the receivers."""

import json
import os
import socket
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from mmapqueue.pipeline.gather.inbox import Full
from mmapqueue.pipeline.gather.receivers.fluent import FluentReceiver
from mmapqueue.pipeline.gather.receivers.remote_write import RemoteWriteReceiver
from mmapqueue.pipeline.gather.receivers.remote_write_pb2 import Request, WriteRequest
from mmapqueue.pipeline.gather.receivers.statsd import StatsdReceiver
from pipeline.serving import Serving, wait_for

#: A directory with the program `go` and the folder `npm`, and where prometheus is: `make test-clients` sets both.
CLIENTS, PROMETHEUS = os.environ.get("MMAPQUEUE_CLIENTS"), os.environ.get("PROMETHEUS")
SECONDS = 120
COUNT = 500

pytestmark = pytest.mark.skipif(
    CLIENTS is None or PROMETHEUS is None, reason="`make test-clients` downloads the clients"
)


def send(language: str, *arguments: object) -> None:
    assert CLIENTS is not None
    directory = Path(CLIENTS)
    program = [str(directory / "go")] if language == "go" else ["node", str(directory / "npm" / "send.js")]
    done = subprocess.run(
        [*program, *map(str, arguments)], capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr


def port(serving: Serving) -> int:
    receiver = serving.receivers[0]
    assert isinstance(receiver, FluentReceiver | StatsdReceiver)
    return receiver.port


def records(serving: Serving) -> list[Any]:
    requests = [ExportLogsServiceRequest.FromString(each.data) for each in serving.events]
    return [each for request in requests for each in request.resource_logs[0].scope_logs[0].log_records]


def points(serving: Serving, name: str) -> list[Any]:
    requests = [ExportMetricsServiceRequest.FromString(each.data) for each in serving.events]
    found: list[Any] = [metric for each in requests for metric in each.resource_metrics[0].scope_metrics[0].metrics]
    return [
        point for each in found if each.name == name for point in getattr(each, each.WhichOneof("data")).data_points
    ]


def attributes(point: Any) -> dict[str, str]:
    return {each.key: each.value.string_value for each in point.attributes}


@pytest.mark.parametrize(
    ("language", "mode", "key"),
    [
        ("go", "Message", ""),
        *(("npm", mode, "") for mode in ("Message", "Forward", "PackedForward", "CompressedPackedForward")),
        ("npm", "PackedForward", "secret"),
    ],
)
def test_loggers_of_fluent_wait_for_acknowledgements(language: str, mode: str, key: str) -> None:
    receiver = FluentReceiver(listen="tcp://127.0.0.1:0", shared_key=key or None)
    with Serving(receiver) as serving:
        # The queue is full at first: no acknowledgement comes until it is not.
        serving.inbox.failures += [Full("no consumer")] * 3
        send(language, "fluent", port(serving), COUNT, mode, key)
        # The client has ended: everything is stored.
        found = records(serving)
        assert [each.attributes[1].value.int_value for each in found] == list(range(COUNT))
        assert [each.body.string_value for each in found] == [f"text {number}" for number in range(COUNT)]
        assert [each.time_unix_nano for each in found] == [1760000000 * 10**9 + number for number in range(COUNT)]
        assert {attributes(each)["fluent.tag"] for each in found} == {"app"}
        assert serving.inbox.refused == 3
        # Each chunk is a key.
        assert None not in serving.inbox.keys
        assert len(set(serving.inbox.keys)) == len(serving.inbox.keys)


@pytest.mark.parametrize(("language", "protocol"), [("go", "udp"), ("npm", "udp"), ("npm", "tcp")])
def test_clients_of_dogstatsd(language: str, protocol: str) -> None:
    with Serving(StatsdReceiver(listen=f"{protocol}://127.0.0.1:0")) as serving:
        send(language, "statsd", port(serving), COUNT, protocol)
        wait_for(lambda: points(serving, "pay"))
        hits = points(serving, "hits")
        assert sum(each.as_int for each in hits) == COUNT
        assert attributes(hits[0])["env"] == "test"
        assert [each.as_double for each in points(serving, "stock")] == [7.5]
        (pay,) = points(serving, "pay")
        assert (pay.count, pay.sum, attributes(pay)["env"], "flag" in attributes(pay)) == (1, 12.5, "test", True)
        assert serving.host.counted == {}


def test_the_client_of_remote_write_2() -> None:
    with Serving(RemoteWriteReceiver(server="http")) as serving:
        # Answered with 503, which the client repeats.
        serving.inbox.failures += [Full("no consumer")] * 2
        send("go", "remote_write", serving.url, COUNT)
        requests = [Request.FromString(each.data) for each in serving.events]
        assert [request.timeseries[0].samples[0].value for request in requests] == list(range(COUNT))
        assert serving.inbox.refused == 2
        kinds = {each.content_type.partition("proto=")[2] for each in serving.events}
        assert kinds == {"io.prometheus.write.v2.Request"}


def test_prometheus_writes_all_of_its_samples(tmp_path: Path) -> None:
    assert PROMETHEUS is not None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        own = free.getsockname()[1]
    with Serving(RemoteWriteReceiver(server="http")) as serving:
        config = {
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
            "scrape_configs": [{"job_name": "itself", "static_configs": [{"targets": [f"127.0.0.1:{own}"]}]}],
            "remote_write": [
                {
                    "url": f"{serving.url}/api/v1/write",
                    "queue_config": {"min_backoff": "30ms", "max_backoff": "100ms", "batch_send_deadline": "1s"},
                    "metadata_config": {"send_interval": "1s"},
                }
            ],
        }
        file = tmp_path / "prometheus.yml"
        file.write_text(json.dumps(config))  # JSON is YAML.
        serving.inbox.failures += [Full("no consumer")] * 5
        command = [str(Path(PROMETHEUS) / "prometheus"), f"--config.file={file}"]
        command += [f"--storage.tsdb.path={tmp_path / 'data'}", f"--web.listen-address=127.0.0.1:{own}"]
        with (tmp_path / "log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
            try:
                wait_for(lambda: len(up(serving)) >= 5 and any(each.metadata for each in written(serving)))
                found = up(serving)
                url = f"http://127.0.0.1:{own}/api/v1/query?query=up%5B1h%5D"
                with urllib.request.urlopen(url, timeout=SECONDS) as answer:
                    (series,) = json.load(answer)["data"]["result"]
            finally:
                process.terminate()
        # No scrape is missing or there twice, although the first requests were refused.
        assert serving.inbox.refused == 5
        assert found == [round(1000 * float(time)) for time, _ in series["values"]][: len(found)]


def written(serving: Serving) -> list[Any]:
    return [WriteRequest.FromString(each.data) for each in serving.events]


def up(serving: Serving) -> list[int]:
    """The times of Prometheus' samples `up`, in ms."""
    return [
        sample.timestamp
        for request in written(serving)
        for series in request.timeseries
        if {each.name: each.value for each in series.labels}["__name__"] == "up"
        for sample in series.samples
    ]
