"""An agent in this process, and clients of one receiver each, whose events have numbers."""

from __future__ import annotations

import asyncio
import http.client
import socket
import ssl
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import grpc
import msgpack
import pyarrow
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

import mmapqueue
from conftest import eventually
from mmapqueue.pipeline import Event
from mmapqueue.pipeline.config import load
from mmapqueue.pipeline.gather.agent import Agent
from mmapqueue.pipeline.gather.main import checked
from mmapqueue.pipeline.gather.receivers.remote_write_pb2 import WriteRequest

from .receiving import free_port

T = TypeVar("T")
SECONDS = 60.0
QUESTION = "/skywalking.v3.ConfigurationDiscoveryService/fetchConfigurations"
KEEP_ALIVE = "/skywalking.v3.ManagementService/keepAlive"
#: Outcomes of an event: the client knows that it is stored; the client was told to send it again; it gets no answers.
ANSWERED, LATER, SENT = "answered", "later", "sent"
_STARTED_MS = 1_760_000_000_000


class Counts:
    """Telemetry that counts what receivers got, by status."""

    def __init__(self) -> None:
        self.received: Counter[str] = Counter()

    def receive_count(self, _pipe: str) -> Callable[[str, int], None]:
        return self._count

    fetch_count = receive_count

    def refused_count(self, _server: str) -> Callable[[str], None]:
        return lambda reason: self._count(reason, 1)

    def _count(self, status: str, number: int) -> None:
        self.received[status] += number


class Running:
    """An agent with the configuration of a file, on an event loop of a thread of its own.

    with Running(file) as running: running.reload(text)
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self.counts = Counts()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._agent = Agent(load(file), telemetry=self.counts)

    def __enter__(self) -> Running:
        self._thread.start()
        try:
            self._run(self._agent.__aenter__())
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._run(self._agent.__aexit__())
        finally:
            self._end()

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(SECONDS)

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def reload(self, text: str) -> None:
        """Changes the file, and then does what a reload of gather does."""
        self.file.write_text(text)
        self._run(self._agent.change(checked(str(self.file), self._agent.pipeline)))

    def port(self, server: str) -> int:
        return self._agent.servers[server].port

    @property
    def queue(self) -> mmapqueue.Queue:
        return self._agent.pipes["events"].queue

    @property
    def events(self) -> list[Event]:
        """The events of the queue; what a test has pushed itself is none."""
        queue = self.queue
        if queue.stats().end_offset == 0:
            return []
        found = [message.data for message in queue.read_many(queue.first_offset(), 1_000_000)]
        return [Event.FromString(each) for each in found if not each.startswith(FILLER)]


#: What fills a queue begins so; no event does.
FILLER = b"\xff\xff"


class Client:
    """One client of one receiver. `send` connects when there is no connection.

    Attributes:
        keyed: Whether events have identities, so that one that is sent again is stored once.
        ca: The authority of the receiver's certificate; None for plain text.
    """

    receiver = ""
    #: Of the server that the receiver needs.
    server = ""
    #: A change of a key of the receiver or of its server, after which its clients have to connect again.
    change = ("", "")
    keyed = True

    def __init__(self, tls: Path | None = None) -> None:
        self.ca = tls / "ca.pem" if tls is not None else None
        self.listen = free_port()
        self._tls = f", tls: {{certificate: {tls}/server.pem, key: {tls}/server.key}}" if tls is not None else ""
        self._connection: Any = None

    def text(self, queue: str, pipe: str = "") -> str:
        """A configuration of this receiver."""
        scheme = "tls+tcp" if self._tls else "tcp"
        receiver = self.receiver.format(listen=f"'{scheme}://127.0.0.1:{self.listen}'{self._tls}")
        server = self.server.format(listen=f"'127.0.0.1:0'{self._tls}")
        return f"servers: [{server}]\npipes:\n- name: events\n  queue: {queue}\n  receivers: [{receiver}]\n" + "".join(
            f"  {line}\n" for line in pipe.splitlines()
        )

    @contextmanager
    def of(self, running: Running) -> Iterator[None]:
        """A client of a running agent. It ends its connection at the end alone: unread data may be lost with it."""
        self._running = running
        try:
            yield
        finally:
            self.close()

    def send(self, number: int) -> str:
        """Sends an event, and returns its outcome.

        Raises:
            OSError, grpc.RpcError: The connection is refused, or has ended.
        """
        if self._connection is None:
            self._connection = self._connect()
        try:
            return self._exchange(number)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _connect(self) -> Any:
        connection = socket.create_connection(("127.0.0.1", self.listen), SECONDS)
        return connection if self.ca is None else self._context().wrap_socket(connection, server_hostname="127.0.0.1")

    def _context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.ca)

    def _exchange(self, number: int) -> str:
        raise NotImplementedError

    def numbers(self, event: Event) -> list[int]:
        """The numbers in a stored event."""
        raise NotImplementedError


class FluentClient(Client):
    receiver = "{{type: fluent, shared_key: open, listen: {listen}}}"
    change = ("type: fluent", "type: fluent, max_connections: 99")

    def _connect(self) -> Any:
        from .test_receivers_fluent import ping

        connection = super()._connect()
        _, options = msgpack.unpackb(connection.recv(1000))
        connection.sendall(ping(self.shared_key, options["nonce"]))
        if not msgpack.unpackb(connection.recv(1000))[1]:
            connection.close()
            raise ConnectionRefusedError("the shared key is wrong")
        return connection

    shared_key = "open"

    def _exchange(self, number: int) -> str:
        entries, chunk = [[1_760_000_000, {"log": str(number)}]], {"chunk": str(number)}
        self._connection.sendall(msgpack.packb(["app", entries, chunk]))
        answer = self._connection.recv(1000)
        if not answer:
            raise ConnectionResetError("no answer")
        assert msgpack.unpackb(answer) == {"ack": str(number)}
        return ANSWERED

    def numbers(self, event: Event) -> list[int]:
        request = ExportLogsServiceRequest.FromString(event.data)
        return [int(each.body.string_value) for each in request.resource_logs[0].scope_logs[0].log_records]


class RemoteWriteClient(Client):
    receiver = "{{type: remote_write, server: http}}"
    server = "{{name: http, type: http, max_message_size: 16k, listen: {listen}}}"
    change = ("type: http", "type: http, max_requests: 999")
    token = ""

    def _connect(self) -> Any:
        address = ("127.0.0.1", self._running.port("http"))
        connection: http.client.HTTPConnection
        if self.ca is None:
            connection = http.client.HTTPConnection(*address, timeout=SECONDS)
        else:
            connection = http.client.HTTPSConnection(*address, timeout=SECONDS, context=self._context())
        connection.connect()
        return connection

    def _exchange(self, number: int) -> str:
        request = WriteRequest()
        series = request.timeseries.add()
        series.labels.add(name="__name__", value="number")
        series.samples.add(value=number, timestamp=_STARTED_MS)
        body = bytes(pyarrow.Codec("snappy").compress(request.SerializeToString(), asbytes=True))
        headers = {"Content-Type": "application/x-protobuf", "Content-Encoding": "snappy"}
        headers |= {"Idempotency-Key": str(number), "Authorization": f"Bearer {self.token}"}
        self._connection.request("POST", "/api/v1/write", body, headers)
        answer = self._connection.getresponse()
        answer.read()
        if answer.getheader("Connection", "") == "close":
            self.close()
        if answer.status == 401:
            raise ConnectionRefusedError("the token is wrong")
        if answer.status == 204:
            return ANSWERED
        assert (answer.status, answer.getheader("Retry-After")) == (503, "1")
        return LATER

    def numbers(self, event: Event) -> list[int]:
        return [int(each.samples[0].value) for each in WriteRequest.FromString(event.data).timeseries]


class SkyWalkingClient(Client):
    receiver = "{{type: skywalking, server: grpc}}"
    server = "{{name: grpc, type: grpc, max_message_size: 16k, listen: {listen}}}"
    change = ("type: grpc", "type: grpc, max_requests: 999")
    token = ""

    def _connect(self) -> Any:
        # A channel connects by itself, also again.
        address, options = f"127.0.0.1:{self._running.port('grpc')}", [("grpc.use_local_subchannel_pool", 1)]
        if self.ca is None:
            return grpc.insecure_channel(address, options)
        return grpc.secure_channel(address, grpc.ssl_channel_credentials(self.ca.read_bytes()), options)

    def _exchange(self, number: int) -> str:
        return self.report(number)

    def report(self, number: int) -> str:
        """Sends an event; its outcome."""
        text = str(number)
        metadata = [("idempotency-key", text), ("authorization", f"Bearer {self.token}")]
        try:
            self._connection.unary_unary(KEEP_ALIVE)(_named(text), metadata=metadata, timeout=SECONDS)
        except grpc.RpcError as error:
            code, details = error.code(), dict(error.trailing_metadata()).get("grpc-status-details-bin", b"")
            if code == grpc.StatusCode.UNAUTHENTICATED:
                raise ConnectionRefusedError("the token is wrong") from None
            if code == grpc.StatusCode.UNAVAILABLE and "connect" in str(error.details()).lower():
                raise ConnectionRefusedError(error.details()) from None
            # RESOURCE_EXHAUSTED may be sent again only if its details have a RetryInfo.
            if code != grpc.StatusCode.UNAVAILABLE and b"RetryInfo" not in details:
                raise AssertionError(f"{code}: {error.details()}") from error
            return LATER
        return ANSWERED

    def numbers(self, event: Event) -> list[int]:
        return [int(event.data[2:])]


class AskingClient(SkyWalkingClient):
    """A client whose questions are answered by a backend, and not stored."""

    keyed = False

    def __init__(self, endpoint: str, options: str = "") -> None:
        super().__init__()
        backend = f"{{endpoint: '{endpoint}', {options}}}"
        self.receiver = f"{{type: skywalking, server: grpc, backend: {backend}}}".replace("{", "{{").replace("}", "}}")
        self.answers: list[bytes] = []

    def _exchange(self, number: int) -> str:
        try:
            self.answers.append(self.ask(number))
        except grpc.RpcError as error:
            if error.code() != grpc.StatusCode.UNAVAILABLE:
                raise AssertionError(f"{error.code()}: {error.details()}") from error
            return LATER
        return ANSWERED

    def ask(self, number: int) -> bytes:
        """The backend's answer."""
        answer: bytes = self._connection.unary_unary(QUESTION)(b"%d" % number, timeout=SECONDS)
        return answer


def _named(text: str) -> bytes:
    """A message with a text in its first field."""
    return b"\x0a%c" % len(text) + text.encode()


class SyslogClient(Client):
    receiver = "{{type: syslog, max_message_size: 1000, listen: {listen}}}"
    change = ("type: syslog", "type: syslog, max_connections: 99")
    keyed = False

    def _exchange(self, number: int) -> str:
        self._connection.sendall(b"<1>%d\n" % number)
        return SENT

    def numbers(self, event: Event) -> list[int]:
        return [int(event.data[3:])]


class StatsdClient(SyslogClient):
    receiver = "{{type: statsd, listen: {listen}}}"
    change = ("type: statsd", "type: statsd, max_connections: 99")

    def _exchange(self, number: int) -> str:
        self._connection.sendall(b"m%d:1|c\n" % number)
        return SENT

    def numbers(self, event: Event) -> list[int]:
        request = ExportMetricsServiceRequest.FromString(event.data)
        return [int(each.name[1:]) for each in request.resource_metrics[0].scope_metrics[0].metrics]


class Sending:
    """Sends events with a client, one after the other, in a thread of its own.

    Attributes:
        outcomes: Of each number, the outcomes of its attempts.
        ended: How often a connection has ended.
    """

    def __init__(self, client: Client, numbers: Iterator[int]) -> None:
        self.outcomes: dict[int, list[str]] = {}
        self.ended = 0
        self._client = client
        self._numbers = numbers
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._send)
        self._error: BaseException | None = None

    def _send(self) -> None:
        try:
            for number in self._numbers:
                attempts: list[str] = []
                while not attempts or (attempts[-1] == LATER and not self._stopped.is_set()):
                    try:
                        attempts.append(self._client.send(number))
                    except (OSError, grpc.RpcError, http.client.HTTPException):
                        self.ended += 1
                        # Sent again only if that stores it once.
                        if not self._client.keyed:
                            break
                    if attempts:
                        self.outcomes[number] = attempts
                        # A client that gets no answers would fill all buffers.
                        self._stopped.wait(0 if attempts[-1] == ANSWERED else 0.02)
                if self._stopped.is_set():
                    return
        except BaseException as error:
            self._error = error

    def go_on(self, more: int = 3) -> None:
        """Waits until further events have been answered, or sent."""
        before = self._done()
        assert eventually(lambda: self._error or self._done() >= before + more, SECONDS)
        if self._error is not None:
            raise self._error

    def _done(self) -> int:
        return sum(each[-1] != LATER for each in list(self.outcomes.values()))


@contextmanager
def sending(client: Client, numbers: Iterator[int]) -> Iterator[Sending]:
    """Sends during the block, and until the last event has its answer."""
    made = Sending(client, numbers)
    made._thread.start()
    try:
        yield made
    finally:
        made._stopped.set()
        made._thread.join(SECONDS)
    if made._error is not None:
        raise made._error
