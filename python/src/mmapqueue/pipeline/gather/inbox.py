"""The inbox of a pipe's queue: takes requests of the event loop, and pushes them in groups."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import groupby
from typing import Literal, NamedTuple

import mmapqueue
from mmapqueue._queue.loop_push import LoopPush
from mmapqueue.pipeline.gather.request_keys import PRODUCER, RequestKeys
from mmapqueue.pipeline.gather.throttled import ThrottledLog

_LOG = logging.getLogger("mmapqueue.pipeline.inbox")

#: The maximum number of bytes of requests that wait for their push. Further requests wait before they are taken.
_MAX_WAITING = 32 << 20
#: Seconds of one attempt to push to a full queue, after which the inbox checks whether it was closed.
_FULL_WAIT = 0.2
#: Seconds between two attempts to push a request with a key to a full queue. None of them waits, as it has a lock.
_FULL_POLL = 0.02

OnFull = Literal["reject", "block", "drop", "overflow"]
#: Called with a status (success, repeated, abandoned, rejected, too_large, failed, disconnected) and a number of
#: records.
Counted = Callable[[str, int], None]


class Full(mmapqueue.Full):
    """The queue is full, and the client should retry.

    Attributes:
        retry_after: Seconds until the retry.
    """

    retry_after: float = 1.0


class _Request(NamedTuple):
    records: tuple[bytes, ...]
    size: int
    done: "asyncio.Future[None]"
    counted: Counted
    key: bytes | None

    @property
    def gone(self) -> bool:
        """Whether its client has disconnected."""
        return self.done.cancelled()


class _Gone(Exception):
    """The request was not pushed: its client had disconnected."""


class _Repeated(Exception):
    """The request was stored before."""


class QueueInbox:
    """Pushes the records of requests. Belongs to one event loop.

    Requests that wait at the same time are pushed together, and with `ack: synced` share one fsync. One group is pushed
    at a time, so the order of requests is kept. The loop sends a group to the JVM itself if each request has one record
    and no key, and nothing is to be waited for; what that leaves is pushed by a thread.

    Attributes:
        max_event_size: Bytes that an event may have.
    """

    #: Seconds after a failed push for which `failure` has it, unless a later push succeeds.
    FAILING = 30.0

    def __init__(
        self,
        queue: mmapqueue.Queue,
        *,
        pipe: str,
        on_full: OnFull = "reject",
        synced: bool = False,
        keys: RequestKeys | None = None,
        count: Counted = lambda _status, _records: None,
    ) -> None:
        """Begins to take requests.

        Args:
            queue: The queue, which stays open.
            pipe: The pipe's name, for the log.
            on_full: What happens when the queue is full.
            synced: Whether puts return after an fsync.
            keys: The memory of keys, which the inbox closes; without it keys have no effect.
            count: Counts records by the outcome of their request.
        """
        self.max_event_size = queue.config["max_event_size"]
        self._queue = queue
        self._on_full = on_full
        self._synced = synced
        self._keys = keys
        self._count = count
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[_Request] = deque()
        self._waiting_bytes = 0
        self._room = asyncio.Event()
        self._room.set()
        self._is_pushing = False
        self._idle = asyncio.Event()
        self._idle.set()
        self._closed = False
        self._failure: tuple[float, str] | None = None
        self._log = ThrottledLog(_LOG, f"pipe {pipe}")
        self._once = ThreadPoolExecutor(4, thread_name_prefix="push-once")
        self._pusher = ThreadPoolExecutor(1, thread_name_prefix="pusher")
        self._direct: LoopPush | None = None
        self._opening = asyncio.create_task(self._open_direct())

    def change(self, *, on_full: OnFull, synced: bool, most_keys: int) -> None:
        """Changes what happens when the queue is full, when puts return, and the number of keys that are remembered.

        For requests that are not pushed yet.
        """
        self._on_full, self._synced = on_full, synced
        if self._keys is not None:
            self._keys.most = most_keys

    @property
    def failure(self) -> str | None:
        """Why pushes fail; None after a success, and some time after the last failure, so that clients try again."""
        failure = self._failure
        return failure[1] if failure is not None and time.monotonic() - failure[0] < self.FAILING else None

    async def ready(self) -> None:
        """Waits until the loop can push itself. Earlier requests are pushed by the thread."""
        await self._opening

    async def put(self, *records: bytes, key: bytes | None = None) -> None:
        """As `mmapqueue.pipeline.plugins.Inbox.put`."""
        await self.put_counted(records, key, self._count)

    async def put_counted(self, records: tuple[bytes, ...], key: bytes | None, count: Counted) -> None:
        """As `put`, counting by `count`."""
        if not records:
            return
        size = 0
        for record in records:
            if len(record) > self.max_event_size:
                count("too_large", len(records))
                raise mmapqueue.TooLarge(
                    f"an event of {len(record)} bytes is larger than max_event_size = {self.max_event_size}"
                )
            size += len(record)
        while self._waiting_bytes > _MAX_WAITING and not self._closed:
            self._room.clear()
            await self._room.wait()
        if self._closed:
            raise mmapqueue.Closed("the pipe is stopping")
        done = self._loop.create_future()
        self._waiting_bytes += size
        self._waiting.append(_Request(records, size, done, count, key))
        if not self._is_pushing:
            self._is_pushing = True
            self._idle.clear()
            self._loop.call_soon(self._push_next)
        await done

    async def put_once(self, producer: str, sequence: int, records: Sequence[bytes]) -> bool:
        """As `mmapqueue.pipeline.plugins.Inbox.put_once`."""
        return await self.put_once_counted(producer, sequence, records, self._count)

    async def put_once_counted(self, producer: str, sequence: int, records: Sequence[bytes], count: Counted) -> bool:
        """As `put_once`, counting by `count`."""
        cancelled = False

        def push() -> int | None:
            while not (self._closed or cancelled):
                try:
                    return self._queue.push_once(producer, sequence, records, timeout=_FULL_WAIT, sync=self._synced)
                except mmapqueue.Full:
                    continue
            raise mmapqueue.Closed("the pipe is stopping")

        pushing = self._once.submit(push)
        try:
            stored = await asyncio.wrap_future(pushing, loop=self._loop) is not None
        except asyncio.CancelledError:
            # The next fetcher continues after the last sequence: this one must not be pushed after that was read.
            cancelled = True
            if not pushing.cancel():
                await asyncio.gather(asyncio.wrap_future(pushing, loop=self._loop), return_exceptions=True)
            raise
        except Exception as error:
            self._note(error)
            raise
        self._failure = None
        if stored:
            count("success", len(records))
        return stored

    async def last_sequence(self, producer: str) -> int | None:
        """As `mmapqueue.pipeline.plugins.Inbox.last_sequence`."""
        return await self._loop.run_in_executor(self._once, self._queue.last_sequence, producer)

    async def producers(self) -> list[str]:
        """As `mmapqueue.pipeline.plugins.Inbox.producers`."""
        return await self._loop.run_in_executor(self._once, self._queue.producers)

    async def forget(self, producer: str) -> None:
        """As `mmapqueue.pipeline.plugins.Inbox.forget`."""
        with suppress(mmapqueue.ConfigError):  # There is none.
            await self._loop.run_in_executor(self._once, self._queue.forget_producer, producer)

    async def close(self) -> None:
        """Pushes waiting records; later calls raise Closed. The queue stays open."""
        self._closed = True
        self._room.set()
        await self._idle.wait()
        await self._opening
        if self._direct is not None:
            self._direct.close()
        if self._keys is not None:
            await self._loop.run_in_executor(self._pusher, self._keys.close)
        await self._loop.run_in_executor(None, self._pusher.shutdown)
        await self._loop.run_in_executor(None, self._once.shutdown)

    # ---- one group at a time

    async def _open_direct(self) -> None:
        if self._keys is not None and self._remembers():
            with suppress(mmapqueue.MmapQueueError):  # The next request with a key raises it again.
                await self._loop.run_in_executor(self._pusher, partial(self._keys.settle, durable=self._synced))
        # With `synced` a group waits for an fsync, and the thread's calls do that.
        if self._synced or not isinstance(self._queue, mmapqueue.Queue):
            return
        with suppress(mmapqueue.MmapQueueError):  # The thread's next push raises it again.
            self._direct = await self._loop.run_in_executor(self._pusher, LoopPush.of, self._queue)
            if self._direct is not None:
                self._direct.listen(self._loop)

    def _push_next(self) -> None:
        if not self._waiting:
            self._is_pushing = False
            self._idle.set()
            return
        taken, self._waiting = [*self._waiting], deque()
        simple = all(len(each.records) == 1 and each.key is None and not each.gone for each in taken)
        if self._direct is None or self._synced or not simple:
            self._push_by_thread(taken)
            return
        lengths = [each.size for each in taken]
        fitting = self._direct.fitting(lengths)
        if fitting == 0:
            self._push_by_thread(taken)
            return
        self._waiting.extend(taken[fitting:])
        del taken[fitting:], lengths[fitting:]
        self._direct.push([each.records[0] for each in taken], lengths, partial(self._pushed, taken))

    def _pushed(self, taken: list[_Request], number: int) -> None:
        """Answers the first requests of a group, which the loop has pushed; the thread tries the others again."""
        if number < len(taken):
            self._push_by_thread(taken[number:])
        else:
            self._push_next()
        self._answer(taken[:number], [None] * number)

    def _push_by_thread(self, taken: list[_Request]) -> None:
        def ended(pushing: "asyncio.Future[list[Exception | None]]") -> None:
            self._push_next()
            self._answer(taken, pushing.result())

        self._loop.run_in_executor(self._pusher, self._push, taken).add_done_callback(ended)

    # ---- the pushing thread

    def _push(self, taken: list[_Request]) -> list[Exception | None]:
        """Pushes requests in order, and returns the exception of each, None after a success."""
        outcomes: list[Exception | None] = []
        for has_key, group in groupby(taken, lambda each: each.key is not None and self._remembers()):
            push = self._push_once if has_key else self._push_all
            outcomes += push([*group])
        return outcomes

    def _push_all(self, taken: list[_Request]) -> list[Exception | None]:
        outcomes: list[Exception | None] = []
        single = [each.records[0] for each in taken if len(each.records) == 1 and not each.gone]
        try:
            # The usual case, one record for each request: one call pushes all.
            pushed = self._queue.push_many(single, block=False) if len(single) == len(taken) else 0
        except Exception as error:
            # The first record that was not pushed is retried alone, and fails again if the error is its own.
            pushed = getattr(error, "pushed", 0)
        outcomes += [None] * pushed
        outcomes += [self._push_request(each) for each in taken[pushed:]]
        if self._synced and any(each is None for each in outcomes):
            try:
                self._queue.flush()
            except Exception as error:
                return [error if each is None else each for each in outcomes]
        return outcomes

    def _push_request(self, request: _Request) -> Exception | None:
        while True:
            if request.gone:
                return _Gone()
            try:
                wait = self._on_full == "block"
                self._queue.push_many(request.records, block=wait, timeout=_FULL_WAIT if wait else None, atomic=True)
                return None
            except mmapqueue.Full as error:
                if self._on_full != "block" or self._closed:
                    return Full(str(error))
            except Exception as error:
                return error

    def _remembers(self) -> bool:
        return self._keys is not None and self._keys.most > 0

    def _push_once(self, taken: list[_Request]) -> list[Exception | None]:
        """Pushes requests with keys, each of which is stored once."""
        try:
            return self._store(taken)
        except Exception:
            # Each one gets its own error. What was stored all the same is found by its key.
            return [self._push_request_once(each) for each in taken]

    def _push_request_once(self, request: _Request) -> Exception | None:
        while True:
            try:
                return self._store([request])[0]
            except mmapqueue.Full as error:
                if self._on_full != "block" or self._closed:
                    return Full(str(error))
                time.sleep(_FULL_POLL)
            except Exception as error:
                return error

    def _store(self, taken: list[_Request]) -> list[Exception | None]:
        """Pushes those requests whose keys are new: all of them or none. Never waits for room."""
        assert self._keys is not None
        synced = self._synced
        new: dict[bytes, _Request] = {}
        outcomes: list[Exception | None] = []
        with self._keys.locked(durable=synced):
            for each in taken:
                assert each.key is not None
                if each.key in new or self._keys.has(each.key):
                    outcomes.append(_Repeated())
                elif each.gone:
                    outcomes.append(_Gone())
                else:
                    new[each.key] = each
                    outcomes.append(None)
            if new:
                records = [record for each in new.values() for record in each.records]
                self._keys.store(
                    [*new],
                    lambda sequence: self._queue.push_once(PRODUCER, sequence, records, timeout=0, sync=synced),
                    durable=synced,
                )
        return outcomes

    def _answer(self, taken: list[_Request], outcomes: list[Exception | None]) -> None:
        for request, outcome in zip(taken, outcomes, strict=True):
            self._waiting_bytes -= request.size
            records = len(request.records)
            if outcome is None:
                self._failure = None
                request.counted("success", records)
            elif isinstance(outcome, _Repeated):
                outcome = None
                request.counted("repeated", records)
            elif isinstance(outcome, _Gone):
                request.counted("disconnected", records)
            elif isinstance(outcome, mmapqueue.Full):
                if self._on_full == "drop":
                    request.counted("abandoned", records)
                    outcome = None
                else:
                    request.counted("rejected", records)
            else:
                self._note(outcome)
                request.counted("failed", records)
            if request.done.done():  # The client has disconnected.
                continue
            if outcome is None:
                request.done.set_result(None)
            else:
                request.done.set_exception(outcome)
        self._room.set()

    def _note(self, error: Exception) -> None:
        if not isinstance(error, mmapqueue.Full | mmapqueue.TooLarge | mmapqueue.Closed):
            reason = type(error).__name__
            self._failure = time.monotonic(), f"{reason}: {error}"
            self._log.warn(reason, f"events cannot be stored: {reason}: {error}")


class CountedInbox:
    """An inbox with a counter of its own: events of fetchers do not count as received."""

    def __init__(self, inbox: QueueInbox, count: Counted) -> None:
        self.max_event_size = inbox.max_event_size
        self._count = count
        self._inbox = inbox
        self.last_sequence = inbox.last_sequence
        self.producers = inbox.producers
        self.forget = inbox.forget

    @property
    def failure(self) -> str | None:
        """As `QueueInbox.failure`."""
        return self._inbox.failure

    async def put(self, *records: bytes, key: bytes | None = None) -> None:
        """As `mmapqueue.pipeline.plugins.Inbox.put`."""
        await self._inbox.put_counted(records, key, self._count)

    async def put_once(self, producer: str, sequence: int, records: Sequence[bytes]) -> bool:
        """As `mmapqueue.pipeline.plugins.Inbox.put_once`."""
        return await self._inbox.put_once_counted(producer, sequence, records, self._count)
