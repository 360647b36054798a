"""Clients that repeat each request with its idempotency key until it is answered, and often leave before the answer."""

import contextlib
import http.client
import json
import random
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable

import grpc
import msgpack
import pyarrow as pa
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from mmapqueue.pipeline.gather.receivers.remote_write_pb2 import WriteRequest

EXPORT = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
#: The names of the clients: HTTP/1.1 with a connection for many requests or for each one, ids of events in place of a
#: key, Prometheus' remote write, gRPC, which is HTTP/2, with one or several requests at a time, and Fluent's chunks.
CLIENTS = ("http keep-alive", "http connecting", "http ids", "remote write", "grpc", "grpc in parallel", "fluent")
#: A request whose answer takes longer is repeated.
_SECONDS = 5.0


class Reset(Exception):
    """The client has reset its connection, or cancelled its request, before the answer."""


class KeyedClients:
    """Threads that send events. Each event has a number, and is a request of its own.

    Attributes:
        answered: The number of events whose requests were answered, by client.
        attempts: The number of attempts by their outcome: answered, reset by the client, or an error.
    """

    def __init__(self, grpc_address: str, http_address: str, fluent_port: int, chance: random.Random) -> None:
        self.answered: Counter[str] = Counter()
        self.attempts: Counter[str] = Counter()
        self.unanswered = 0
        self._grpc, self._http, self._fluent_port = grpc_address, http_address, fluent_port
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._sent = 0
        kinds = (
            *(self._keep_alive, self._connecting, self._ids, self._remote_write),
            *(self._unary, self._parallel, self._fluent),
        )
        self._threads = [
            threading.Thread(target=kind, args=(name, random.Random(chance.random())), daemon=True)
            for name, kind in zip(CLIENTS, kinds, strict=True)
        ]

    def start(self) -> None:
        """Begins to send."""
        for each in self._threads:
            each.start()

    def stop(self) -> int:
        """Ends the clients when their last requests are answered. Returns the number of events, which count from 0."""
        self._stopped.set()
        for each in self._threads:
            each.join()
        return self._sent

    def _run(self, name: str, attempt: Callable[[int], None]) -> None:
        while not self._stopped.is_set():
            with self._lock:
                number = self._sent
                self._sent += 1
                self.unanswered += 1
            while (outcome := self._outcome(attempt, number)) != "answered":
                if outcome != "reset by the client":
                    time.sleep(0.02)  # the pause of a client between two attempts
            with self._lock:
                self.answered[name] += 1
                self.unanswered -= 1

    def _outcome(self, attempt: Callable[[int], None], number: int) -> str:
        try:
            attempt(number)
            outcome = "answered"
        except Reset:
            outcome = "reset by the client"
        except grpc.RpcError as error:
            outcome = str(error.code())
        except (OSError, http.client.HTTPException) as error:
            outcome = type(error).__name__
        with self._lock:
            self.attempts[outcome] += 1
        return outcome

    # ---- HTTP/1.1

    def _keep_alive(self, name: str, chance: random.Random) -> None:
        connection: http.client.HTTPConnection | None = None

        def attempt(number: int) -> None:
            nonlocal connection
            used, connection = connection or self._connection(), None
            self._post(used, "/v1/logs", otlp(number), {"Idempotency-Key": f"{name} {number}"}, chance)
            connection = used

        self._run(name, attempt)

    def _connecting(self, name: str, chance: random.Random) -> None:
        def attempt(number: int) -> None:
            with contextlib.closing(self._connection()) as used:
                self._post(used, "/v1/logs", otlp(number), {"Idempotency-Key": f"{name} {number}"}, chance)

        self._run(name, attempt)

    def _ids(self, name: str, chance: random.Random) -> None:
        def attempt(number: int) -> None:
            # Other bytes each time: the id alone makes it the same event.
            body = json.dumps({"id": number, "sent": time.time()}).encode()
            with contextlib.closing(self._connection()) as used:
                self._post(used, "/ids", body, {}, chance)

        self._run(name, attempt)

    def _remote_write(self, name: str, chance: random.Random) -> None:
        def attempt(number: int) -> None:
            request = WriteRequest()
            series = request.timeseries.add()
            series.labels.add(name="__name__", value="number")
            series.samples.add(value=number, timestamp=1_760_000_000_000)
            body = pa.Codec("snappy").compress(request.SerializeToString(), asbytes=True)
            with contextlib.closing(self._connection()) as used:
                self._post(used, "/api/v1/write", body, {"Idempotency-Key": f"{name} {number}"}, chance)

        self._run(name, attempt)

    def _connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self._http, timeout=_SECONDS)

    def _post(
        self,
        connection: http.client.HTTPConnection,
        path: str,
        body: bytes,
        headers: dict[str, str],
        chance: random.Random,
    ) -> None:
        try:
            connection.request("POST", path, body, {"Content-Type": "application/x-protobuf", **headers})
            assert connection.sock is not None
            _reset(connection.sock, chance)
            answer = connection.getresponse()
            answer.read()
        except BaseException:
            connection.close()
            raise
        if answer.status not in (200, 204):
            raise http.client.HTTPException(f"status {answer.status}")

    # ---- Fluent's Forward protocol

    def _fluent(self, name: str, chance: random.Random) -> None:
        connection: socket.socket | None = None

        def attempt(number: int) -> None:
            nonlocal connection
            used = connection or socket.create_connection(("127.0.0.1", self._fluent_port), _SECONDS)
            connection = None
            chunk = f"{name} {number}"
            try:
                used.sendall(msgpack.packb(["kills", [[1_760_000_000, {"log": str(number)}]], {"chunk": chunk}]))
                _reset(used, chance)
                answer = used.recv(1000)
                if not answer:
                    raise ConnectionResetError("the connection ends without an answer")
            except BaseException:
                used.close()
                raise
            assert msgpack.unpackb(answer) == {"ack": chunk}
            connection = used

        self._run(name, attempt)

    # ---- gRPC

    def _unary(self, name: str, chance: random.Random) -> None:
        with self._channel(name) as channel:
            self._run(name, lambda number: _export(channel, f"{name} {number}", number, chance))

    def _parallel(self, name: str, chance: random.Random) -> None:
        with self._channel(name) as channel:

            def attempt(number: int) -> None:
                _export(channel, f"{name} {number}", number, chance)

            threads = [threading.Thread(target=self._run, args=(name, attempt), daemon=True) for _ in range(4)]
            for each in threads:
                each.start()
            for each in threads:
                each.join()

    def _channel(self, agent: str) -> grpc.Channel:
        options = [
            ("grpc.primary_user_agent", agent.replace(" ", "-")),
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.max_reconnect_backoff_ms", 100),
        ]
        return grpc.insecure_channel(self._grpc, options=options)


def _reset(connection: socket.socket, chance: random.Random) -> None:
    """Leaves a tenth of the requests at any moment: raises Reset after it has made the close a reset."""
    if chance.random() < 0.1:
        time.sleep(chance.choice([0, chance.uniform(0, 0.01)]))  # any moment
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise Reset


def _export(channel: grpc.Channel, key: str, number: int, chance: random.Random) -> None:
    call = channel.unary_unary(EXPORT).future(otlp(number), timeout=_SECONDS, metadata=(("idempotency-key", key),))
    if chance.random() < 0.1:
        time.sleep(chance.choice([0, chance.uniform(0, 0.01)]))  # any moment
        if call.cancel():
            raise Reset
    call.result()


def otlp(number: int) -> bytes:
    """A request with one log, the number."""
    made = ExportLogsServiceRequest()
    made.resource_logs.add().scope_logs.add().log_records.add().body.int_value = number
    return bytes(made.SerializeToString())


def number_of(content_type: str, data: bytes) -> int:
    """The number of an event."""
    if data.startswith(b"{"):
        return int(json.loads(data)["id"])
    if content_type.endswith("proto=prometheus.WriteRequest"):
        return int(WriteRequest.FromString(data).timeseries[0].samples[0].value)
    (resource,) = ExportLogsServiceRequest.FromString(data).resource_logs
    body = resource.scope_logs[0].log_records[0].body
    return int(body.string_value or body.int_value)
