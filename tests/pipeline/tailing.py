"""What the tests of the files fetcher share: an inbox in memory, and a fetcher that is led step by step."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import mmapqueue
from mmapqueue.pipeline import Event
from mmapqueue.pipeline.gather.fetchers._follow import Follower
from mmapqueue.pipeline.gather.fetchers.files import FileFetcher


class Killed(BaseException):
    """The process ended at this point, for all that the queue knows."""


class MemoryInbox:
    """Keeps what a queue keeps, and may fail around a push as a kill does."""

    def __init__(self, max_event_size: int = 1 << 20) -> None:
        self.max_event_size = max_event_size
        self.max_batch = 1 << 30
        self.records: list[bytes] = []
        self.sequences: dict[str, int] = {}
        self.kill_before = self.kill_after = False

    async def put(self, *records: bytes) -> None:
        self.records += records

    async def put_once(self, producer: str, sequence: int, records: Sequence[bytes]) -> bool:
        if self.kill_before:
            self.kill_before = False
            raise Killed
        if sequence <= self.sequences.get(producer, -1):
            return False
        if any(len(record) > self.max_event_size for record in records) or sum(map(len, records)) > self.max_batch:
            raise mmapqueue.TooLarge("too large")
        self.sequences[producer] = sequence
        self.records += records
        if self.kill_after:
            self.kill_after = False
            raise Killed
        return True

    async def last_sequence(self, producer: str) -> int | None:
        return self.sequences.get(producer)

    async def producers(self) -> list[str]:
        return sorted(self.sequences)

    async def forget(self, producer: str) -> None:
        self.sequences.pop(producer, None)


class FakeHost:
    """A pipe without an agent."""

    pipe = "pipe"
    shared = False
    log = logging.getLogger("tests")

    def __init__(self, inbox: Any) -> None:
        self.inbox = inbox
        self.counted: list[tuple[str, int]] = []

    def count(self, status: str, number: int) -> None:
        self.counted.append((status, number))

    def protocol(self, server: str) -> Literal["grpc", "http"]:
        raise KeyError(server)

    def grpc(self, name: str) -> Any:
        raise KeyError(name)

    http = grpc


class Steps:
    """A fetcher that advances only when a test calls it."""

    def __init__(self, inbox: MemoryInbox, **options: Any) -> None:
        self.inbox = inbox
        self.host = FakeHost(inbox)
        self.options = FileFetcher(**{"idle": "1h", "close_after": "1h", **options})
        self.loop = asyncio.new_event_loop()
        self.follower: Follower | None = None

    def start(self) -> None:
        self.follower = Follower(self.options, self.host)
        self._do("start")

    def stop(self) -> None:
        if self.follower is not None:
            self._do("close")
            self.follower = None

    def look(self) -> None:
        """Finds files, and reads all that there is."""
        self._do("scan")
        while self._do("turn"):
            pass

    def look_after(self, **durations: str) -> None:
        """As `look`, when these options have passed."""
        assert self.follower is not None
        self.follower._options = FileFetcher(**{**self.options.model_dump(), **durations})
        self.look()
        self.look()
        self.follower._options = self.options

    def _do(self, what: str) -> Any:
        assert self.follower is not None
        return self.loop.run_until_complete(getattr(self.follower, what)())

    def close(self) -> None:
        self.stop()
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()


class Line(NamedTuple):
    """One event."""

    data: bytes
    position: int
    continuation: bool
    incomplete: bool
    inode: int
    source: Path


def line(record: bytes) -> Line:
    event = Event.FromString(record)
    return Line(
        event.data,
        int(event.meta["position"]),
        event.meta["continuation"] == "true",
        event.meta["incomplete"] == "true",
        int(event.meta["inode"]),
        Path(event.source),
    )


def texts(records: Sequence[bytes]) -> list[bytes]:
    """The data of events."""
    return [line(record).data for record in records]


def joined(records: Sequence[bytes]) -> list[bytes]:
    """The lines, those whole again that are in several events."""
    found: list[bytes] = []
    open_lines: dict[tuple[int, int], int] = {}
    for each in map(line, records):
        at = open_lines.pop((each.inode, each.position), None) if each.continuation else None
        if at is None:
            at = len(found)
            found.append(b"")
        found[at] += each.data
        if each.incomplete:
            open_lines[each.inode, each.position + len(each.data)] = at
    return found


Make = Callable[..., Steps]


def append(path: Path, content: bytes) -> None:
    with path.open("ab") as file:
        file.write(content)
