"""Servers and receivers on an event loop of a thread of its own, so that any client may call them from a test."""

import asyncio
import logging
import subprocess
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Literal, TypeVar

import pytest

import mmapqueue
from mmapqueue.pipeline import Event
from mmapqueue.pipeline.config import Server
from mmapqueue.pipeline.gather.grpc_server import GrpcServer
from mmapqueue.pipeline.gather.http_server import HttpServer
from mmapqueue.pipeline.plugins import Receiver

T = TypeVar("T")
S = TypeVar("S", bound="Serving")


class FakeInbox:
    """Keeps records in memory. `hold` makes puts wait; `failures` are raised by the next puts, one each."""

    def __init__(self, max_event_size: int = 1 << 20) -> None:
        self.max_event_size = max_event_size
        self.records: list[bytes] = []
        self.puts: list[tuple[bytes, ...]] = []
        self.keys: list[bytes | None] = []
        self.failures: list[Exception] = []
        self.refused = 0
        self.waiting = threading.Semaphore(0)
        self._open = asyncio.Event()
        self._open.set()

    async def put(self, *records: bytes, key: bytes | None = None) -> None:
        self.waiting.release()
        await self._open.wait()
        if self.failures:
            self.refused += 1
            raise self.failures.pop(0)
        if any(len(each) > self.max_event_size for each in records):
            raise mmapqueue.TooLarge("an event is larger than max_event_size")
        self.puts.append(records)
        self.keys.append(key)
        self.records += records

    async def put_once(self, producer: str, sequence: int, records: Sequence[bytes]) -> bool:
        raise NotImplementedError

    async def last_sequence(self, producer: str) -> int | None:
        raise NotImplementedError

    async def producers(self) -> list[str]:
        raise NotImplementedError

    async def forget(self, producer: str) -> None:
        raise NotImplementedError

    async def hold(self) -> None:
        self._open.clear()

    async def release(self) -> None:
        self._open.set()


class FakeHost:
    """The environment of receivers."""

    def __init__(self, pipe: str, inbox: FakeInbox, servers: dict[str, Any]) -> None:
        self.pipe = pipe
        self.inbox = inbox
        self.log = logging.getLogger(f"mmapqueue.pipeline.{pipe}")
        self.shared = False
        self.counted: Counter[str] = Counter()
        self._servers = servers

    def count(self, status: str, number: int) -> None:
        self.counted[status] += number

    def protocol(self, server: str) -> Literal["grpc", "http"]:
        found: Literal["grpc", "http"] = self._servers[server].protocol
        return found

    def grpc(self, name: str) -> GrpcServer:
        server = self._servers[name]
        assert isinstance(server, GrpcServer)
        return server

    def http(self, name: str) -> HttpServer:
        server = self._servers[name]
        assert isinstance(server, HttpServer)
        return server


class Serving:
    """A gRPC server `grpc`, an HTTP server `http` and receivers that put into one inbox.

    with Serving(OtlpReceiver(server="grpc")) as serving: client(serving.grpc_port)
    """

    def __init__(
        self,
        *receivers: Receiver,
        inbox: FakeInbox | None = None,
        grpc: dict[str, Any] | None = None,
        http: dict[str, Any] | None = None,
        shared: bool = False,
    ) -> None:
        self.inbox = inbox or FakeInbox()
        #: What the servers have refused, by reason.
        self.refusals: Counter[str] = Counter()
        self.receivers = receivers
        self.grpc = GrpcServer(
            Server(name="grpc", type="grpc", **{"listen": "127.0.0.1:0"} | (grpc or {})),
            shared=shared,
            refused=self._refused,
        )
        self.http = HttpServer(
            Server(name="http", type="http", **{"listen": "127.0.0.1:0"} | (http or {})),
            shared=shared,
            refused=self._refused,
        )
        self.host = FakeHost("pipe", self.inbox, {"grpc": self.grpc, "http": self.http})
        self.host.shared = shared
        self._stopped = False

    def _refused(self, reason: str) -> None:
        self.refusals[reason] += 1

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> "Future[T]":
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self.submit(coroutine).result(60)

    def __enter__(self: S) -> S:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        try:
            self.run(self._start())
        except BaseException:
            self.__exit__()
            raise
        return self

    async def _start(self) -> None:
        for receiver in self.receivers:
            await receiver.start(self.host)
        await self.grpc.start()
        await self.http.start()

    async def _stop(self) -> None:
        await self.grpc.stop(2)
        await self.http.stop(2)
        for receiver in self.receivers:
            await receiver.stop()

    def pass_time(self, seconds: float) -> None:
        """Moves the loop's clock: what was due within these seconds has run when this returns."""
        self.run(self._pass_time(seconds))

    async def _pass_time(self, seconds: float) -> None:
        now = self._loop.time
        self._loop.time = lambda: now() + seconds  # type: ignore[method-assign]
        # The loop looks for due timers once a turn, after it has begun the turn's tasks.
        for _ in range(3):
            await asyncio.sleep(0)

    def stop(self) -> None:
        if not self._stopped:
            self._stopped = True
            self.run(self._stop())

    def __exit__(self, *_: object) -> None:
        try:
            self.stop()
        finally:
            self._end()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        left = asyncio.all_tasks(self._loop)
        for each in left:
            each.cancel()
        if left:
            self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    @property
    def grpc_address(self) -> str:
        return f"127.0.0.1:{self.grpc.port}"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http.port}"

    @property
    def events(self) -> list[Event]:
        return [Event.FromString(each) for each in self.inbox.records]


def wait_for(condition: Callable[[], Any]) -> None:
    tick = threading.Event()
    for _ in range(1200):
        if condition():
            return
        tick.wait(0.05)
    raise AssertionError("the condition did not come true in a minute")


def certificates(directory: Path) -> dict[str, Path]:
    """A CA, and certificates of it for 127.0.0.1 and for a client."""

    def openssl(*arguments: object) -> None:
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, cwd=directory)

    names = {"subject": "subjectAltName=IP:127.0.0.1,DNS:localhost"}
    (directory / "names").write_text(names["subject"])
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    # Python 3.13 refuses a CA without it.
    uses = ("-addext", "keyUsage=critical,keyCertSign,cRLSign")
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-days", 2, "-subj", "/CN=ca", *uses)
    for name in ("server", "client"):
        openssl("req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", 2, "-extfile", "names")
        openssl("x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.pem", *signed)
    return {each.name: each for each in directory.iterdir()}


def inflated(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of bytes that each later call of zlib gets to decompress."""
    original = zlib.decompressobj
    given: list[int] = []

    class Counting:
        def __init__(self, bits: int) -> None:
            self._inflate = original(bits)

        def decompress(self, data: bytes, most: int) -> bytes:
            given.append(len(data))
            return self._inflate.decompress(data, most)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._inflate, name)

    monkeypatch.setattr(zlib, "decompressobj", Counting)
    return given
