"""What the kill loop has around the pipeline: an HTTP server that records and fails, and a syslog client."""

import base64
import contextlib
import hashlib
import json
import random
import re
import select
import socket
import struct
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from journal import Request
from outputs import Row, numbers_of

SYSLOG = "text/x-syslog"
_NUMBER = re.compile(rb"number=(\d+)")


def numbers(row: Row) -> tuple[str, list[int]]:
    """Kind and numbers of the records in a payload, syslog included."""
    if row.content_type == SYSLOG:
        found = _NUMBER.search(row.data)
        assert found, row.data
        return "syslog", [int(found[1])]
    return numbers_of(row)


def row_of(event: dict[str, str]) -> Row:
    """The payload of a CloudEvent, as it came to the pipeline."""
    binary = event.get("data_base64")
    data = event["data"].encode() if binary is None else base64.b64decode(binary)
    return Row(event["datacontenttype"], data, {})


@dataclass
class Recorder:
    """An endpoint that notes each request, and by chance answers 503 or resets the connection after it has noted it.

    Attributes:
        digests: Content of each idempotency key, as digests; more than one is a fault.
        delivered: By kind, how often each number came, when requests of one key count once.
        requests: Requests that came.
        repeated: Requests with a key that was received before.
        without_key: Requests that had none.
    """

    chance: random.Random
    digests: dict[str, set[bytes]] = field(default_factory=lambda: defaultdict(set))
    delivered: dict[str, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    requests: int = 0
    repeated: int = 0
    without_key: int = 0
    _confirmed: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextlib.contextmanager
    def serving(self) -> Iterator[str]:
        """Serves on a free port of the loopback interface; gives the URL."""
        recorder = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = recorder.take(self.headers.get("Idempotency-Key"), self.headers["Content-Type"], body)
                if status is None:
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    self.close_connection = True
                    return
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()
            server.server_close()

    def take(self, key: str | None, content_type: str, body: bytes) -> int | None:
        """Notes a request, a batch of CloudEvents. Returns the status to answer with; None resets the connection."""
        with self._lock:
            self.requests += 1
            if key is None:
                self.without_key += 1
                return 200
            self.repeated += key in self.digests
            self.digests[key].add(hashlib.sha256(content_type.encode() + b"\0" + body).digest())
            outcome = self.chance.random()
            if outcome < 0.03:
                return 503
            if outcome < 0.05:
                return None
            if key not in self._confirmed:
                self._confirmed.add(key)
                for event in json.loads(body):
                    kind, found = numbers(row_of(event))
                    self.delivered[kind].update(found)
            return 200


class SyslogClient:
    """Sends syslog messages over TCP: a connection for some, closed by both sides before the next one.

    Syslog has no answers. The messages of a connection count as accepted when the server has ended it after the client
    closed its own side. A killed server resets it. One that stops may end it before: it has not got the rest.

    Attributes:
        requests: What was sent, a connection each.
    """

    def __init__(self, port: int, rate: float, chance: random.Random) -> None:
        self.requests: list[Request] = []
        self._port = port
        self._rate = rate
        self._chance = chance
        self._sent = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Starts to send."""
        self._thread.start()

    def stop(self) -> None:
        """Returns when the last connection is closed."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.is_set():
            started = time.monotonic()
            count = self._chance.randint(1, 40)
            self._send(count)
            self._stopped.wait(max(0.01, count / self._rate - (time.monotonic() - started)))

    def _send(self, count: int) -> None:
        frame: Callable[[bytes], bytes] = self._chance.choice([_counted, _lines])
        try:
            connection = socket.create_connection(("127.0.0.1", self._port), timeout=60)
        except OSError:
            return  # the server is away
        request = Request("syslog", list(range(self._sent, self._sent + count)), time.time())
        self._sent += count
        self.requests.append(request)
        with connection:
            try:
                for number in request.numbers:
                    connection.sendall(frame(b"<14>1 2026-01-31T12:00:00Z host shop - - - number=%d" % number))
                closed = not _ended(connection)
                connection.shutdown(socket.SHUT_WR)
                closed = connection.recv(1) == b"" and closed
            except OSError:
                closed = False
        if closed:
            request.answered = time.time()


def _ended(connection: socket.socket) -> bool:
    """Whether the other side, which sends nothing, has ended the connection."""
    return bool(select.select([connection], (), (), 0)[0])


def _counted(message: bytes) -> bytes:
    return b"%d %s" % (len(message), message)


def _lines(message: bytes) -> bytes:
    return message + b"\n"
