"""Pushes the records of an input, and counts those that are in the queue."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Annotated, Any, NamedTuple

import typer

import mmapqueue
from mmapqueue._cli.output import error_text, print_error, print_object
from mmapqueue._cli.status import EMPTY, FAILED, status_of
from mmapqueue._values.offsets import offsets_text
from mmapqueue._values.texts import size_text

#: The maximum wait of one call. A timeout counts from the last pushed record on, which each call tells.
_SLICE_SECONDS = 1.0
#: Bytes of one batch of an idempotent producer; less in a small ring.
_BATCH_BYTES = 256 << 10
#: The lower bits of a sequence count the records of an input; the upper bits are the input's number.
_COUNT_BITS = 32
_MOST_RECORDS = (1 << _COUNT_BITS) - 1
_MOST_INPUTS = (1 << 31) - 1

Sync = Annotated[bool, typer.Option("--sync", help="End when the records are durable.")]
Once = Annotated[
    str | None,
    typer.Option(
        "--once",
        metavar="NAME:SEQ",
        help="Push each record of this input once, however often this is run: producer NAME, input number SEQ.",
    ),
]
Timeout = Annotated[
    str | None,
    typer.Option("--timeout", metavar="TIME", help="The maximum wait for room: 30s, 5m; by default no limit."),
]


class InputNumber(NamedTuple):
    """Identifies an input of an idempotent producer.

    Attributes:
        producer: The producer's name.
        number: The number of the input, higher than that of the one before.
    """

    producer: str
    number: int

    def __str__(self) -> str:
        return f"{self.producer}:{self.number}"

    @classmethod
    def parsed(cls, text: str) -> "InputNumber":
        """Parses `NAME:SEQ` to producer and number.

        Raises:
            ConfigError: The text has another form.
        """
        name, _, digits = text.rpartition(":")
        if not name or not (digits.isascii() and digits.isdigit()) or not 1 <= int(digits) <= _MOST_INPUTS:
            allowed = f"NAME:SEQ, such as import:1, with a SEQ of 1 to {_MOST_INPUTS}"
            raise mmapqueue.ConfigError(f"--once = {text!r} is invalid; allowed: {allowed}", "--once", text, allowed)
        return cls(name, int(digits))

    def sequence(self, records: int) -> int:
        """The sequence number after the first records of the input."""
        if records > _MOST_RECORDS:
            raise mmapqueue.MmapQueueError(f"an input of --once has at most {_MOST_RECORDS} records")
        return (self.number << _COUNT_BITS) + records

    def records_in(self, queue: "mmapqueue.Queue[bytes]") -> int:
        """The number of records of the input that are in the queue, from the first on.

        Raises:
            MmapQueueError: A later input of the producer has been pushed.
        """
        last = queue.last_sequence(self.producer) or 0
        number = last >> _COUNT_BITS
        if number > self.number:
            raise mmapqueue.MmapQueueError(
                f"producer {self.producer} has pushed input {number}; {self.number} comes before it: nothing was pushed"
            )
        return last & _MOST_RECORDS if number == self.number else 0


class Pusher:
    """Pushes records in order, and waits for room. For one thread.

    Args:
        queue: The queue.
        timeout: The maximum time to wait for room, in seconds; None for no limit.
        sync: Whether records are made durable at the end, and whenever the input has none for the moment.
        once: Identifies the input, so that a repeated run pushes only the rest; None to push everything.

    Attributes:
        pushed: The number of records pushed.
        size: The bytes of these records.
        duplicates: The number of records of the input that an earlier run had pushed.
        first_offset: The offset of the first record.
    """

    def __init__(
        self, queue: "mmapqueue.Queue[bytes]", timeout: float | None, *, sync: bool, once: InputNumber | None
    ) -> None:
        self.pushed = 0
        self.size = 0
        self.duplicates = 0 if once is None else once.records_in(queue)
        self.first_offset = queue.end_offset()
        self._queue = queue
        self._timeout = timeout
        self._sync = sync
        self._once = once
        self._to_skip = self.duplicates
        config = queue.config
        self._batch_bytes = min(_BATCH_BYTES, config["queue_capacity_segments"] * config["segment_size"] // 4)

    def push(self, records: list[bytes]) -> None:
        """Pushes records; an empty list makes earlier ones durable, with `sync`.

        Raises:
            Full: There was no room in time.
            MmapQueueError: As from `Queue.push_many` and `Queue.push_once`. `pushed` counts the records in the queue.
        """
        if self._to_skip:
            skipped = records[: self._to_skip]
            records = records[len(skipped) :]
            self._to_skip -= len(skipped)
        if self._once is not None:
            self._push_idempotent(records, self._once)
            return
        self._push_many(records)
        if self._sync and not records:
            self._queue.flush()

    def end(self) -> None:
        """Makes all records durable, with `sync`.

        Raises:
            MmapQueueError: The input has fewer records than an earlier run has pushed of it: it is a different input.
        """
        if self._to_skip:
            before, self.duplicates = self.duplicates, 0  # they are those of the other input
            raise mmapqueue.MmapQueueError(
                f"this input has {records_text(before - self._to_skip)}, and {before} of input {self._once} were "
                "pushed before: it is another input, and needs a higher number"
            )
        if self._sync:
            self._queue.flush()

    def _push_many(self, records: list[bytes]) -> None:
        start = 0
        wait = _Wait(self._timeout)
        while start < len(records):
            rest = records[start:] if start else records
            failure = None
            try:
                done = self._queue.push_many(rest, timeout=wait.slice())
            except BaseException as error:
                done, failure = getattr(error, "pushed", 0), error
            self._count(rest[:done])
            start += done
            if failure is not None:
                self._wait_or_raise(failure, wait, done)

    def _push_idempotent(self, records: list[bytes], once: InputNumber) -> None:
        for batch in _parts(records, self._batch_bytes):
            wait = _Wait(self._timeout)
            before = self.duplicates + self.pushed
            sequence = once.sequence(before + len(batch))
            while self.duplicates + self.pushed == before:
                try:
                    self._queue.push_once(once.producer, sequence, batch, timeout=wait.slice(), sync=self._sync)
                    self._count(batch)
                except BaseException as error:
                    with suppress(mmapqueue.MmapQueueError):
                        # Ctrl-C may arrive after the push.
                        self._count(batch[: once.records_in(self._queue) - before])
                    self._wait_or_raise(error, wait, 0)

    def _count(self, records: list[bytes]) -> None:
        self.pushed += len(records)
        self.size += sum(map(len, records))

    def _wait_or_raise(self, failure: BaseException, wait: "_Wait", done: int) -> None:
        """Raises the failure, unless the queue is full and time is left."""
        if done:
            wait.begin()
        if not isinstance(failure, mmapqueue.Full) or wait.is_over():
            raise failure


class _Wait:
    """A wait for room, which starts at the last pushed record."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self.begin()

    def begin(self) -> None:
        self._end = None if self._seconds is None else monotonic() + self._seconds

    def slice(self) -> float:
        return _SLICE_SECONDS if self._end is None else max(0.0, min(_SLICE_SECONDS, self._end - monotonic()))

    def is_over(self) -> bool:
        return self._end is not None and monotonic() >= self._end


def _parts(records: list[bytes], most: int) -> Iterator[list[bytes]]:
    """The records in lists of at most this many bytes, or of one record."""
    part: list[bytes] = []
    size = 0
    for record in records:
        # A record takes more than its bytes: a header of 16 at most.
        cost = len(record) + 16
        if part and size + cost > most:
            yield part
            part, size = [], 0
        part.append(record)
        size += cost
    if part:
        yield part


def print_pushed(pusher: Pusher, verb: str, *, as_json: bool, **more: Any) -> None:
    """Prints what was pushed.

    Args:
        pusher: The pusher.
        verb: "pushed" or "imported".
        as_json: Whether to print a JSON object.
        **more: Further values of the object.
    """
    end = pusher.first_offset + pusher.pushed
    if as_json:
        print_object(
            {
                verb: pusher.pushed,
                "bytes": pusher.size,
                "first_offset": pusher.first_offset if pusher.pushed else None,
                "last_offset": end - 1 if pusher.pushed else None,
                "duplicates": pusher.duplicates,
                **more,
            }
        )
        return
    text = f"{verb} {records_text(pusher.pushed)}"
    if pusher.pushed:
        text += f" ({size_text(pusher.size)}): {offsets_text(pusher.first_offset, end)}"
    if pusher.duplicates:
        text += f"; {records_text(pusher.duplicates)} of the input were in the queue before"
    print(text)


@contextmanager
def counted_on_failure(pusher: Pusher) -> Iterator[None]:
    """Prints, after an error in the block, the number of records of the input that are in the queue."""
    try:
        yield
    except (mmapqueue.MmapQueueError, OSError) as error:
        print_error(error_text(error))
        _print_count(pusher)
        raise typer.Exit(_status_of(error)) from None
    except KeyboardInterrupt:
        _print_count(pusher)
        raise


def _status_of(error: Exception) -> int:
    if isinstance(error, mmapqueue.Full):
        return EMPTY
    return status_of(error) if isinstance(error, mmapqueue.MmapQueueError) else FAILED


def _print_count(pusher: Pusher) -> None:
    count = pusher.duplicates + pusher.pushed
    print_error(f"in the queue: {f'the first {records_text(count)}' if count else 'nothing'} of the input")


def records_text(count: int) -> str:
    """A number of records."""
    return "1 record" if count == 1 else f"{count} records"
