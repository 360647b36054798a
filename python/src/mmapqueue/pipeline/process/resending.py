"""Sends dead letters again: those of a sender by its requests, those that no sender gets through the pipe's queue."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import mmapqueue
from mmapqueue.pipeline.config import Pipe
from mmapqueue.pipeline.process.letters import Letter, Wanted, opened, popped
from mmapqueue.pipeline.process.senders._client import Client
from mmapqueue.pipeline.process.senders._delivery import Delivered, deliver
from mmapqueue.pipeline.process.senders._network import NetworkSender
from mmapqueue.pipeline.process.senders._requests import Request

#: Bits of a sequence for a dead letter's offset; those above count the commands.
_OFFSET_BITS = 40
_OFFSET_MASK = (1 << _OFFSET_BITS) - 1


class Door(Protocol):
    """A way into a partition of a pipe's queue."""

    def last_sequence(self, producer: str) -> int | None:
        """As `mmapqueue.Queue.last_sequence`."""

    def push_once(self, producer: str, sequence: int, record: bytes) -> None:
        """As `mmapqueue.Queue.push_once` with one record, durably."""


#: Opens a door to a partition of a pipe's queue.
OpenDoor = Callable[[Pipe, int], AbstractContextManager[Door]]


class Left(NamedTuple):
    """Why dead letters stay where they are.

    Attributes:
        pipe: The pipe.
        sender: The sender; empty for what no sender gets.
        reason: The new reason.
    """

    pipe: str
    sender: str
    reason: str


@dataclass
class Outcome:
    """What became of dead letters.

    Attributes:
        sent: The number of those that were sent or pushed, by pipe and sender.
        left: The number of those that were selected and stay, by pipe, sender and reason.
    """

    sent: Counter[tuple[str, str]] = field(default_factory=Counter)
    left: Counter[Left] = field(default_factory=Counter)


class Resender:
    """Sends the dead letters of one queue again. For one thread.

    A dead letter is acked after the receiver has taken it, so a kill in between sends it again, with the same
    idempotency key. A push into the pipe's queue is one of an idempotent producer: a kill repeats nothing.

    Args:
        queue: The dead-letter queue, opened to read.
        identity: Its identity.
        pipes: The pipes whose dead letters it has, by name.
        door: Opens the way into a pipe's queue.
        outcome: Gets what becomes of each dead letter.
    """

    def __init__(
        self,
        queue: mmapqueue.Queue[bytes],
        identity: str,
        pipes: Mapping[str, Pipe],
        door: OpenDoor,
        outcome: Outcome,
    ) -> None:
        self._queue = queue
        self._identity = identity
        self._pipes = pipes
        self._door = door
        self._outcome = outcome
        self._clients: dict[tuple[str, str], Client] = {}
        #: Senders whose receivers do not answer, with the error.
        self._outages: dict[tuple[str, str], str] = {}

    def run(self, wanted: Wanted) -> None:
        """Sends the selected dead letters that the queue has now, one after the other; the others stay.

        Raises:
            mmapqueue.Locked: Another process sends dead letters of this queue again.
        """
        end = self._queue.end_offset()
        with opened(self._queue) as consumer:
            with contextlib.ExitStack() as doors:
                self._push_all(consumer, wanted, end, doors)
            asyncio.run(self._send_all(consumer, wanted, end))

    # ---- what no sender gets

    def _push_all(
        self, consumer: mmapqueue.Consumer[bytes], wanted: Wanted, end: int, doors: contextlib.ExitStack
    ) -> None:
        targets = {self._target(letter) for letter in popped(consumer, end) if wanted.has(letter)}
        pushers: dict[tuple[str, int] | None, _Pusher] = {
            at: _Pusher(doors.enter_context(self._door(self._pipes[at[0]], at[1])), f"resend-{self._identity}")
            for at in targets
            if at is not None
        }

        def done(letter: Letter) -> None:
            consumer.ack_many([letter.position])
            self._outcome.sent[letter.pipe, ""] += 1

        # First what an earlier command has pushed and not acked: the next push replaces the sequence that shows it.
        for letter in popped(consumer, max((each.last for each in pushers.values()), default=-1) + 1):
            pusher = pushers.get(self._target(letter))
            if pusher is not None and pusher.last == letter.position:
                done(letter)
        for letter in popped(consumer, end if pushers else 0):
            pusher = pushers.get(self._target(letter))
            if pusher is not None and wanted.has(letter):
                pusher.push(letter)
                done(letter)

    def _target(self, letter: Letter) -> tuple[str, int] | None:
        """The pipe and the partition through whose queue a dead letter goes; None for one of a sender."""
        return None if letter.sender or letter.pipe not in self._pipes else (letter.pipe, letter.partition)

    # ---- what a sender has not sent

    async def _send_all(self, consumer: mmapqueue.Consumer[bytes], wanted: Wanted, end: int) -> None:
        try:
            for letter in popped(consumer, end):
                if not wanted.has(letter) or self._target(letter) is not None:
                    continue
                reason = await self._send(letter)
                if reason is None:
                    consumer.ack_many([letter.position])
                    self._outcome.sent[letter.pipe, letter.sender] += 1
                else:
                    self._outcome.left[Left(letter.pipe, letter.sender, reason)] += 1
        finally:
            for client in self._clients.values():
                await client.close()

    async def _send(self, letter: Letter) -> str | None:
        """Sends a dead letter; returns why that has failed."""
        pipe = self._pipes.get(letter.pipe)
        if pipe is None:
            return f"the pipe {letter.pipe} is not in the file"
        name = pipe.name, letter.sender
        if name in self._outages:
            return f"an outage; no further dead letter of this sender was tried: {self._outages[name]}"
        sender = next((each for each in pipe.senders if each.name == letter.sender), None)
        if sender is None:
            return f"the pipe has no sender {letter.sender} any more"
        if not isinstance(sender, NetworkSender):
            return f"a sender of type {sender.type} cannot send single rows"
        row = letter.row(self._identity)
        missing = sorted(set(sender.columns()) - set(row) - {"time"})
        if missing:
            return f"dead letters have no column {', '.join(missing)}"
        # One dead letter a request: one that is refused again keeps no other one back, and its key is its own.
        request = Request(self._identity, 0, sender.route(row), [row])
        if name not in self._clients:
            self._clients[name] = sender.client()
        send = functools.partial(self._clients[name].send, request.route, request.rows, request.key)
        retry = sender.retry.model_copy(update={"then": "dead_letter"})
        outcome = await deliver(send, retry, request.key, hold=float("inf"))
        if isinstance(outcome, Delivered):
            return None
        if outcome.error.retryable:
            self._outages[name] = outcome.error.reason
        return outcome.error.reason


class _Pusher:
    """Pushes dead letters once each: a sequence is the number of the command and the dead letter's offset.

    Attributes:
        last: The offset of the last dead letter that an earlier command has pushed; -1 for none.
    """

    def __init__(self, door: Door, producer: str) -> None:
        self._door = door
        self._producer = producer
        sequence = door.last_sequence(producer)
        self.last = -1 if sequence is None else (sequence & _OFFSET_MASK) - 1
        self._command = 0 if sequence is None else (sequence >> _OFFSET_BITS) + 1

    def push(self, letter: Letter) -> None:
        """Pushes the record of a dead letter, durably. Offsets must rise."""
        self._door.push_once(self._producer, self._command << _OFFSET_BITS | letter.position + 1, letter.record())
