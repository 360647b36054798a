"""A handler in several threads.

The caller's thread pops and acks. Workers take records one by one and never access the queue: a slow handler keeps only
its own record. The caller's thread works in steps of a fraction of a second, each within a Shield; Ctrl-C takes effect
between two steps.

The call continues while it makes progress: a record that no handler has failed for in this call, or a handler that
returns. A redelivered record that fails again is not progress, so a record that always fails cannot keep the call
running.
"""

import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable

from mmapqueue._jvm.signals import Shield
from mmapqueue._queue.consuming.delivery import Batch
from mmapqueue._queue.consuming.popper import Popper
from mmapqueue._queue.deadline import Deadline
from mmapqueue._values.durations import Duration, delay_micros, retry_seconds
from mmapqueue._values.errors import MmapQueueError, OutOfRange, UnackedLimit
from mmapqueue._values.functions import unfinished
from mmapqueue._values.logs import printing_errors
from mmapqueue._values.message import AnyMessage

_LOG = logging.getLogger("mmapqueue")

#: The maximum wait of a step in seconds, without work and with running handlers. Acks of the latter must not wait long.
_IDLE_SECONDS = 0.2
_STEP_SECONDS = 0.05
#: What to write in place of an async handler.
ASYNC_HANDLER = "under asyncio, use `async for message in queue.aconsume(): …`"


class Workers:
    """One call of `process`."""

    def __init__(
        self,
        popper: Popper,
        handler: Callable[[AnyMessage], object],
        workers: int,
        retry_micros: int | None,
        max_records: int,
        max_bytes: int,
        max_attempts: int,
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
        # Guards the fields below, and signals their changes.
        self._changed = threading.Condition()
        self._waiting: deque[tuple[Batch, AnyMessage]] = deque()
        self._busy = 0
        self._busy_new = 0
        self._handled = 0
        # Offsets that handlers have failed for in this call, and have not handled since.
        self._failing: set[int] = set()
        self._max_attempts = max_attempts
        # Handled records, and those for which handlers have failed, each with whether the handler has answered for it:
        # acked, nacked or released it. Another caller may have such a record already, so this one leaves it alone.
        self._done: list[tuple[Batch, AnyMessage, bool]] = []
        self._failed: list[tuple[Batch, AnyMessage, bool, int]] = []
        # The exception that ends the call: SystemExit of a handler, or the error for an async one.
        self._broken: BaseException | None = None
        self._stopping = False
        # Whether the caller waits no longer, so that each worker acks or nacks its own record.
        self._detached = False

    def run(self, timeout: Duration | None) -> int:
        """Handles records until no pop finds one within `timeout`. Returns the number of handled records."""
        self._popper.check()
        held = self._popper.delivery.held
        try:
            held[self] = self
            for thread in self._threads:
                thread.start()
            self._pop_until_idle(timeout)
            self._stop()
        except BaseException:
            # The first error is the one that is raised.
            with contextlib.suppress(MmapQueueError):
                self._stop()
            raise
        finally:
            held.pop(self, None)
        if self._broken is not None:
            raise self._broken
        return self._handled

    def put_back(self) -> None:
        """Puts back the records that no worker has begun."""
        with self._changed:
            self._put_back_waiting()

    def _pop_until_idle(self, timeout: Duration | None) -> None:
        idle = Deadline(timeout)
        while True:
            with Shield():
                came, last = self._step(idle)
            if last:
                return
            if came:
                idle = Deadline(timeout)

    def _step(self, idle: Deadline) -> tuple[bool, bool]:
        """Acks, nacks, and pops while there is room; returns whether it made progress, and whether to end."""
        with self._changed:
            if self._has_enough():
                self._changed.wait(_STEP_SECONDS)
            if self._broken is not None:
                return False, True
            enough = self._has_enough()
            room = self._max_records - len(self._waiting)
            # Loaded before the acks: a handler that ends during them counts in the next step.
            running = bool(self._waiting or self._busy)
            progress = any(self._is_new(message) for _, message in self._waiting) or self._busy_new > 0
        progress |= self._ack_and_nack()
        if enough:
            return progress, False
        if running and not progress and idle.has_passed():
            # Only redelivered records are being handled: wait for them, and begin no others.
            with self._changed:
                if self._waiting or self._busy:
                    self._changed.wait(_STEP_SECONDS)
            return False, False
        seconds = _STEP_SECONDS if running else idle.seconds(_IDLE_SECONDS)
        try:
            batch = self._popper.pop_batch(room, self._max_bytes, Deadline(seconds))
        except UnackedLimit:
            # Acks of running handlers, or of other threads, will make pops possible.
            if not (running or progress) and idle.has_passed():
                raise
            return progress, False
        if batch.messages:
            with self._changed:
                self._waiting.extend((batch, message) for message in batch.messages)
                progress |= any(map(self._is_new, batch.messages))
                self._changed.notify_all()
        return progress, not (running or progress) and idle.has_passed()

    def _is_new(self, message: AnyMessage) -> bool:
        """Whether no handler has failed for the record in this call. The caller holds the lock."""
        return message.offset not in self._failing

    def _has_enough(self) -> bool:
        return 2 * len(self._waiting) > self._max_records

    def _work(self) -> None:
        """The loop of a worker."""
        while True:
            with self._changed:
                while not self._waiting and not self._stopping:
                    self._changed.wait()
                if self._stopping:
                    return
                item = self._waiting.popleft()
                if self._popper.delivery.is_stale(item[0]):
                    continue
                new = self._is_new(item[1])
                self._busy += 1
                self._busy_new += new
            failed, delay = False, 0
            broken: BaseException | None = None
            in_blocks = self._popper.in_blocks
            in_blocks.enter(item[1], item[1].offset)
            try:
                result = self._handler(item[1])
                if result is not None:
                    broken = unfinished("handler", self._handler, result, ASYNC_HANDLER)
                    failed = broken is not None
            except Exception:
                failed = True
                delay = self._retry_delay(item[1])
                with printing_errors():
                    self._log(item[1], answered=not in_blocks.holds(item[1]))
            except BaseException as error:
                failed, broken = True, error
            # As in a `with` block: the handler may have acked, nacked or released the record itself.
            answered = not in_blocks.leave(item[1])
            with self._changed:
                self._busy -= 1
                self._busy_new -= new
                if failed:
                    self._failed.append((*item, answered, delay))
                else:
                    self._done.append((*item, answered))
                self._handled += not failed
                if broken is not None:
                    self._broken = self._broken or broken
                    self._stopping = True
                if self._stopping or not self._has_enough():
                    self._changed.notify_all()
                detached = self._detached
            if detached:
                self._ack_and_nack_detached()

    def _ack_and_nack(self) -> bool:
        """Acks handled records and nacks failed ones; returns whether anything was done."""
        with self._changed:
            done, self._done = self._done, []
            failed, self._failed = self._failed, []
            self._failing.difference_update(message.offset for _, message, _ in done)
            self._failing.update(message.offset for _, message, *_ in failed if not self._is_last_attempt(message))
        now = self._popper.delivery.undelivered
        self._ack([message.offset for batch, message, answered in done if batch.undelivered is now and not answered])
        for batch, message, answered, delay in failed:
            if batch.undelivered is self._popper.delivery.undelivered and not answered:
                self._nack(message.offset, delay)
        return bool(done)

    def _ack(self, offsets: list[int]) -> None:
        if not offsets:
            return
        try:
            self._popper.ack_many(offsets)
        except OutOfRange as error:
            # The consumer has just moved, or another thread has acked one of the records: ack each alone.
            if len(offsets) == 1:
                with printing_errors():
                    _LOG.debug("not acked: %s", error)
                return
            for offset in offsets:
                self._ack([offset])

    def _nack(self, offset: int, delay: int) -> None:
        try:
            self._popper.nack_delivered(offset, delay)
        except OutOfRange as error:
            # The lease has ended: the JVM already redelivers the record.
            with printing_errors():
                _LOG.debug("not nacked: %s", error)

    def _retry_delay(self, message: AnyMessage) -> int:
        """The delay of redelivery after a failed handler, in µs."""
        if self._retry_micros is not None:
            return self._retry_micros
        return delay_micros("retry_delay", retry_seconds(message.attempts))

    def _is_last_attempt(self, message: AnyMessage) -> bool:
        """Whether the record is dead-lettered if this attempt fails."""
        return 0 < self._max_attempts <= message.attempts

    def _log(self, message: AnyMessage, *, answered: bool) -> None:
        """Logs the exception that a handler has just raised."""
        if answered:
            what = "the handler has acked, nacked or released it"
        elif self._is_last_attempt(message):
            what = "it goes to dead_letter_dir"
        else:
            what = f"it is redelivered in {self._retry_delay(message) / 1e6:g} s"
        _LOG.exception(
            "the handler failed for the record at offset %d, at attempt %d of consumer %s: %s",
            message.offset,
            message.attempts,
            self._popper.name,
            what,
        )

    def _ack_and_nack_detached(self) -> None:
        try:
            self._ack_and_nack()
        except MmapQueueError as error:
            with printing_errors():
                _LOG.warning("a record was handled that could not be acked: %s", error)

    def _stop(self) -> None:
        """Releases records that no worker has begun; waits for running handlers, and acks or nacks theirs."""
        try:
            with Shield():
                self._release_waiting()
            for thread in self._threads:
                while thread.is_alive():
                    with Shield():
                        thread.join(_IDLE_SECONDS)
        except BaseException:
            with self._changed:
                self._detached = True
            raise
        finally:
            with Shield():
                self._ack_and_nack()

    def _release_waiting(self) -> None:
        with self._changed:
            self._stopping = True
            self._put_back_waiting()
            self._changed.notify_all()

    def _put_back_waiting(self) -> None:
        """As `put_back`. The caller holds the lock."""
        while self._waiting:
            batch, message = self._waiting.pop()
            batch.undelivered.put_first([message], batch.lease_end)
