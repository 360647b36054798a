"""`mmapqueue pop`."""

import os
import subprocess
from collections.abc import Iterator
from typing import Annotated

import typer

import mmapqueue
from mmapqueue._cli.arguments import AsJson, Directory, duration
from mmapqueue._cli.output import micros_text, print_error
from mmapqueue._cli.queues import open_to_read
from mmapqueue._cli.records import FORMAT_HELP, LINES, RecordPrinter
from mmapqueue._cli.status import DONE, EMPTY, FAILED
from mmapqueue._jvm.names import DEFAULT_CONSUMER
from mmapqueue._values.durations import retry_seconds
from mmapqueue._values.errors import ConfigError
from mmapqueue._values.message import AnyMessage

#: The maximum number of records and bytes that are popped at a time.
_MOST_RECORDS = 1000
_MOST_BYTES = 4 << 20
_EXEC = (
    "Run this shell command for each record: payload on stdin, MMAPQUEUE_OFFSET, MMAPQUEUE_TIMESTAMP and "
    "MMAPQUEUE_ATTEMPTS in the environment. Exit status 0 acks the record, any other requeues it."
)


def pop(
    directory: Directory,
    *,
    count: Annotated[int, typer.Option("-n", min=0, metavar="N", help="The maximum number of records; 0 for all.")] = 1,
    name: Annotated[str, typer.Option("-c", "--consumer", metavar="NAME", help="The consumer.")] = DEFAULT_CONSUMER,
    ack: Annotated[bool, typer.Option("--ack", help="Ack the records. Without it, they are released again.")] = False,
    wait: Annotated[
        str, typer.Option("--wait", metavar="TIME", help="How long to wait for each record: 30s, 5m.")
    ] = "0s",
    command: Annotated[str | None, typer.Option("--exec", metavar="CMD", help=_EXEC, show_default=False)] = None,
    template: Annotated[
        str, typer.Option("-f", "--format", metavar="FORMAT", help=FORMAT_HELP, show_default=False)
    ] = LINES,
    as_json: AsJson = False,
) -> int:
    """Pop records as a consumer, and print them or run a command for each. Runs beside the process that writes.

    No other process may own the consumer. Exit status: 3 if there was no record, or none in time.
    """
    if command is not None and (ack or as_json or template != LINES):
        raise ConfigError("--exec acks by itself and prints nothing: use it without --ack, --json and --format")
    patience = duration("--wait", wait)
    printer = RecordPrinter(template, as_json=as_json)
    with open_to_read(directory) as queue, _consumer(queue, name) as consumer:
        if command is not None:
            return _run_each(consumer, command, count, patience)
        return _print(consumer, printer, count, patience, ack=ack)


def _consumer(queue: "mmapqueue.Queue[bytes]", name: str) -> "mmapqueue.Consumer[bytes]":
    known = queue.consumers()
    if name not in known and name != DEFAULT_CONSUMER:
        # Not created here: a misspelled name would make a consumer that retains the ring.
        allowed = f"one of {', '.join(known)}" if known else DEFAULT_CONSUMER
        raise ConfigError(
            f"--consumer = {name!r} does not exist in {queue.path}; allowed: {allowed}", "--consumer", name, allowed
        )
    return queue.consumer(name, prefetch=0)


def _print(
    consumer: "mmapqueue.Consumer[bytes]", printer: RecordPrinter, count: int, patience: float, *, ack: bool
) -> int:
    status = EMPTY
    in_flight: list[int] = []
    try:
        for batch in _batches(consumer, count, patience, _MOST_RECORDS):
            in_flight += (message.offset for message in batch)
            printer.print(*batch)
            status = DONE
            if ack:
                # Acked only now: the reader of stdout has the records.
                consumer.ack_many(in_flight)
                in_flight.clear()
    finally:
        consumer.release(in_flight)
    return status


def _run_each(consumer: "mmapqueue.Consumer[bytes]", command: str, count: int, patience: float) -> int:
    status = EMPTY
    for (message,) in _batches(consumer, count, patience, 1):
        try:
            failed = _run(command, message)
        except BaseException:
            consumer.release([message])
            raise
        if failed:
            print_error(f"the command failed with exit status {failed} at offset {message.offset}, which is requeued")
            consumer.nack(message, delay=retry_seconds(message.attempts))
            status = FAILED
        else:
            consumer.ack_many([message])
            status = DONE if status == EMPTY else status
    return status


def _batches(
    consumer: "mmapqueue.Consumer[bytes]", count: int, patience: float, most: int
) -> Iterator[list[AnyMessage]]:
    """Pops until no record is available in time, or `count` records were popped; 0 for no limit."""
    left = count
    while not count or left:
        batch = consumer.pop_many(min(left, most) if count else most, max_bytes=_MOST_BYTES, timeout=patience)
        if not batch:
            return
        left -= len(batch)
        yield batch


def _run(command: str, message: AnyMessage) -> int:
    """Runs the command for a record; returns its exit status."""
    environment = {
        **os.environ,
        "MMAPQUEUE_OFFSET": str(message.offset),
        "MMAPQUEUE_TIMESTAMP": micros_text(message.timestamp_micros) or "",
        "MMAPQUEUE_ATTEMPTS": str(message.attempts),
    }
    return subprocess.run(command, shell=True, input=message.data, env=environment, check=False).returncode
