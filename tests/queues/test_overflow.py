"""Behind a ring that overflows, each way to read gets each record once, in order, and returns to the ring."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mmapqueue
from command_line import CommandLine

#: More than two rings.
MANY = 3000
#: For records that are there; the end of a consumer's iteration.
SECONDS = 30.0


def record(number: int) -> bytes:
    return b"%d " % number + b"." * 1000


@pytest.fixture
def queue(tmp_path: Path) -> Iterator["mmapqueue.Queue[bytes]"]:
    with mmapqueue.Queue(
        tmp_path / "queue",
        capacity="1m",
        archive_uri=tmp_path / "archive",
        overflow="archive",
        ship_period="10ms",
        flush_period="5ms",
    ) as opened:
        opened.create_consumer("late")
        for begin in range(0, MANY, 100):
            opened.push_many(map(record, range(begin, begin + 100)))
        assert opened.consumer_stats()["late"].archived_records > MANY / 2
        yield opened


def check(queue: "mmapqueue.Queue[bytes]", records: list[tuple[int, bytes]]) -> None:
    """All records were read, and acked; the next one comes from the ring."""
    assert records == [(number, record(number)) for number in range(MANY)]
    assert queue.consumer_stats()["late"].committed_offset == MANY
    queue.push(record(MANY))
    message = queue.consumer("late").pop(timeout=SECONDS)
    assert message is not None
    assert (message.offset, message.data, message.attempts) == (MANY, record(MANY), 1)
    assert queue.consumer_stats()["late"].archived_records == 0


def test_arrow(queue: "mmapqueue.Queue[bytes]") -> None:
    pytest.importorskip("pyarrow")
    consumer = queue.consumer("late")
    records: list[tuple[int, bytes]] = []
    while len(records) < MANY:
        batch: Any = consumer.pop_arrow(700, timeout=SECONDS)
        records += zip(batch["offset"].to_pylist(), batch["value"].to_pylist(), strict=True)
        consumer.ack(batch)
    check(queue, records)


def test_an_iteration(queue: "mmapqueue.Queue[bytes]") -> None:
    records = []
    for message in queue.consumer("late").consume(timeout=SECONDS):
        records.append((message.offset, message.data))
        message.ack()
        if len(records) == MANY:
            break
    check(queue, records)


def test_asyncio(queue: "mmapqueue.Queue[bytes]") -> None:
    async def read() -> list[tuple[int, bytes]]:
        consumer = queue.consumer("late")
        records: list[tuple[int, bytes]] = []
        while len(records) < MANY:
            messages = [await consumer.apop(timeout=SECONDS) for _ in range(50)]
            records += [(message.offset, message.data) for message in messages if message]
            await consumer.aack_many([message for message in messages if message])
        return records

    check(queue, asyncio.run(read()))


def test_commands(queue: "mmapqueue.Queue[bytes]", tmp_path: Path) -> None:
    command, directory = CommandLine(tmp_path / "cache"), tmp_path / "queue"
    lines = [record(number).decode() for number in range(MANY)]
    assert command.run("tail", directory, "--from", 0).out.splitlines() == lines
    assert command.run("show", directory, 7).out.startswith("offset 7 ")
    popped = command.run("pop", directory, "--consumer", "late", "-n", MANY, "--ack", "--wait", "30s").out
    check(queue, [(number, line.encode()) for number, line in enumerate(popped.splitlines())])
