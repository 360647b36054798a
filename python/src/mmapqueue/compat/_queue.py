"""The interface of `queue.Queue`, on the disk: put and get."""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from time import monotonic
from typing import Any, Literal, TypeVar, overload

import mmapqueue
from mmapqueue._values.annotations import SparkContext, SparkSession, Unpack
from mmapqueue._values.arguments import block_flag, whole
from mmapqueue._values.closing import Closing
from mmapqueue._values.configuration import Configuration, check_keywords
from mmapqueue._values.durations import Duration, seconds
from mmapqueue._values.errors import ShutDown
from mmapqueue._values.serializers import Serializer, serializer_of
from mmapqueue.compat._tasks import POLL_SECONDS, Tasks

T = TypeVar("T")

#: Arguments of `Queue` that an unknown key may have been meant for.
_ARGUMENTS = ("maxsize", "path", "serializer", "auto_ack", "spark", "consumer", "lock_timeout")

_logger = logging.getLogger("mmapqueue")


class Queue(Tasks[T], Closing):
    """A first-in-first-out queue of objects in a directory, with the interface of the standard `queue.Queue`.

    After `put` returns, the item survives a kill of this process; after `flush`, or within flush_period, also a loss of
    power. Items that were got and not marked done are redelivered after the next open: delivery is at least once.

        from mmapqueue.compat import Queue

        jobs = Queue(maxsize=1000, path="jobs")  # was: Queue(maxsize=1000)
        jobs.put("one")
        item = jobs.get()
        jobs.task_done()

    `task_done` acks the first item that this thread got and has not marked done. A thread that got none marks one of
    other threads' items as done; since it is unknown which one, these items are acked when all items that were got are
    done. When one thread gets an item and another handles it, call `ack(item)` instead: it acks this item at once.
    Items that are never marked done fill the queue: with auto_ack, `get` acks them.

    Differences from `queue.Queue`: `get` returns a copy of the item. The directory has a fixed capacity in bytes (the
    key `capacity`), so `put` may also wait, or raise Full, when it is full. `shutdown(immediate=True)` deletes no item.
    One process has the directory open at a time.

    Safe for any number of threads. A context manager that closes itself. Subclasses may override `_put` and `_get`,
    which are called with `mutex` held, as those of `queue.Queue`.

    Attributes:
        path: The directory, absolute.
        maxsize: The number of items that may wait to be got; 0 or less for no limit but the capacity. May be changed.
    """

    @overload
    def __init__(
        self: Queue[Any],
        maxsize: int = ...,
        *,
        path: str | os.PathLike[str],
        serializer: Literal["json", "msgpack", "pickle"] = ...,
        auto_ack: bool = ...,
        spark: SparkSession | SparkContext | None = ...,
        consumer: str = ...,
        lock_timeout: Duration = ...,
        **configuration: Unpack[Configuration],
    ) -> None: ...

    @overload
    def __init__(
        self,
        maxsize: int = ...,
        *,
        path: str | os.PathLike[str],
        serializer: Serializer[T],
        auto_ack: bool = ...,
        spark: SparkSession | SparkContext | None = ...,
        consumer: str = ...,
        lock_timeout: Duration = ...,
        **configuration: Unpack[Configuration],
    ) -> None: ...

    def __init__(
        self,
        maxsize: int = 0,
        *,
        path: str | os.PathLike[str],
        serializer: str | Serializer[T] = "json",
        auto_ack: bool = False,
        spark: SparkSession | SparkContext | None = None,
        consumer: str = "default",
        lock_timeout: Duration = 5.0,
        **configuration: Unpack[Configuration],
    ) -> None:
        """Opens the queue in a directory; creates a new one if none exists. Items of earlier processes are in it.

        Args:
            maxsize: The number of items that may wait to be got; 0 or less for no limit but the capacity.
            path: The directory, created if missing; "~" is the home of this process's user.
            serializer: "json", "msgpack", "pickle", or an object with dumps and loads, such as a module. JSON has no
                tuples (they come back as lists), no keys but str, no bytes, NaN or infinity. Loading a pickle can run
                any code: use "pickle" only where no one else can write the directory's files.
            auto_ack: Whether `get` acks: for programs that do not call `task_done`. If the process is killed, an item
                that it was handling is lost.
            spark: As of `mmapqueue.Queue`.
            consumer: The name of the consumer that gets the items; this process owns it until `close`.
            lock_timeout: As of `mmapqueue.Queue`.
            **configuration: The keys of `mmapqueue.Configuration`: above all `capacity="1g"`.

        Raises:
            ConfigError: The serializer is unknown, or a value is out of range or not the one that the directory has.
            ImportError: serializer="msgpack" without the package msgpack.
            Locked: Another process has the directory open, or owns the consumer.
            TypeError: maxsize is not an int, the serializer is not an object with dumps and loads, or a key is unknown.
            MmapQueueError: As from `mmapqueue.Queue`.
        """
        size = whole("maxsize", maxsize)
        check_keywords("Queue", configuration, _ARGUMENTS)
        self._codec = serializer_of(serializer)
        self._queue = mmapqueue.Queue(path, spark=spark, consumer=consumer, lock_timeout=lock_timeout, **configuration)
        try:
            super().__init__(size)
            self._consumer = self._queue.consumer(consumer)
        except BaseException:
            self._queue.close()
            raise
        self.path = self._queue.path
        self.is_shutdown = False
        self._discarded = False
        self._auto_ack = auto_ack
        # A record that was popped, but not got in the end.
        self._undelivered: deque[mmapqueue.Message] = deque()
        # The item that `_put` stores and `_get` returns while `mutex` is held, since serializers run without it.
        self._given: tuple[T, bytes] | None = None
        self._taken: list[T] = []
        self._warned = False

    # ---- putting

    def put(self, item: T, block: bool = True, timeout: Duration | None = None) -> None:
        """Puts an item into the queue, and into the files.

        Args:
            item: Any object that the serializer takes.
            block: Whether to wait while maxsize items wait to be got, or the directory is full.
            timeout: The maximum time to wait: seconds, a timedelta, or a string such as "500ms"; None for no limit.

        Raises:
            Full: There was no room in time.
            ShutDown: The queue was shut down or closed.
            TooLarge: The item's bytes are more than max_event_size.
            ValueError: The timeout is negative.
            TypeError: `block` is neither a bool nor 0 or 1: a time is `timeout`.
            Exception: What the serializer raises: `TypeError` for an object that JSON lacks.
        """
        end = _end_of(block, timeout)
        record = self._codec.dumps(item)
        with self.not_full:
            while True:
                if self.is_shutdown:
                    raise self._shut_down()
                full = self._try_put(item, record)
                if full is None:
                    break
                _wait(self.not_full, end, full)
            self.not_empty.notify()

    def _try_put(self, item: T, record: bytes) -> mmapqueue.Full | None:
        """Puts an item; returns the reason if it has no room."""
        if 0 < self.maxsize <= self._qsize():
            return mmapqueue.Full(f"the queue in {self.path} is full: maxsize = {self.maxsize} items wait to be got")
        self._given = (item, record)
        try:
            self._put(item)
        except mmapqueue.Full as error:
            if not self._qsize():
                self._warn_once()
            return error
        finally:
            self._given = None
        return None

    def _put(self, item: T) -> None:
        given = self._given
        # A subclass may put another object.
        record = given[1] if given is not None and given[0] is item else self._codec.dumps(item)
        self._queue.push(record, block=False)

    # ---- getting

    def get(self, block: bool = True, timeout: Duration | None = None) -> T:
        """Gets the first item. It stays in the files until it is marked done with `task_done` or `ack`.

        Args:
            block: Whether to wait for an item.
            timeout: The maximum time to wait: seconds, a timedelta, or a string such as "500ms"; None for no limit.

        Returns:
            The item, as the serializer loads it.

        Raises:
            Empty: There was no item in time.
            ShutDown: The queue was shut down and is empty, or was shut down immediately or closed.
            Undecodable: The serializer cannot load the record. It counts as got: `task_done` in this thread, or `ack`
                with this error, drops it; else it is redelivered after the next open.
            UnackedLimit: max_unacked items are in flight, and none was marked done in time.
            Corrupt: The record is damaged.
            ValueError: The timeout is negative.
            TypeError: `block` is neither a bool nor 0 or 1: a time is `timeout`.
        """
        end = _end_of(block, timeout)
        got: list[mmapqueue.Message] = []
        try:
            message = self._next_message(end, got)
            item = self._loaded(message)
            with self.mutex:
                item = self._got(item)
                if not self._auto_ack:
                    self._in_flight.add(message.offset, item)
                self.not_full.notify()
            if self._auto_ack:
                # The message, whose ack lingers: after Ctrl-C within a call of the JVM the record would be acked.
                self._consumer.ack(message)
        except mmapqueue.Undecodable as error:
            with self.mutex:
                self._in_flight.add(message.offset, error)
            raise
        except BaseException:
            if got:
                with self.mutex:
                    self._in_flight.forget(got[0].offset)
                    self._undelivered.appendleft(got[0])
                    self._tasks -= 1
                    self.not_empty.notify()
            raise
        return item

    def _next_message(self, end: float | None, got: list[mmapqueue.Message]) -> mmapqueue.Message:
        """Waits for a record, which counts as got from then on: `got` has it, also after an exception."""
        with self.not_empty:
            while True:
                message, limit = None, None
                try:
                    message = self._popped()
                except mmapqueue.UnackedLimit as error:
                    limit = error
                    self._warn_once()
                # No call in between: Ctrl-C takes effect at calls.
                if message is not None:
                    self._tasks += 1
                    got.append(message)
                    return message
                if self.is_shutdown and not self._qsize():
                    raise self._shut_down()
                _wait(self.not_empty, end, limit or mmapqueue.Empty(f"the queue in {self.path} is empty"))

    def _popped(self) -> mmapqueue.Message | None:
        if self._discarded:
            return None
        if self._undelivered:
            return self._undelivered.popleft()
        try:
            return self._consumer.pop(block=False)
        except mmapqueue.Empty:
            return None

    def _loaded(self, message: mmapqueue.Message) -> T:
        try:
            item: T = self._codec.loads(message.data)
        except Exception as error:
            undecodable = mmapqueue.Undecodable(
                f"the record at offset {message.offset} of the queue in {self.path} is not what the serializer "
                f"{self._codec.name} can load: {error}"
            )
            undecodable.offset = message.offset
            raise undecodable from error
        return item

    def _got(self, item: T) -> T:
        """The item, as `_get` returns it."""
        # A signal handler may get another one in between.
        before, self._taken = self._taken, [item]
        try:
            return self._get()
        finally:
            self._taken = before

    def _get(self) -> T:
        return self._taken.pop()

    # ---- the queue as a whole

    def _init(self, maxsize: int) -> None:
        """Does nothing: the items are in the directory."""

    def _qsize(self) -> int:
        return 0 if self._discarded else len(self._undelivered) + self._consumer.qsize()

    @property
    def size(self) -> int:
        """The number of items that wait to be got, as `qsize` returns it and as persist-queue names it."""
        return self.qsize()

    def __len__(self) -> int:
        """The number of items that wait to be got."""
        return self.qsize()

    def __bool__(self) -> bool:
        """True, also for an empty queue, as `queue.Queue`."""
        return True

    def flush(self) -> None:
        """Makes all earlier puts and acks durable.

        Raises:
            Poisoned: An fsync has failed.
            Closed: The queue is closed.
        """
        self._queue.flush()

    # ---- the end

    def shutdown(self, immediate: bool = False) -> None:
        """Shuts the queue down: `put` raises ShutDown from now on, `get` as soon as the queue is empty.

        Args:
            immediate: Whether `get` raises at once, and `join` no longer waits for items that were not got. These items
                stay in the directory, and are delivered after the next open.
        """
        with self.mutex:
            self.is_shutdown = True
            if immediate:
                self._discarded = True
                self.all_tasks_done.notify_all()
            self.not_empty.notify_all()
            self.not_full.notify_all()

    def close(self) -> None:
        """Shuts the queue down immediately, and closes the directory. Idempotent.

        Items that were not got, and those that were got and not marked done, are delivered after the next open.
        """
        self.shutdown(immediate=True)
        self._queue.close()

    @property
    def closed(self) -> bool:
        """Whether the queue has been closed."""
        return self._queue.closed

    def __repr__(self) -> str:
        return f"<mmapqueue.compat.Queue {self.path!r}{' (closed)' if self.closed else ''}>"

    def _shut_down(self) -> ShutDown:
        return ShutDown(f"the queue in {self.path} was shut down")

    def _warn_once(self) -> None:
        """Warns that items in flight fill the queue. Called without the lock: a log handler may put into this queue."""
        if self._warned:
            return
        self._warned = True
        self.mutex.release()
        try:
            _logger.warning(
                "the queue in %s is full of items that were got and not marked as done: call task_done() in the thread "
                "that got the item, or ack(item), or open the queue with auto_ack=True",
                self.path,
            )
        finally:
            self.mutex.acquire()


def _end_of(block: object, timeout: Duration | None) -> float | None:
    """The end of the wait, by the monotonic clock; None for none."""
    # The standard library takes any object; programs use 0 and 1.
    if not block_flag(bool(block) if type(block) is int and block in (0, 1) else block):
        return 0.0
    if timeout is None:
        return None
    return monotonic() + seconds("timeout", timeout)


def _wait(condition: threading.Condition, end: float | None, error: Exception) -> None:
    """Waits for a notification, a moment at most; raises the error once no time is left."""
    remaining = POLL_SECONDS if end is None else end - monotonic()
    if remaining <= 0:
        raise error
    condition.wait(min(remaining, POLL_SECONDS))
