"""A handler in several threads.

The thread that was called pops and acks; the workers take records one by one and touch no queue, so that one whose
handler is slow holds nothing but its own record. The caller's thread goes in steps of a fraction of a second with the
shield up, and hears of Ctrl-C between two of them.
"""

import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable

from mmapqueue._errors import MmapQueueError, OutOfRange, UnackedLimit
from mmapqueue._hands import Batch
from mmapqueue._interrupts import Shield
from mmapqueue._message import Message
from mmapqueue._opened import Waiting
from mmapqueue._popping import Popper

_LOG = logging.getLogger("mmapqueue")

#: How long a step waits: with nothing to do, and with handlers under way, whose acks should not wait long.
_IDLE_SECONDS = 0.2
_STEP_SECONDS = 0.05


class Workers:
    """One call of `Consumer.consume` with a handler."""

    def __init__(
        self,
        popper: Popper,
        handler: Callable[[Message], object],
        workers: int,
        retry_micros: int,
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
        self._handled = 0
        # What to ack, and what to give back.
        self._done: list[tuple[Batch, Message]] = []
        self._failed: list[tuple[Batch, Message]] = []
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
        """Settles what is done and pops what there is room for; whether anything was going on, and whether to end."""
        with self._changed:
            if self._has_enough():
                self._changed.wait(_STEP_SECONDS)
            if self._broken is not None:
                return False, True
            enough = self._has_enough()
            room = self._max_records - len(self._waiting)
            # Before the settling: what ends meanwhile is for the next step.
            under_way = bool(self._waiting or self._busy)
        settled = self._settle()
        if enough:
            return True, False
        seconds = _STEP_SECONDS if under_way else idle.seconds(_IDLE_SECONDS)
        try:
            batch = self._popper.take(room, self._max_bytes, Waiting(True, seconds))
        except UnackedLimit:
            # Acks of what is under way, here or elsewhere, will let it go on.
            if not (under_way or settled) and idle.is_over():
                raise
            return under_way or settled, False
        if batch.messages:
            with self._changed:
                self._waiting.extend((batch, message) for message in batch.messages)
                self._changed.notify_all()
        came = bool(batch.messages) or under_way or settled
        return came, not came and idle.is_over()

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
                self._busy += 1
            failed, broken = False, None
            try:
                self._handler(item[1])
            except Exception:
                failed = True
                _LOG.exception("the handler failed for the record at offset %d, which is given back", item[1].offset)
            except BaseException as error:
                failed, broken = True, error
            with self._changed:
                self._busy -= 1
                (self._failed if failed else self._done).append(item)
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
        """Acks what is done and gives back what has failed; whether there was anything."""
        with self._changed:
            done, self._done = self._done, []
            failed, self._failed = self._failed, []
        self._ack([message.offset for batch, message in done if batch.home is self._popper.returned])
        for batch, message in failed:
            if batch.home is self._popper.returned:
                self._nack(message.offset)
        return bool(done or failed)

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

    def _nack(self, offset: int) -> None:
        try:
            self._popper.ask("nack", offset, self._retry_micros)
        except OutOfRange as error:
            # It was away for longer than visibility_timeout, and is given back already.
            _LOG.debug("not given back: %s", error)

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
