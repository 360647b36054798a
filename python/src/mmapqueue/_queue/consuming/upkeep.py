"""The thread of this process that works for consumers in the background."""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from contextlib import suppress
from math import inf
from time import monotonic
from typing import NamedTuple, Protocol
from weakref import ref

from mmapqueue._jvm.signals import Shield
from mmapqueue._queue.deadline import Bell
from mmapqueue._values.errors import MmapQueueError
from mmapqueue._values.logs import printing_errors

_LOG = logging.getLogger("mmapqueue")


class Upkept(Protocol):
    """A consumer that the thread works for.

    Attributes:
        name: The consumer's name.
    """

    name: str

    def tidy(self) -> Next:
        """Does what is due.

        Raises:
            MmapQueueError: The JVM does not answer. The next ack wakes the thread again.
        """


class Next(NamedTuple):
    """The next work for a consumer.

    Attributes:
        seconds: The time until then; None when nothing is left to do.
        hold: Whether to keep the consumer until then: acks may be pending, and no ack wakes the thread.
    """

    seconds: float | None
    hold: bool


class Ticket:
    """One consumer among those that the thread works for. The fields are the thread's, but for `owner`.

    Attributes:
        owner: Refers to the consumer; a consumer that the program drops leaves the thread.
        held: The consumer, while acks are pending: they are also sent for a queue that the program drops.
        at: The time of the next work, by `time.monotonic`.
    """

    __slots__ = ("at", "held", "owner")

    def __init__(self, upkeep: Upkeep, owner: Upkept) -> None:
        self.owner = ref(owner, lambda _: upkeep.leave(self))
        self.held: Upkept | None = None
        self.at = inf


class Upkeep:
    """Calls `tidy` of consumers that have asked for it. Safe for any number of threads, and in finalizers.

    The first `wake` starts the thread, and the thread ends when no consumer that has ever woken it is open. `wake` and
    `end` take no lock: both run where a signal handler may interrupt them and call them again.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forgets the thread and all consumers: for a forked child, which has no such thread."""
        self._bell = Bell()
        self._open: set[Ticket] = set()
        self._requests: deque[tuple[Ticket, Upkept, float]] = deque()
        self._thread: threading.Thread | None = None
        # One entry while no thread runs; popping it is atomic.
        self._unstarted: list[None] = [None]

    def join(self, owner: Upkept) -> Ticket:
        """Makes a ticket for a consumer."""
        return Ticket(self, owner)

    def wake(self, ticket: Ticket, seconds: float) -> None:
        """Lets the thread work for a consumer after some time."""
        owner = ticket.owner()
        if owner is None:
            return
        self._open.add(ticket)
        self._requests.append((ticket, owner, monotonic() + seconds))
        self._bell.ring()
        if self._unstarted:
            # After Ctrl-C between the two, no thread would ever start.
            with Shield(), suppress(IndexError):
                self._unstarted.pop()
                try:
                    self._thread = threading.Thread(target=self._run, name="mmapqueue-acks", daemon=True)
                    self._thread.start()
                except BaseException:
                    self._unstarted.append(None)
                    raise

    def leave(self, ticket: Ticket) -> None:
        """Ends the work for a consumer."""
        self._open.discard(ticket)
        ticket.held = None
        self._bell.ring()

    def end(self, ticket: Ticket) -> None:
        """Ends the work for a consumer; if it was the last one, returns when the thread has ended."""
        self.leave(ticket)
        thread = self._thread
        if thread is None or thread is threading.current_thread():
            return
        while not self._open and thread.is_alive():
            thread.join(0.05)

    def _run(self) -> None:
        while True:
            seconds = self._round()
            if self._open:
                self._bell.wait(seconds)
                continue
            self._unstarted.append(None)
            if not self._open:
                return
            # A consumer came in between, and may have started another thread.
            try:
                self._unstarted.pop()
            except IndexError:
                return

    def _round(self) -> float | None:
        """Works for those consumers whose time has come; returns the seconds until the next time."""
        while self._requests:
            ticket, owner, at = self._requests.popleft()
            ticket.held = owner
            ticket.at = min(ticket.at, at)
            del owner
            if ticket not in self._open:
                ticket.held = None
        next_at = inf
        for ticket in list(self._open):
            if ticket.at <= monotonic():
                self._work(ticket)
            next_at = min(next_at, ticket.at)
        return None if next_at is inf else max(0.0, next_at - monotonic())

    def _work(self, ticket: Ticket) -> None:
        owner = ticket.owner()
        ticket.at = inf
        if owner is None:
            return
        try:
            seconds, hold = owner.tidy()
        except MmapQueueError as error:
            with printing_errors():
                _LOG.warning("acks of consumer %s are not sent yet: %s", owner.name, error)
            seconds, hold = None, False
        if seconds is not None:
            ticket.at = monotonic() + seconds
        ticket.held = owner if hold and ticket in self._open else None


UPKEEP = Upkeep()

os.register_at_fork(after_in_child=UPKEEP.reset)
