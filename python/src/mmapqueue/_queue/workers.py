"""A handler in several threads.

The thread that was called pops and acks; the workers take records one by one and touch no queue, so that one whose
handler is slow holds nothing but its own record. The caller's thread goes in steps of a fraction of a second with the
shield up, and hears of Ctrl-C between two of them.

What keeps it from ending is progress: a record that no handler has failed for in this call, or a handler that returns.
A record that comes again and fails again is none, so that one that always fails does not keep it going for ever.
"""

import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable

from mmapqueue._jvm.signals import Shield
from mmapqueue._queue.handle import Waiting
from mmapqueue._queue.pop_buffer import Batch
from mmapqueue._queue.popper import Popper
from mmapqueue._values.errors import MmapQueueError, OutOfRange, UnackedLimit
from mmapqueue._values.message import Message

_LOG = logging.getLogger("mmapqueue")

#: How long a step waits: with nothing to do, and with handlers under way, whose acks should not wait long.
_IDLE_SECONDS = 0.2
_STEP_SECONDS = 0.05
#: How long a record is away after the first failure, in µs, if not said; after each further one twice as long.
_FIRST_RETRY = 100_000
_LONGEST_RETRY = 60_000_000
#: Doubled so often it is longer than the longest.
_MOST_DOUBLED = 10


class Workers:
    """One call of `Consumer.consume` with a handler."""

    def __init__(
        self,
        popper: Popper,
        handler: Callable[[Message], object],
        workers: int,
        retry_micros: int | None,
        max_records: int,
        max_bytes: int,
    ) -> None:
        self._popper = popper
        self._handler = handler
        self._retry_micros = retry_micros
        self._max_records = max_records
        self._max_bytes = max_bytes
        self._threads = [
            threading.Thread(target=self._work, name=f"mmapqueue-worker-{number}", daemon=True)
            for number in range(workers)
        ]
        # Guards all below, and says that it has changed.
        self._changed = threading.Condition()
        self._waiting: deque[tuple[Batch, Message]] = deque()
        self._busy = 0
        self._busy_new = 0
        self._handled = 0
        # What handlers have failed for in this call, and has not been handled since.
        self._failing: set[int] = set()
        self._max_attempts = int(popper.opened.config["max_attempts"])
        # What to ack, and what to give back.
        self._done: list[tuple[Batch, Message]] = []
        self._failed: list[tuple[Batch, Message, int]] = []
        # What a handler has raised that is not for retrying.
        self._broken: BaseException | None = None
        self._stopping = False
        # The caller does not wait for the workers any more: each settles its record itself.
        self._alone = False

    def run(self, timeout: float | None) -> int:
        """Handles records until none has come for so many seconds; how many were handled."""
        self._popper.check()
        try:
            for thread in self._threads:
                thread.start()
            self._feed(timeout)
            self._stop()
        except BaseException:
            # What is raised already is what the caller must hear of.
            with contextlib.suppress(MmapQueueError):
                self._stop()
            raise
        if self._broken is not None:
            raise self._broken
        return self._handled

    def _feed(self, timeout: float | None) -> None:
        idle = Waiting(True, timeout)
        while True:
            with Shield():
                came, last = self._step(idle)
            if last:
                return
            if came:
                idle = Waiting(True, timeout)

    def _step(self, idle: Waiting) -> tuple[bool, bool]:
        """Settles what is done and pops what there is room for; whether there was progress, and whether to end."""
        with self._changed:
            if self._has_enough():
                self._changed.wait(_STEP_SECONDS)
            if self._broken is not None:
                return False, True
            enough = self._has_enough()
            room = self._max_records - len(self._waiting)
            # Before the settling: what ends during it is for the next step.
            under_way = bool(self._waiting or self._busy)
            progress = any(self._is_new(message) for _, message in self._waiting) or self._busy_new > 0
        progress |= self._settle()
        if enough:
            return progress, False
        if under_way and not progress and idle.is_over():
            # Only repetitions: they are waited for, and no more of them are begun.
            with self._changed:
                if self._waiting or self._busy:
                    self._changed.wait(_STEP_SECONDS)
            return False, False
        seconds = _STEP_SECONDS if under_way else idle.seconds(_IDLE_SECONDS)
        try:
            batch = self._popper.take(room, self._max_bytes, Waiting(True, seconds))
        except UnackedLimit:
            # Acks of what is under way, here or elsewhere, will let it go on.
            if not (under_way or progress) and idle.is_over():
                raise
            return progress, False
        if batch.messages:
            with self._changed:
                self._waiting.extend((batch, message) for message in batch.messages)
                progress |= any(map(self._is_new, batch.messages))
                self._changed.notify_all()
        return progress, not (under_way or progress) and idle.is_over()

    def _is_new(self, message: Message) -> bool:
        """Whether no handler has failed for it in this call. For callers that hold the lock."""
        return message.offset not in self._failing

    def _has_enough(self) -> bool:
        return 2 * len(self._waiting) > self._max_records

    def _work(self) -> None:
        """What each worker does."""
        while True:
            with self._changed:
                while not self._waiting and not self._stopping:
                    self._changed.wait()
                if self._stopping:
                    return
                item = self._waiting.popleft()
                if self._popper.is_void(item[0]):
                    continue
                new = self._is_new(item[1])
                self._busy += 1
                self._busy_new += new
            failed, broken, delay = False, None, 0
            try:
                self._handler(item[1])
            except Exception:
                failed = True
                delay = self._retry_delay(item[1])
                self._log(item[1])
            except BaseException as error:
                failed, broken = True, error
            with self._changed:
                self._busy -= 1
                self._busy_new -= new
                if failed:
                    self._failed.append((*item, delay))
                else:
                    self._done.append(item)
                self._handled += not failed
                if broken is not None:
                    self._broken = self._broken or broken
                    self._stopping = True
                if self._stopping or not self._has_enough():
                    self._changed.notify_all()
                alone = self._alone
            if alone:
                self._settle_alone()

    def _settle(self) -> bool:
        """Acks what is done and gives back what has failed; whether anything was done."""
        with self._changed:
            done, self._done = self._done, []
            failed, self._failed = self._failed, []
            self._failing.difference_update(message.offset for _, message in done)
            self._failing.update(message.offset for _, message, _ in failed if not self._is_last(message))
        self._ack([message.offset for batch, message in done if batch.home is self._popper.returned])
        for batch, message, delay in failed:
            if batch.home is self._popper.returned:
                self._nack(message.offset, delay)
        return bool(done)

    def _ack(self, offsets: list[int]) -> None:
        if not offsets:
            return
        try:
            self._popper.ack_many(offsets)
        except OutOfRange as error:
            # The consumer was moved in this moment, or somebody else has settled one of them: it counts alone.
            if len(offsets) == 1:
                _LOG.debug("not acked: %s", error)
                return
            for offset in offsets:
                self._ack([offset])

    def _nack(self, offset: int, delay: int) -> None:
        try:
            self._popper.ask("nack", offset, delay)
        except OutOfRange as error:
            # It was away for longer than visibility_timeout, and is given back already.
            _LOG.debug("not given back: %s", error)

    def _retry_delay(self, message: Message) -> int:
        """How long a record is away that a handler has failed for, in µs."""
        if self._retry_micros is not None:
            return self._retry_micros
        doubled = min(max(0, message.attempts - 1), _MOST_DOUBLED)
        return min(_FIRST_RETRY << doubled, _LONGEST_RETRY)

    def _is_last(self, message: Message) -> bool:
        """Whether the record does not come again when this attempt fails."""
        return 0 < self._max_attempts <= message.attempts

    def _log(self, message: Message) -> None:
        """Logs what a handler has just raised."""
        if self._is_last(message):
            what = "it goes to dead_letter_dir"
        else:
            what = f"it comes again in {self._retry_delay(message) / 1e6:g} s"
        _LOG.exception(
            "the handler failed for the record at offset %d, at attempt %d of consumer %s: %s",
            message.offset,
            message.attempts,
            self._popper.name,
            what,
        )

    def _settle_alone(self) -> None:
        try:
            self._settle()
        except MmapQueueError as error:
            _LOG.warning("a record was handled that could not be acked: %s", error)

    def _stop(self) -> None:
        """Gives back what nobody has begun, waits for what somebody has, and settles that."""
        try:
            with Shield():
                self._give_back()
            for thread in self._threads:
                while thread.is_alive():
                    with Shield():
                        thread.join(_IDLE_SECONDS)
        except BaseException:
            with self._changed:
                self._alone = True
            raise
        finally:
            with Shield():
                self._settle()

    def _give_back(self) -> None:
        with self._changed:
            self._stopping = True
            while self._waiting:
                batch, message = self._waiting.pop()
                batch.home.put_first([message], batch.until)
            self._changed.notify_all()
