"""Satellite's own configuration under load, with two OAP servers, and kills of both halves and of a server.

An application with the SkyWalking agent and a client of all other protocols send. What was answered must be at the
servers once, when requests with equal keys count once.
"""

import random
import sys
import threading
from collections import Counter
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import grpc
import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from skywalking.protocol.language_agent.Tracing_pb2 import SegmentObject
from skywalking.protocol.logging.Logging_pb2 import LogData

sys.path.insert(0, str(Path(__file__).parents[1] / "log_pipeline"))

import journal
import mmapqueue
from compare import check_records
from conftest import LONG
from mmapqueue.pipeline._event import field
from services import Service, free_ports
from skywalking_client import log_number, segment_number

from .halves import wait
from .receiving import Call, grpc_receiver
from .satellite_file import PIPES, configuration

LOGS = "/skywalking.v3.LogReportService/collect"
SEGMENTS = "/skywalking.v3.TraceSegmentReportService/collect"
METERS = "/skywalking.v3.MeterReportService/collectBatch"
OTLP = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"
#: A question, which is passed on at once.
TASKS = "/skywalking.v3.ProfileTask/getProfileTaskCommands"
#: What the agent of Python does not send, and the pipes that take it.
OTHERS = {
    "/skywalking.v3.JVMMetricReportService/collect": "jvmpipe",
    "/skywalking.v3.CLRMetricReportService/collect": "clrpipe",
    "/skywalking.v3.EventService/collect": "eventpipe",
    "/skywalking.v3.ProfileTask/collectSnapshot": "profilepipe",
    "/skywalking.v3.EBPFProcessService/keepAlive": "processpipe",
    "/skywalking.v3.EBPFProfilingService/collectProfilingData": "ebpf-profilingpipe",
    "/skywalking.v3.EBPFAccessLogService/collect": "ebpf-accesslog-pipe",
    "/envoy.service.accesslog.v2.AccessLogService/StreamAccessLogs": "envoy-als-v2",
    "/envoy.service.accesslog.v3.AccessLogService/StreamAccessLogs": "envoy-als-v3",
    "/envoy.service.metrics.v2.MetricsService/StreamMetrics": "envoy-metrics-v2",
    "/envoy.service.metrics.v3.MetricsService/StreamMetrics": "envoy-metrics-v3",
    METERS: "meterpipe",
    OTLP: "otlp-metrics-v1-pipe",
}
#: Each pipe has a query, which takes processor time: the short form has some of them.
SHORT = ("logpipe", "managementpipe", "tracingpipe", "profilepipe", "meterpipe", "envoy-als-v3", "otlp-metrics-v1-pipe")
PARTS = tuple(PIPES) if LONG else SHORT
SENT = [method for method, pipe in OTHERS.items() if pipe in PARTS]


class Others:
    """Sends a message by each method of `SENT` in turn, until it is stopped.

    Attributes:
        answered: Methods and messages that were answered.
        unanswered: Those that failed; they are not sent again.
    """

    def __init__(self, address: str) -> None:
        self.answered: list[tuple[str, bytes]] = []
        self.unanswered: set[tuple[str, bytes]] = set()
        self._address = address
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        options = [("grpc.max_reconnect_backoff_ms", 200), ("grpc.initial_reconnect_backoff_ms", 100)]
        with grpc.insecure_channel(self._address, options=options) as channel:
            for number in count():
                sent = SENT[number % len(SENT)], _message(number)
                try:
                    channel.stream_unary(sent[0])(iter([sent[1]]), timeout=60)
                    self.answered.append(sent)
                except grpc.RpcError:
                    self.unanswered.add(sent)
                if self._stopped.wait(0.1):  # the load
                    return


def _message(number: int) -> bytes:
    if SENT[number % len(SENT)] != OTLP:
        return b"".join(field(1, b"message %d" % number))
    request = ExportMetricsServiceRequest()
    request.resource_metrics.add().scope_metrics.add().metrics.add().name = f"message {number}"
    return bytes(request.SerializeToString())


class Servers:
    """Two OAP servers. At random, some requests of senders fail after they have come."""

    def __init__(self, ports: list[int]) -> None:
        self.got: list[list[Call]] = [[], []]
        self._ports = ports
        self._chance = random.Random(1)
        self._running: dict[int, ExitStack] = {}

    def start(self, which: int) -> None:
        stack = self._running[which] = ExitStack()
        _, receiver = stack.enter_context(grpc_receiver(self._fail, port=self._ports[which]))
        receiver.calls = self.got[which]

    def stop(self, which: int) -> None:
        self._running.pop(which).close()

    def close(self) -> None:
        for which in list(self._running):
            self.stop(which)

    def _fail(self, _position: int, context: grpc.ServicerContext) -> None:
        keyed = any(name == "idempotency-key" for name, _ in context.invocation_metadata())
        if keyed and self._chance.random() < 0.03:
            context.abort(grpc.StatusCode.UNAVAILABLE, "by chance")

    def count(self, which: int) -> Counter[str]:
        """Calls of a server by method."""
        return Counter(call.path for call in list(self.got[which]))

    def delivered(self) -> Counter[tuple[str, bytes]]:
        """How often each message of the senders came, by method, when requests with equal keys count once."""
        contents: dict[str, tuple[str, list[bytes]]] = {}
        for call in [*self.got[0], *self.got[1]]:
            key = call.metadata.get("idempotency-key")
            if key is None:
                continue
            path, messages = contents.get(key, (call.path, []))
            # Of a stream that a kill has cut off only the beginning comes.
            shorter, longer = sorted((messages, call.messages), key=len)
            assert (path, longer[: len(shorter)]) == (call.path, shorter), key
            contents[key] = path, longer
        return Counter((path, message) for path, messages in contents.values() for message in messages)


class Run:
    """Both halves with Satellite's configuration, two servers and two clients."""

    def __init__(self, directory: Path) -> None:
        address, *oap, metrics = free_ports(4)
        self.directory = directory
        self.servers = Servers(oap)
        self.address = f"127.0.0.1:{address}"
        file = directory / "satellite_config.yaml"
        file.write_text(configuration(*PARTS))
        variables = {
            "ADDRESS": self.address,
            "OAP": ",".join(f"127.0.0.1:{each}" for each in oap),
            "PROMETHEUS_ADDRESS": f"127.0.0.1:{metrics}",
        }
        self.gather, self.process = (
            Service(each, [sys.executable, "-m", "mmapqueue", each, str(file)], directory, variables)
            for each in ("gather", "process")
        )
        script = str(Path(journal.__file__).with_name("skywalking_client.py"))
        arguments = ["--endpoint", self.address, "--journal", str(self.journal), "--rate", "10"]
        self.agent = Service("agent", [sys.executable, script, *arguments], directory)

    @property
    def journal(self) -> Path:
        return self.directory / "agent.jsonl"

    def start(self) -> None:
        self.gather.start()
        self.process.start()
        self.wait(lambda: self.gather.said("ready:"), "gather does not start")

    def wait(self, holds: object, message: str) -> None:
        wait(holds, message, self.gather, self.process)

    def await_calls(self, which: int, *paths: str) -> None:
        """Waits until a server gets more calls of each of these methods."""
        before = self.servers.count(which)
        for path in paths:
            self.wait(
                lambda path=path: self.servers.count(which)[path] > before[path], f"server {which} gets no {path}"
            )

    def asked(self) -> list[int]:
        """Asks a question twice. Returns how many each server got."""
        before = [self.servers.count(which)[TASKS] for which in range(2)]
        with grpc.insecure_channel(self.address) as channel:
            for _ in range(2):
                assert channel.unary_unary(TASKS)(b"", timeout=60) == b""
        return [self.servers.count(which)[TASKS] - before[which] for which in range(2)]

    def missing(self, others: Others) -> set[object]:
        """What was answered and has not come."""
        delivered = self.servers.delivered()
        numbers = numbers_of(delivered)
        return {each for each in others.answered if each not in delivered} | {
            (request.kind, number)
            for request in journal.read(self.journal)
            for number in request.numbers
            if request.answered and not numbers[request.kind][number]
        }

    def close(self) -> None:
        for each in (self.agent, self.gather, self.process):
            each.kill()
        self.servers.close()


def numbers_of(delivered: Counter[tuple[str, bytes]]) -> dict[str, Counter[int]]:
    """How often the numbers of the agent's application came, by their kind in its journal."""
    found: dict[str, Counter[int]] = {"segments": Counter(), "stream logs": Counter()}
    for (path, message), times in delivered.items():
        if path == SEGMENTS:
            found["segments"][segment_number(SegmentObject.FromString(message))] += times
        elif path == LOGS:
            found["stream logs"][log_number(LogData.FromString(message))] += times
    return found


@pytest.mark.slow
@pytest.mark.long_form
def test_what_satellites_configuration_accepts_survives_kills_and_the_loss_of_a_server(tmp_path: Path) -> None:
    run = Run(tmp_path)
    with ExitStack() as stack:
        stack.callback(run.close)
        for which in range(2):
            run.servers.start(which)
        run.start()
        others = Others(run.address)
        stack.callback(others.stop)
        run.agent.start()
        run.await_calls(0, LOGS, SEGMENTS, *SENT)
        assert sum(run.asked()) == 2
        run.gather.kill()
        run.process.kill()
        run.servers.stop(0)
        run.start()
        # Without the first server the second one gets everything, and answers questions.
        assert run.asked() == [0, 2]
        run.await_calls(1, LOGS, SEGMENTS, *SENT)
        run.servers.start(0)
        run.await_calls(0, LOGS, SEGMENTS, METERS, OTLP)
        run.agent.stop()
        run.wait(run.agent.ended, "the agent does not end")
        others.stop()
        run.wait(lambda: not run.missing(others), "the servers do not get all that was answered")
        run.gather.stop()
        run.process.stop()
        for each in (run.gather, run.process):
            wait(each.ended, f"{each.name} does not end")
    delivered = run.servers.delivered()
    sent = {path: {each for each in others.answered if each[0] == path} for path in SENT}
    for path in SENT:
        came = {each: times for each, times in delivered.items() if each[0] == path and b"message" in each[1]}
        assert sent[path] <= came.keys() <= sent[path] | others.unanswered
        assert set(came.values()) == {1}
    requests = journal.read(run.journal)
    for kind, found in numbers_of(delivered).items():
        found.pop(-1, None)  # the agent's own
        result = check_records(kind, [each for each in requests if each.kind == kind], found, [])
        assert result.exact, result
        assert result.accepted
    for directory in tmp_path.glob("satellite-mmap-queue/*.dead"):
        with mmapqueue.Queue(directory, read_only=True) as queue:
            assert queue.stats().end_offset == 0, directory
