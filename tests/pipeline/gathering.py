"""`mmapqueue gather` in a process of its own, with an OTLP receiver on a gRPC server and on an HTTP server."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import grpc
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

import conftest
import mmapqueue
from mmapqueue.pipeline import Event

SECONDS = 120.0
EXPORT = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
_CONFIG = """\
name: shop
telemetry: {{listen: "127.0.0.1:0"}}
servers:
  - {{name: grpc, type: grpc, listen: "127.0.0.1:0", max_message_size: {max_message_size}}}
  - {{name: http, type: http, listen: "127.0.0.1:0", max_message_size: {max_message_size}}}
pipes:
  - name: logs
    queue: {{dir: queue, capacity: {capacity}, segment_size: 64k, max_event_size: {max_event_size}{keys}}}
    receivers: [{{type: otlp, server: grpc}}, {{type: otlp, server: http}}]
"""


class Gather:
    """A running gather process.

    Attributes:
        pid: Its process.
        directory: Its queue.
        process: The process.
        file: Its configuration.
        log: Its log.
        grpc_address, http_address: Its servers.
        grpc: Channel to its gRPC server.
    """

    def __init__(self, process: "subprocess.Popen[str]", directory: Path) -> None:
        line = process.stdout.readline() if process.stdout else ""
        found = re.fullmatch(r"ready: grpc (\S+) http (\S+) telemetry (\S+)\n", line)
        assert found, line
        self.pid = process.pid
        self.directory = directory
        self.process = process
        self.file = directory.parent / "shop.yaml"
        self.log = directory.parent / "gather.log"
        self.grpc_address, self.http_address = found[1], found[2]
        self.grpc = grpc.insecure_channel(found[1])
        self._url = f"http://{found[2]}"
        self.metrics_url = f"http://{found[3]}/metrics"

    def export(self, request: bytes) -> Any:
        """Sends a request by gRPC; its future."""
        return self.grpc.unary_unary(EXPORT).future(request, timeout=SECONDS, wait_for_ready=True)

    def unknown_method(self) -> grpc.StatusCode:
        """Calls a method that no receiver has, on the same connection; what it is answered."""
        answer = self.grpc.unary_unary("/no.such.Service/Method").future(b"", timeout=SECONDS)
        code: grpc.StatusCode = answer.exception(SECONDS).code()
        return code

    def post(self, request: bytes) -> tuple[int, dict[str, str]]:
        """Sends a request by HTTP; status and headers of the answer."""
        headers = {"Content-Type": "application/x-protobuf"}
        sent = urllib.request.Request(f"{self._url}/v1/logs", data=request, headers=headers)
        try:
            with urllib.request.urlopen(sent, timeout=SECONDS) as answer:
                return answer.status, dict(answer.headers)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, dict(error.headers)

    def received(self) -> dict[str, int]:
        """What gather has counted, by status."""
        with urllib.request.urlopen(self.metrics_url, timeout=SECONDS) as answer:
            text = answer.read().decode()
        found = re.findall(r'^gatherer_receive_count\{pipe="logs",status="(\w+)"\} ([0-9.]+)$', text, re.M)
        return {status: int(float(number)) for status, number in found}

    def stop_jvm(self) -> int:
        """Stops the JVM that owns the queue, without its end: no push returns. Its process id, for SIGCONT."""
        (jvm,) = conftest.children(self.pid)
        os.kill(jvm, signal.SIGSTOP)
        # Its threads stop one by one.
        assert conftest.eventually(lambda: conftest.thread_states(jvm) == {"T"})
        return jvm


@contextlib.contextmanager
def gathering(
    directory: Path,
    capacity: str = "32m",
    keys: str = "",
    max_message_size: str = "64k",
    further: str = "",
    arguments: Sequence[str] = (),
) -> Iterator[Gather]:
    """Starts gather and kills it in the end, its JVM included.

    Args:
        directory: Where the queue is.
        capacity: Of the queue.
        keys: Further keys of the queue.
        max_message_size: Of both servers.
        further: Further lines of the configuration.
        arguments: Further arguments of the command.
    """
    file = directory / "shop.yaml"
    sizes = {"max_message_size": max_message_size, "max_event_size": "128k" if max_message_size == "64k" else "8m"}
    file.write_text(_CONFIG.format(capacity=capacity, keys=f", {keys}" if keys else "", **sizes) + further)
    with (directory / "gather.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "mmapqueue", "gather", str(file), *arguments],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
        )
    try:
        gather = Gather(process, directory / "queue")
        with gather.grpc:
            yield gather
    finally:
        for pid in [process.pid, *conftest.children(process.pid)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.communicate()


def request(text: str) -> bytes:
    """An OTLP request with one log."""
    made = ExportLogsServiceRequest()
    made.resource_logs.add().scope_logs.add().log_records.add().body.string_value = text
    return bytes(made.SerializeToString())


def stored(directory: Path) -> list[bytes]:
    """Payloads of the events in a queue, read beside the process that owns it."""
    with mmapqueue.Queue(directory, read_only=True) as queue:
        return [Event.FromString(message.data).data for message in queue.read_many(0, 1_000_000)]
