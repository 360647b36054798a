"""Counts and acks the items that were got."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import TypeVar

import mmapqueue
from mmapqueue._values.durations import Duration, seconds
from mmapqueue.compat._in_flight import Delivery, InFlight

T = TypeVar("T")

#: Seconds after which waiting threads notice changes by other handles of the directory.
POLL_SECONDS = 0.2


class Mutex(type(threading.RLock())):  # type: ignore[misc]
    """A lock that a thread may take again: a signal handler may use the queue that this thread calls."""

    def locked(self) -> bool:
        """As of the lock that the standard queue has."""
        if self._is_owned():
            return True
        free: bool = self.acquire(blocking=False)
        if free:
            self.release()
        return not free


class Tasks(queue.Queue[T]):
    """The half of a queue that marks items as done."""

    _auto_ack: bool
    _consumer: mmapqueue.Consumer

    def __init__(self, maxsize: int) -> None:
        super().__init__(maxsize)
        self.mutex = Mutex()
        self.not_empty, self.not_full, self.all_tasks_done = (threading.Condition(self.mutex) for _ in range(3))
        self._in_flight: InFlight[T | mmapqueue.Undecodable] = InFlight()
        # Number of items that were got and not marked done; and of acks that have not returned.
        self._tasks = 0
        self._acking = 0

    def task_done(self) -> None:
        """Marks an item as done, and acks it: the first item that this thread got and has not marked.

        In a thread that has none, it counts for the items of other threads: see the class.

        Raises:
            ValueError: All items that were got are marked already.
            Closed: The queue was closed. The item is redelivered after the next open.
        """
        with self.mutex:
            if not self._tasks:
                raise ValueError("task_done() called too many times: all items that were got are marked as done")
            self._begin_marking()
            done: list[Delivery[T | mmapqueue.Undecodable]] = []
            if not self._auto_ack:
                if not self._tasks:
                    done = self._in_flight.take_all()
                elif (own := self._in_flight.take_own()) is not None:
                    done = [own]
        self._end_marking(lambda: self._consumer.ack_many([delivery.offset for delivery in done]))

    def ack(self, item: T | mmapqueue.Undecodable) -> None:
        """Marks this item as done, whichever thread got it, and acks it: in place of `task_done`.

        Args:
            item: The object that `get` returned, itself, or the Undecodable that it raised.

        Raises:
            ValueError: `get` has not returned this object, or the item is already marked, or the queue has auto_ack.
            Closed: The queue was closed. The item is redelivered after the next open.
        """
        offset = self._mark("ack", item)
        self._end_marking(lambda: self._consumer.ack(offset))

    def nack(self, item: T | mmapqueue.Undecodable, *, delay: Duration = 0.0) -> None:
        """Requeues this item, whichever thread got it: a later `get` returns it again.

        With max_attempts and dead_letter_dir set, an item with its attempts used up is dead-lettered instead.

        Args:
            item: The object that `get` returned, itself, or the Undecodable that it raised.
            delay: The delay of redelivery: seconds, a timedelta, or a string such as "500ms".

        Raises:
            ValueError: As from `ack`; or the delay is negative.
            Closed: The queue was closed. The item is redelivered after the next open.
        """
        lasts = seconds("delay", delay)
        offset = self._mark("nack", item)
        self._end_marking(lambda: self._consumer.nack(offset, delay=lasts))

    def _mark(self, what: str, item: T | mmapqueue.Undecodable) -> int:
        """Begins to mark an item; returns the item's offset."""
        with self.mutex:
            found = self._in_flight.take(item)
            if found is None:
                raise ValueError(
                    f"{what} of an item that is not in flight: it is the object that get() returned, until it is "
                    "marked as done"
                )
            self._begin_marking()
        return found.offset

    def _begin_marking(self) -> None:
        self._tasks -= 1
        self._acking += 1

    def _end_marking(self, mark: Callable[[], None]) -> None:
        """Calls the consumer without the lock; `join` returns after that."""
        try:
            mark()
        finally:
            with self.mutex:
                self._acking -= 1
                self.not_full.notify()
                self.not_empty.notify()
                if not self._tasks and not self._acking:
                    self.all_tasks_done.notify_all()

    @property
    def unfinished_tasks(self) -> int:
        """The number of items in the queue, plus those that were got and not marked done."""
        return self._qsize() + self._tasks + self._acking

    @unfinished_tasks.setter
    def unfinished_tasks(self, count: int) -> None:
        """Does nothing: the base class sets 0 at first, but the items of the directory count here."""

    def join(self) -> None:
        """Waits until all items were got and marked as done, those of earlier processes included."""
        with self.all_tasks_done:
            while self.unfinished_tasks:
                self.all_tasks_done.wait(POLL_SECONDS)
