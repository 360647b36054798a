"""Measures the memory of gather under clients that send slowly and never end a request: `make slow-clients`.

Half of the clients speak HTTP, half gRPC. Each declares a body of 4 MB, sends a first part of it at once and then a
little each second. It connects again when it is refused. Beside them one client of each protocol, which connected
before them, sends whole requests, and must get answers.
"""

import argparse
import asyncio
import contextlib
import http.client
import json
import resource
import statistics
import struct
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import conftest
from pipeline.gathering import Gather, gathering, request

_BODY = 4_000_000
_METHOD = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
#: Types of HTTP/2 frames.
_DATA, _HEADERS, _RST_STREAM, _SETTINGS, _WINDOW_UPDATE = 0, 1, 3, 4, 8
_END_HEADERS = 4
#: The setting of a stream's window at its beginning, and its default.
_INITIAL_WINDOW, _WINDOW = 4, 65_535
#: The most bytes of a frame, as every peer takes them.
_FRAME = 16_384
#: Seconds before a refused client connects again.
_PAUSE = 1.0


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def _literal(name: str, value: str) -> bytes:
    """A header of HPACK without an index."""
    return b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


def _grpc_head() -> bytes:
    fields = {":method": "POST", ":scheme": "http", ":path": _METHOD, ":authority": "h", "te": "trailers"}
    headers = b"".join(_literal(*each) for each in {**fields, "content-type": "application/grpc"}.items())
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _frame(_SETTINGS, 0, 0, b"")
    return preface + _frame(_HEADERS, _END_HEADERS, 1, headers) + _frame(_DATA, 0, 1, b"\0" + struct.pack(">I", _BODY))


def _data(size: int) -> Iterator[bytes]:
    """Frames with so many bytes."""
    for start in range(0, size, _FRAME):
        yield _frame(_DATA, 0, 1, bytes(min(_FRAME, size - start)))


def _http_head() -> bytes:
    head = (
        f"POST /v1/logs HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-protobuf\r\nContent-Length: {_BODY}\r\n\r\n"
    )
    return head.encode()


class Slow:
    """A client of one protocol.

    Args:
        address: The server.
        head: The beginning of its request.
        part: Makes what carries so many bytes of the body.
        seen: Counts connections and their ends.
    """

    def __init__(self, address: str, head: bytes, part: Callable[[int], bytes], seen: Counter[str]) -> None:
        self._host, _, port = address.rpartition(":")
        self._port = int(port)
        self._head, self._part, self._seen = head, part, seen
        self._is_grpc = head.startswith(b"PRI ")

    async def run(self, first: int, each_second: int) -> None:
        """Sends a request slowly, again and again."""
        while True:
            with contextlib.suppress(OSError):
                reader, writer = await asyncio.open_connection(self._host, self._port, limit=1 << 12)
                self._seen["connected"] += 1
                window = Window(self._is_grpc)
                ended = asyncio.create_task(window.read(reader))
                try:
                    writer.write(self._head)
                    size = first
                    while not ended.done():
                        writer.write(self._part(window.take(size)))
                        size = each_second
                        await asyncio.wait((ended,), timeout=1.0)
                finally:
                    ended.cancel()
                    writer.transport.abort()
            self._seen["ended"] += 1
            await asyncio.sleep(_PAUSE)


class Window:
    """What a server allows a client to send: in gRPC, the smaller of two windows of HTTP/2."""

    def __init__(self, is_grpc: bool) -> None:
        self._is_grpc = is_grpc
        self._sizes = {0: _WINDOW, 1: _WINDOW}

    def take(self, size: int) -> int:
        """The number of bytes, of those that are wanted, that may be sent."""
        if not self._is_grpc:
            return size
        allowed = max(0, min(size, *self._sizes.values()))
        for stream in self._sizes:
            self._sizes[stream] -= allowed
        return allowed

    async def read(self, reader: asyncio.StreamReader) -> None:
        """Reads until the server ends the connection, or the request."""
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            if not self._is_grpc:
                await reader.read(1)
                return
            while True:
                head = await reader.readexactly(9)
                kind, flags, stream = head[3], head[4], int.from_bytes(head[5:], "big")
                body = await reader.readexactly(int.from_bytes(head[:3], "big"))
                if kind == _WINDOW_UPDATE:
                    self._sizes[stream] += int.from_bytes(body, "big")
                elif kind == _SETTINGS and not flags:
                    for key, value in struct.iter_unpack(">HI", body):
                        if key == _INITIAL_WINDOW:
                            self._sizes[1] += value - _WINDOW
                elif kind == _RST_STREAM or (kind == _HEADERS and flags & 1):
                    return


def memory(pid: int) -> float:
    """Resident MiB of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


class Whole:
    """Clients that send whole requests, each on a connection of its own."""

    def __init__(self, gather: Gather) -> None:
        self._grpc = gather
        self._http = http.client.HTTPConnection(gather.http_address, timeout=60)
        self.answers: Counter[str] = Counter()

    def send(self) -> None:
        """Sends a request by each protocol, and counts the answers."""
        error = self._grpc.export(request("whole")).exception(60)
        self.answers["grpc " + ("OK" if error is None else error.code().name)] += 1
        self._http.request("POST", "/v1/logs", request("whole"), {"Content-Type": "application/x-protobuf"})
        with self._http.getresponse() as answer:
            answer.read()
            self.answers[f"http {answer.status}"] += 1


async def load(gather: Gather, options: argparse.Namespace) -> dict[str, Any]:
    """Runs the clients; what was seen."""
    (jvm,) = conftest.children(gather.pid)
    seen: Counter[str] = Counter()
    kinds = [
        Slow(gather.http_address, _http_head(), bytes, seen),
        Slow(gather.grpc_address, _grpc_head(), lambda size: b"".join(_data(size)), seen),
    ]
    whole = Whole(gather)
    whole.send()
    idle = memory(gather.pid), memory(jvm)
    clients = [
        asyncio.create_task(kinds[number % 2].run(options.first, options.each_second))
        for number in range(options.clients)
    ]
    samples: list[tuple[float, float]] = []
    end = time.monotonic() + options.seconds
    try:
        while time.monotonic() < end:
            await asyncio.sleep(1)
            samples.append((memory(gather.pid), memory(jvm)))
            await asyncio.to_thread(whole.send)
    finally:
        for each in clients:
            each.cancel()
        await asyncio.gather(*clients, return_exceptions=True)
    half = samples[len(samples) // 2 :]
    return {
        "clients": options.clients,
        "idle_mib": [round(each) for each in idle],
        "most_mib": [round(max(each)) for each in zip(*samples, strict=True)],
        "median_mib_in_the_second_half": [round(statistics.median(each)) for each in zip(*half, strict=True)],
        "most_mib_in_the_second_half": [round(max(each)) for each in zip(*half, strict=True)],
        "last_mib": [round(each) for each in samples[-1]],
        "connections": dict(seen),
        "answers_of_whole_requests": dict(whole.answers),
    }


def main() -> None:
    """Prints the figures as JSON: of gather and of its JVM."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=90)
    parser.add_argument("--limits", default="", help="further keys of both servers, as in YAML: max_held_bytes: 64m")
    parser.add_argument("--first", type=int, default=60_000, help="bytes that a client sends at once")
    parser.add_argument("--each-second", type=int, default=1000, help="bytes that it sends each second after them")
    options = parser.parse_args()
    # Also for gather, which inherits it.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    limits = ", ".join(filter(None, ["4m", options.limits]))
    with tempfile.TemporaryDirectory() as directory, gathering(Path(directory), max_message_size=limits) as gather:
        print(json.dumps(asyncio.run(load(gather, options)), indent=2))


if __name__ == "__main__":
    main()
