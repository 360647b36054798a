"""The thread of a batching producer: takes records from a list, pushes them in batches, completes their handles.

Pushing threads append to the list, and read and add to plain numbers: they take no lock. One append accepts a record,
so an interrupted push (Ctrl-C) has either accepted it or not. CPython switches threads and runs signal handlers only at
calls and jumps, so `bytes_held += n` is one step. All other state belongs to the thread of this module.

A thread that pushes without a pause holds the interpreter lock for 5 ms at a time, and the sending thread needs that
lock three times for each batch. So a pushing thread pauses for a moment after each `batch_bytes`.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from time import monotonic, sleep
from weakref import WeakSet

from mmapqueue._queue.batching.handles import PushHandle
from mmapqueue._queue.deadline import SLICE_MILLIS, Bell, Deadline
from mmapqueue._queue.handle import QueueHandle
from mmapqueue._queue.producer import Producer
from mmapqueue._queue.push_buffer import PushBuffer
from mmapqueue._values.durations import Duration
from mmapqueue._values.errors import Closed, Full
from mmapqueue._values.logs import printing_errors

_LOG = logging.getLogger("mmapqueue")

#: Bytes counted for a waiting record besides its payload: its handle, and its entries in lists.
RECORD_BYTES = 128
#: A batch is sent after this fraction of linger: the rest is for threads to wake, here and in the JVM.
_LINGER_SHARE = 0.75
_SLICE_SECONDS = SLICE_MILLIS / 1000
#: The pause of a push that completes a batch, in seconds: the thread wakes in this time.
_PAUSE_SECONDS = 0.0001
#: The maximum wait of `stop` for the thread in seconds. A call takes a fraction of a second.
_STOP_SECONDS = 30.0

_live: WeakSet[Sender] = WeakSet()


class _NoRoom(Exception):
    """The queue is being closed, and has no room."""


class Sender:
    """Pushes, in a thread of its own, the records that other threads have appended to `waiting`.

    Attributes:
        waiting: Handles in order; the `_state` of each is its record.
        bytes_held: Bytes of records that are accepted but not done.
        limit: From this many bytes on, pushes wait for room; -1 makes every push check whether the producer has ended.
        rings_at: From this many bytes on, a push rings the bell.
        ended: Whether no record is accepted any more.
    """

    def __init__(
        self, handle: QueueHandle, producer: Producer, linger: float, batch_bytes: int, buffer_bytes: int, *, sync: bool
    ) -> None:
        self.waiting: list[PushHandle] = []
        self.bytes_held = 0
        self.limit = buffer_bytes
        self.rings_at = 0
        self.ended = False
        self._handle = handle
        self._producer = producer
        self._linger = linger
        self._batch_bytes = batch_bytes
        self._buffer_bytes = buffer_bytes
        self._sync = sync
        self._bell = Bell()
        # The reasons not to linger: a flush, a close.
        self._urgent = False
        self._stopping = False
        # Whether the thread ends when the queue has no room, because the queue is being closed.
        self._queue_closes = False
        # Guards callbacks, and signals progress.
        self._progress = threading.Condition()
        self._callbacks: dict[PushHandle, list[Callable[[PushHandle], object]]] = {}
        # Each round pushes all records that were accepted before it began.
        self._begun = self._completed = 0
        # The handles of the round, and the number of those that are done.
        self._rest: list[PushHandle] = []
        self._done = 0
        self._failure: BaseException | None = None
        self._no_room = False
        self._thread = threading.Thread(target=self._run, name="mmapqueue-producer", daemon=True)
        self._thread.start()
        _live.add(self)
        # In this order: a close that does not find this producer has closed the queue before the check.
        handle.producers.add(self)
        if handle.closed:
            self.stop()
            handle.check()

    # ---- pushing threads

    def ring(self) -> None:
        """Wakes the thread: the first record waits, or a batch is full."""
        held = self.bytes_held
        self.rings_at = self._batch_bytes if held < self._batch_bytes else held + self._batch_bytes
        self._bell.ring()
        if self.ended:
            # The store above may come after that of the end: a push that came too late would not ring.
            self.rings_at = 0
            self._fail_waiting()
        elif held >= self._batch_bytes:
            sleep(_PAUSE_SECONDS)

    def await_room(self, deadline: Deadline) -> None:
        """Waits until a record may be appended.

        Raises:
            Full: There was no room in time.
            Closed: The producer or the queue is closed.
        """
        while True:
            self._handle.check()
            if self.ended or self._stopping:
                raise Closed(f"the producer of the queue in {self._handle.path} is closed")
            if self.bytes_held < self.limit:
                return
            self._check_not_own_thread()
            if deadline.has_passed():
                held = f"; {self._handle.call('heldBy')}" if self._no_room else ""
                raise Full(
                    f"the producer of the queue in {self._handle.path} holds buffer_bytes = {self._buffer_bytes} of "
                    f"records that wait to be pushed{held}"
                )
            with self._progress:
                if self.bytes_held >= self.limit:
                    self._progress.wait(deadline.seconds(_SLICE_SECONDS))

    def wait(self, handle: PushHandle, timeout: Duration | None) -> None:
        """Waits until a handle is done."""
        deadline = Deadline(timeout)
        self._await(handle.done, deadline, "the record waits to be pushed")

    def add_callback(self, handle: PushHandle, call: Callable[[PushHandle], object]) -> bool:
        """Registers a function; returns False when the handle is done."""
        if handle.done():
            return False
        self._check_process()
        with self._progress:
            if handle.done():
                return False
            self._callbacks.setdefault(handle, []).append(call)
            return True

    def flush(self, deadline: Deadline) -> None:
        """Waits until all records accepted before are done; raises the first error since the last flush."""
        # A round that has begun may lack the last records, so the next round is waited for.
        target = self._begun + 1
        self._urgent = True
        self._bell.ring()
        self._await(lambda: self._completed >= target or self._is_idle(), deadline, "records wait to be pushed")
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure.with_traceback(None)

    def stop(self) -> None:
        """Stops accepting records; the thread ends when all are done. Takes no lock, so finalizers may call it."""
        self._stopping = self._urgent = True
        self.limit = -1
        self._bell.ring()

    def stop_with_queue(self) -> None:
        """Ends the thread; pushes records that the queue has room for. For a caller within a Shield; raises nothing."""
        self._queue_closes = True
        self.stop()
        if threading.current_thread() is not self._thread:
            self._thread.join(_STOP_SECONDS)

    def _is_idle(self) -> bool:
        # In this order: when no record is held, the callbacks of the last ones may still run.
        return self.bytes_held == 0 and self._completed == self._begun

    def _await(self, holds: Callable[[], bool], deadline: Deadline, what: str) -> None:
        while not holds():
            self._check_process()
            self._check_not_own_thread()
            with self._progress:
                if not holds():
                    self._progress.wait(deadline.seconds(_SLICE_SECONDS))
            if deadline.has_passed() and not holds():
                raise TimeoutError(f"{what}: a producer of the queue in {self._handle.path} has not pushed it in time")

    def _check_process(self) -> None:
        """Raises the error of a forked child: the parent pushes what waits, and may have held the lock at the fork."""
        if self._handle.pid != os.getpid():
            self._handle.check()

    def _check_not_own_thread(self) -> None:
        if threading.current_thread() is self._thread:
            raise RuntimeError("a done-callback cannot wait for its own producer: the thread that pushes runs it")

    # ---- the thread

    def _run(self) -> None:
        try:
            begun = monotonic()
            while self.waiting or not self._stopping:
                if not self.waiting:
                    self._sleep()
                    begun = monotonic()
                self._await_batch(begun + _LINGER_SHARE * self._linger)
                begun = monotonic()
                self._round()
        except _NoRoom:
            pass
        except BaseException:
            with printing_errors():
                _LOG.exception("the thread of a producer of the queue in %s has failed", self._handle.path)
        finally:
            rest = self._rest[self._done :]
            self.ended = True
            self.limit = -1
            # A push that came too late rings, and then fails.
            self.rings_at = 0
            self._fail(rest, self._closed_error())
            self._fail_waiting()
            self._complete_rounds()
            self._handle.producers.discard(self)

    def _sleep(self) -> None:
        """Waits for a record. A spurious return is harmless."""
        self.rings_at = 0
        # A push that came before this store has not rung.
        if not self.waiting and not self._stopping:
            self._bell.wait(None)

    def _await_batch(self, due: float) -> None:
        """Waits until a time, or until there is enough for a batch."""
        self.rings_at = self._batch_bytes
        while self.bytes_held < self._batch_bytes and not (self._urgent or self._stopping):
            left = due - monotonic()
            if left <= 0:
                break
            self._bell.wait(left)

    def _round(self) -> None:
        """Pushes all records that wait at this moment."""
        self._urgent = False
        self._begun += 1
        self._done = 0
        # Records that other threads append later belong to the next round.
        self._rest = self.waiting[:]
        del self.waiting[: len(self._rest)]
        while self._done < len(self._rest):
            self._push_batch()
        self._rest = []
        self._done = 0
        self._complete_rounds()

    def _complete_rounds(self) -> None:
        self._completed = self._begun
        with self._progress:
            self._progress.notify_all()

    def _push_batch(self) -> None:
        """Pushes the next records of the round, as many as fit into the shared buffer."""
        # Without a buffer, none of the rest can be pushed.
        start, batch = self._done, len(self._rest)
        try:
            own = self._producer.begin_large()
            handles = self._rest[start : start + own.buffer.record_limit]
            records: list[bytes] = [handle._state for handle in handles]  # type: ignore[misc]
            lengths = list(map(len, records))
            batch = own.buffer.fitting(lengths, 0)
            if batch:
                self._push_records(own, records[:batch], lengths[:batch])
            else:
                batch = 1
                self._push_large(records[0])
        except _NoRoom:
            raise
        except Exception as error:
            # The batch's error becomes that of each of its handles that is not done.
            self._fail(self._rest[self._done : start + batch], error)

    def _push_records(self, own: PushBuffer, records: list[bytes], lengths: list[int]) -> None:
        size = self._producer.fill(own, records, lengths)
        done = 0
        while done < len(records):
            pushed = self._producer.push_batch(own, size, len(records), done, self._millis(), sync=self._sync)
            if pushed is None:
                self._note_no_room()
            else:
                first, count = pushed
                self._complete(first, count, sum(lengths[done : done + count]))
                done += count
        own.busy = False

    def _push_large(self, record: bytes) -> None:
        while True:
            deadline = Deadline(self._millis() / 1000)
            try:
                first = self._producer.push_large(self._producer.begin_large(), record, deadline, sync=self._sync)
            except Full:
                self._note_no_room()
            else:
                self._complete(first, 1, len(record))
                return

    def _millis(self) -> int:
        return 0 if self._queue_closes else SLICE_MILLIS

    def _note_no_room(self) -> None:
        self._no_room = True
        if self._queue_closes:
            raise _NoRoom
        self._handle.room.is_missing()

    def _complete(self, first: int, pushed: int, size: int) -> None:
        """Completes the next handles of the round: the records have `size` bytes, and offsets from `first` on."""
        self._no_room = False
        handles = self._rest[self._done : self._done + pushed]
        for offset, handle in enumerate(handles, first):
            handle._state = offset
        self._finish(handles, size)

    def _fail(self, handles: list[PushHandle], error: BaseException) -> None:
        """Gives an error to the next handles of the round."""
        if not handles:
            return
        with printing_errors():
            _LOG.error(
                "%d records of a producer of the queue in %s are not pushed: %s", len(handles), self._handle.path, error
            )
        self._failure = self._failure or error
        size = sum(len(handle._state) for handle in handles)  # type: ignore[arg-type, misc]
        for handle in handles:
            handle._state = error
        self._finish(handles, size)

    def _finish(self, handles: list[PushHandle], size: int) -> None:
        self._done += len(handles)
        size += len(handles) * RECORD_BYTES
        self.bytes_held -= size
        calls = []
        with self._progress:
            if self._callbacks:
                calls = [(handle, self._callbacks.pop(handle)) for handle in handles if handle in self._callbacks]
            self._progress.notify_all()
        # Called without the lock, since this is the caller's code.
        for handle, functions in calls:
            for function in functions:
                try:
                    function(handle)
                except BaseException:  # Also SystemExit: futures of other handles wait for their calls.
                    with printing_errors():
                        _LOG.exception("a done-callback of a producer has failed")

    def _fail_waiting(self) -> None:
        """Fails the records that were accepted after the end. Any thread."""
        with self._progress:
            late = self.waiting[:]
            del self.waiting[: len(late)]
        self._fail(late, self._closed_error())

    def _closed_error(self) -> Closed:
        return Closed(f"the producer of the queue in {self._handle.path} was closed before the record was pushed")


def _end_in_child() -> None:
    """Ends all producers in a forked child, where pushes raise: the thread exists in the parent alone."""
    for sender in _live:
        sender.limit = -1


os.register_at_fork(after_in_child=_end_in_child)
