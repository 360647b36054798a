"""Redis on the loopback device: lists, and streams with a consumer group."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterable, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from queue_bench.workload import Popped, Session, Step, Subject, Workload, times

_BINARY = "redis-server"
_START_SECONDS = 30.0
_GROUP = "bench"


class Server:
    """The one server, with an append-only file; it runs from the first session to the last."""

    _running: Server | None = None
    _users = 0

    def __init__(self, directory: Path) -> None:
        import redis

        binary = shutil.which(_BINARY)
        if binary is None:
            raise FileNotFoundError(f"there is no {_BINARY}")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        options = {
            "bind": "127.0.0.1",
            "port": str(port),
            "dir": tempfile.mkdtemp(prefix="redis-", dir=directory),
            "save": "",
            "appendonly": "yes",
            "appendfsync": "everysec",
            "logfile": "redis.log",
        }
        arguments = [word for key, value in options.items() for word in (f"--{key}", value)]
        self._process = subprocess.Popen([binary, *arguments])
        self.client: Any = redis.Redis(host="127.0.0.1", port=port)
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                self.client.ping()
                break
            except redis.ConnectionError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    self._kill()
                    raise
                time.sleep(0.05)

    @classmethod
    def get(cls, directory: Path) -> Server:
        """Returns the running server, which the caller releases."""
        if cls._running is None:
            cls._running = cls(directory)
        cls._users += 1
        return cls._running

    @classmethod
    def release(cls) -> None:
        """Ends the server after its last user; without a save, as its files are removed."""
        cls._users -= 1
        if cls._users == 0 and cls._running is not None:
            cls._running.client.close()
            cls._running._kill()
            cls._running = None

    def _kill(self) -> None:
        self._process.kill()
        self._process.wait()


class _List(Session):
    def __init__(self, directory: Path, payload: int) -> None:
        super().__init__(payload)
        self._client = Server.get(directory.parent).client
        self._key = f"list-{payload}"

    def workloads(self, batches: Sequence[int]) -> Iterable[Workload]:
        for batch in batches:
            popped = Popped(self.record)
            push, pop = ("push", "pop") if batch == 1 else ("push_many", "pop_many")
            steps = (
                Step(push, times(partial(self._client.rpush, self._key, *[self.record] * batch)), batch),
                Step(pop, popped.keep(partial(self._client.lpop, self._key, batch)), batch),
            )
            yield Workload(steps, popped.check(batch, list))

    def close(self) -> None:
        Server.release()


class _Stream(Session):
    def __init__(self, directory: Path, payload: int) -> None:
        super().__init__(payload)
        self._client = Server.get(directory.parent).client
        self._key = f"stream-{payload}"
        self._client.xgroup_create(self._key, _GROUP, mkstream=True)

    def workloads(self, batches: Sequence[int]) -> Iterable[Workload]:
        for batch in batches:
            popped = Popped(self.record)
            check = popped.check(batch, lambda entries: [fields[b"r"] for _, fields in entries])

            def verify(calls: int, check: Any = check) -> None:
                check(calls)
                self._client.xtrim(self._key, maxlen=0, approximate=False)

            many = "_many" if batch > 1 else ""
            push = self._push if batch == 1 else partial(self._push_many, batch)
            steps = (
                Step("push" + many, times(push), batch),
                Step("pop" + many, popped.keep(partial(self._pop, batch)), batch),
                Step("ack" + many, popped.each(self._ack), batch),
            )
            yield Workload(steps, verify)

    def _push(self) -> None:
        self._client.xadd(self._key, {"r": self.record})

    def _push_many(self, batch: int) -> None:
        pipeline = self._client.pipeline(transaction=False)
        for _ in range(batch):
            pipeline.xadd(self._key, {"r": self.record})
        pipeline.execute()

    def _pop(self, batch: int) -> list[Any]:
        found = self._client.xreadgroup(_GROUP, "reader", {self._key: ">"}, count=batch)
        # A list of streams; from version 3 of the protocol on, a mapping of streams to lists of entries.
        if isinstance(found, dict):
            return [entry for entries in found[self._key.encode()] for entry in entries]
        return list(found[0][1])

    def _ack(self, entries: list[Any]) -> None:
        self._client.xack(self._key, _GROUP, *[entry[0] for entry in entries])

    def close(self) -> None:
        Server.release()


def _version() -> str:
    binary = shutil.which(_BINARY)
    if binary is None:
        raise FileNotFoundError(f"there is no {_BINARY}: install the package redis-server, or put it on PATH")
    said = subprocess.run([binary, "--version"], check=True, capture_output=True, text=True).stdout
    server = next((word[2:] for word in said.split() if word.startswith("v=")), said.strip())
    return f"{server}, redis-py {version('redis')}"


_SURVIVES = "everything, as the server is another process; a kill of the server, too; a loss of power takes a second"

SUBJECTS = [
    Subject(
        "Redis list",
        "RPUSH of a batch, LPOP with a count; appendonly, appendfsync everysec. No acks: popped records are gone",
        _SURVIVES,
        _version,
        _List,
    ),
    Subject(
        "Redis stream",
        "XADD, a batch in one pipeline; XREADGROUP with a count; XACK of a batch. XTRIM between measurements; "
        "appendonly, appendfsync everysec",
        _SURVIVES,
        _version,
        _Stream,
    ),
]
