"""The inbox of a pipe's queue: the answer of each request, and its time."""

import asyncio
import socket
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest

import mmapqueue
from conftest import SMALL, Open
from mmapqueue.pipeline.gather import throttled
from mmapqueue.pipeline.gather.inbox import Full, QueueInbox


class MemoryQueue:
    """What an inbox has of a queue, in memory: bytes of records take room until `free` gives it back."""

    def __init__(self, room: int = 1 << 20) -> None:
        self.config = {"max_event_size": 8000}
        self.log: list[bytes] = []
        self._room = room
        self._closed = False
        self._changed = threading.Condition()

    def push_many(
        self, records: Iterable[bytes], *, block: bool = True, timeout: float | None = None, atomic: bool = False
    ) -> int:
        batches = [[*records]] if atomic else [[each] for each in records]
        pushed = 0
        with self._changed:
            for batch in batches:
                size = sum(map(len, batch))
                has_room = self._changed.wait_for(partial(self._may_push, size), timeout if block else 0)
                if self._closed:
                    raise mmapqueue.Closed("the queue is closed")
                if not has_room:
                    full = mmapqueue.Full("the queue is full")
                    full.pushed = pushed
                    raise full
                self._room -= size
                self.log += batch
                pushed += len(batch)
        return pushed

    def _may_push(self, size: int) -> bool:
        return self._closed or self._room >= size

    def free(self, size: int) -> None:
        with self._changed:
            self._room += size
            self._changed.notify_all()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()


def run(
    queue: mmapqueue.Queue | MemoryQueue, use: Callable[[QueueInbox], Awaitable[Any]], **options: Any
) -> Counter[str]:
    counted: Counter[str] = Counter()

    def count(status: str, records: int) -> None:
        counted[status] += records

    async def whole() -> None:
        inbox = QueueInbox(cast("mmapqueue.Queue", queue), pipe="logs", count=count, **options)
        try:
            await inbox.ready()
            await use(inbox)
        finally:
            await inbox.close()

    asyncio.run(whole())
    return counted


def records(queue: mmapqueue.Queue) -> list[bytes]:
    return [each.data for each in queue.read_many(queue.first_offset(), 1_000_000)]


def test_requests_are_stored_when_they_are_answered(open_queue: Open) -> None:
    queue = open_queue()

    async def use(inbox: QueueInbox) -> None:
        async def one(client: int) -> None:
            for number in range(50):
                mine = f"{client}-{number}".encode()
                await inbox.put(mine)
                assert mine in records(queue)

        await asyncio.gather(*map(one, range(8)))

    assert run(queue, use) == {"success": 400}
    stored = records(queue)
    for client in range(8):
        own = [each for each in stored if each.startswith(f"{client}-".encode())]
        assert own == [f"{client}-{number}".encode() for number in range(50)]


def test_the_loop_pushes_itself(open_queue: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = open_queue()
    monkeypatch.setattr(queue, "push_many", None)
    # The largest of these fit into no group with another one.
    events = [b"%03d" % number * size for size in (1, 200, 6000) for number in range(300)]

    async def use(inbox: QueueInbox) -> None:
        await asyncio.gather(*map(inbox.put, events))

    assert run(queue, use) == {"success": 900}
    assert records(queue) == events


def test_the_thread_pushes_what_exceeds_the_buffer_of_the_loop(open_queue: Open) -> None:
    queue = open_queue(segment_size="4m", capacity="64m", max_event_size="2m")
    events = [b"small", b"l" * (2 << 20), b"next", b"L" * (1 << 20)]

    async def use(inbox: QueueInbox) -> None:
        await asyncio.gather(*map(inbox.put, events))

    assert run(queue, use) == {"success": 4}
    assert records(queue) == events


def test_the_thread_pushes_when_the_connection_of_the_loop_is_broken(open_queue: Open) -> None:
    queue = open_queue()

    async def use(inbox: QueueInbox) -> None:
        await inbox.put(b"before")
        assert inbox._direct is not None
        inbox._direct._connection._socket.shutdown(socket.SHUT_RDWR)
        await asyncio.gather(*(inbox.put(b"%d" % number) for number in range(10)))

    assert run(queue, use) == {"success": 11}
    assert records(queue) == [b"before", *(b"%d" % number for number in range(10))]


def test_a_queue_that_is_closed_in_between_fails_every_request(open_queue: Open) -> None:
    queue = open_queue()

    async def use(inbox: QueueInbox) -> None:
        await inbox.put(b"before")
        await queue.aclose()
        outcomes = await asyncio.gather(*(inbox.put(b"after") for _ in range(3)), return_exceptions=True)
        assert [type(each) for each in outcomes] == [mmapqueue.Closed] * 3

    assert run(queue, use) == {"success": 1, "failed": 3}


def test_records_of_a_request_are_stored_together_or_not_at_all() -> None:
    queue = MemoryQueue(9000)
    some = [b"s" * 10, b"l" * 5000, b"m" * 5000]

    async def use(inbox: QueueInbox) -> None:
        with pytest.raises(Full) as refused:
            await inbox.put(*some)
        assert refused.value.retry_after > 0
        assert queue.log == []
        queue.free(2000)
        await inbox.put(*some)

    assert run(queue, use) == {"rejected": 3, "success": 3}
    assert queue.log == some


def test_a_full_queue_rejects_only_what_does_not_fit(open_queue: Open) -> None:
    queue = open_queue(**SMALL)

    async def use(inbox: QueueInbox) -> None:
        outcomes = await asyncio.gather(*(inbox.put(b"%05d" % n * 100) for n in range(400)), return_exceptions=True)
        accepted = [n for n, outcome in enumerate(outcomes) if outcome is None]
        assert all(isinstance(each, Full) for each in outcomes if each is not None)
        assert records(queue) == [b"%05d" % n * 100 for n in accepted]
        assert 0 < len(accepted) < 400

    counted = run(queue, use)
    assert counted["success"] + counted["rejected"] == 400


def test_drop_counts_what_it_abandons() -> None:
    queue = MemoryQueue(4000)

    async def use(inbox: QueueInbox) -> None:
        await asyncio.gather(inbox.put(b"x" * 5000), inbox.put(b"y" * 5000, b"z" * 1000))

    assert run(queue, use, on_full="drop") == {"abandoned": 3}


def test_block_waits_for_room(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = MemoryQueue(4000)
    tries = threading.Semaphore(0)

    def may_push(queue: MemoryQueue, size: int) -> bool:
        tries.release()
        return may(queue, size)

    may = MemoryQueue._may_push
    monkeypatch.setattr(MemoryQueue, "_may_push", may_push)

    async def use(inbox: QueueInbox) -> None:
        waiting = asyncio.create_task(inbox.put(b"y" * 5000))
        for _ in range(3):
            assert await asyncio.to_thread(tries.acquire, timeout=60)
        assert not waiting.done()
        queue.free(1000)
        await waiting

    assert run(queue, use, on_full="block") == {"success": 1}


@pytest.mark.parametrize("on_full", ["reject", "block", "drop"])
def test_an_event_that_is_too_large_is_refused_by_itself(on_full: str) -> None:
    queue = MemoryQueue()

    async def use(inbox: QueueInbox) -> None:
        small, large = await asyncio.gather(inbox.put(b"a"), inbox.put(b"b" * 8001), return_exceptions=True)
        assert small is None
        assert isinstance(large, mmapqueue.TooLarge)
        assert "8000" in str(large)

    assert run(queue, use, on_full=on_full) == {"success": 1, "too_large": 1}


def test_what_waits_is_pushed_before_it_closes_and_then_nothing_is_taken() -> None:
    queue = MemoryQueue()

    async def use(inbox: QueueInbox) -> None:
        waiting = [asyncio.create_task(inbox.put(b"%d" % n)) for n in range(100)]
        await asyncio.sleep(0)
        await inbox.close()
        await asyncio.gather(*waiting)
        with pytest.raises(mmapqueue.Closed):
            await inbox.put(b"late")

    assert run(queue, use) == {"success": 100}
    assert queue.log == [b"%d" % n for n in range(100)]


def test_a_request_whose_client_has_gone_disturbs_no_other() -> None:
    queue = MemoryQueue()

    async def use(inbox: QueueInbox) -> None:
        gone = asyncio.create_task(inbox.put(b"gone"))
        stays = asyncio.create_task(inbox.put(b"stays"))
        await asyncio.sleep(0)
        gone.cancel()
        await stays

    run(queue, use)
    assert b"stays" in queue.log


@pytest.mark.parametrize("on_full", ["reject", "block"])
def test_a_request_whose_client_has_gone_is_not_stored(on_full: str) -> None:
    queue = MemoryQueue()
    pushing, push = threading.Event(), threading.Event()

    async def use(inbox: QueueInbox) -> None:
        real = queue.push_many

        def held(*args: Any, **options: Any) -> int:
            pushing.set()
            assert push.wait(60)
            return real(*args, **options)

        inbox._queue = SimpleNamespace(push_many=held)  # type: ignore[assignment]
        first = asyncio.create_task(inbox.put(b"first"))
        assert await asyncio.to_thread(pushing.wait, 60)
        # Its push has begun; those of the others have not.
        gone = [asyncio.create_task(inbox.put(b"gone", b"gone")) for _ in range(3)]
        stays = asyncio.create_task(inbox.put(b"stays"))
        await asyncio.sleep(0)
        for each in gone:
            each.cancel()
        await asyncio.wait(gone)
        push.set()
        await asyncio.gather(first, stays)

    assert run(queue, use, on_full=on_full) == {"success": 2, "disconnected": 6}
    assert queue.log == [b"first", b"stays"]


def test_a_client_that_goes_while_the_queue_is_full_does_not_hold_up_others() -> None:
    queue = MemoryQueue(4000)

    async def use(inbox: QueueInbox) -> None:
        large = asyncio.create_task(inbox.put(b"g" * 5000))
        while not inbox._waiting_bytes:
            await asyncio.sleep(0)
        large.cancel()
        await asyncio.wait([large])
        # Fits into the rest that is left, and waits until the push of the first one has been given up.
        await inbox.put(b"s")

    assert run(queue, use, on_full="block") == {"disconnected": 1, "success": 1}
    assert queue.log == [b"s"]


def test_failures_are_told_until_a_push_succeeds(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = MemoryQueue()

    async def use(inbox: QueueInbox) -> None:
        assert inbox.failure is None

        def fail(*_: Any, **__: Any) -> int:
            raise mmapqueue.MmapQueueError("No space left on device")

        inbox._queue = SimpleNamespace(push_many=fail, push_once=fail)  # type: ignore[assignment]
        for put in (inbox.put(b"a"), inbox.put_once("p", 1, [b"a"])):
            with pytest.raises(mmapqueue.MmapQueueError):
                await put
            assert inbox.failure == "MmapQueueError: No space left on device"
            monkeypatch.setattr(QueueInbox, "FAILING", 0.0)
            # Some time after it, so that clients are sent here again.
            assert inbox.failure is None
            monkeypatch.undo()
        inbox._queue = cast("mmapqueue.Queue", queue)
        await inbox.put(b"a")
        assert inbox.failure is None
        with pytest.raises(mmapqueue.TooLarge):
            await inbox.put(bytes(inbox.max_event_size + 1))
        assert inbox.failure is None

    run(queue, use)


def test_failures_are_one_line_in_the_log_with_the_cause(caplog: pytest.LogCaptureFixture) -> None:
    async def use(inbox: QueueInbox) -> None:
        now = [0.0]
        inbox._log._clock = lambda: now[0]

        def fail(*_: Any, **__: Any) -> int:
            raise mmapqueue.MmapQueueError("No space left on device")

        inbox._queue = SimpleNamespace(push_many=fail, push_once=fail)  # type: ignore[assignment]

        async def put() -> None:
            for putting in (inbox.put(b"a"), inbox.put_once("p", 1, [b"a"])):
                with pytest.raises(mmapqueue.MmapQueueError):
                    await putting

        await put()
        await put()
        now[0] = throttled.PERIOD
        await put()

    run(MemoryQueue(), use)
    line = "pipe logs: events cannot be stored: MmapQueueError: No space left on device"
    assert [each.getMessage() for each in caplog.records] == [line, f"{line} (3 more since the last line)"]


def test_a_closed_queue_fails_every_request() -> None:
    queue = MemoryQueue()

    async def use(inbox: QueueInbox) -> None:
        queue.close()
        outcomes = await asyncio.gather(inbox.put(b"a"), inbox.put(b"b", b"c"), return_exceptions=True)
        assert [type(each) for each in outcomes] == [mmapqueue.Closed] * 2

    assert run(queue, use) == {"failed": 3}


def test_synced_requests_are_flushed(open_queue: Open) -> None:
    queue = open_queue(flush_period="1h", flush_ceiling_num=1_000_000)

    async def use(inbox: QueueInbox) -> None:
        await asyncio.gather(*(inbox.put(b"x") for _ in range(100)))
        stats = queue.stats()
        assert stats.durable_position == stats.end_position

    run(queue, use, synced=True)


def test_a_sequence_is_stored_once(open_queue: Open) -> None:
    queue = open_queue()

    async def use(inbox: QueueInbox) -> None:
        assert await inbox.last_sequence("file.1") is None
        assert await inbox.put_once("file.1", 10, [b"a", b"b"])
        assert not await inbox.put_once("file.1", 10, [b"a", b"b"])
        assert await inbox.last_sequence("file.1") == 10

    assert run(queue, use) == {"success": 2}
    assert records(queue) == [b"a", b"b"]


def test_a_cancelled_sequence_is_not_pushed_later() -> None:
    """A fetcher that a reload has ended would store lines that the next one reads, too."""
    began, has_room = threading.Event(), threading.Event()
    pushed: list[int] = []

    def push_once(_producer: str, sequence: int, _records: Any, **_: Any) -> int:
        began.set()
        if not has_room.wait(0.05):
            raise mmapqueue.Full("the queue is full")
        pushed.append(sequence)
        return sequence

    async def use(inbox: QueueInbox) -> None:
        inbox._queue = SimpleNamespace(push_once=push_once)  # type: ignore[assignment]
        putting = asyncio.create_task(inbox.put_once("file.1", 10, [b"a"]))
        assert await asyncio.to_thread(began.wait, 10)
        putting.cancel()
        await asyncio.wait([putting])
        assert putting.cancelled()
        has_room.set()
        assert await inbox.put_once("file.1", 20, [b"a", b"b"])

    assert run(MemoryQueue(), use) == {"success": 2}
    assert pushed == [20]
