"""A program as users write it. Type checkers read it; nothing runs it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import mmapqueue
from mmapqueue import compat

if TYPE_CHECKING:
    from typing_extensions import assert_type


@dataclass
class Order:
    number: int


class Orders:
    def dumps(self, item: Order, /) -> bytes:
        return json.dumps(item.number).encode()

    def loads(self, data: bytes, /) -> Order:
        return Order(json.loads(data))


def of_bytes(path: str) -> None:
    with mmapqueue.Queue(path, capacity="64m", flush_period="250ms", retain_ms=timedelta(days=7)) as queue:
        assert_type(queue, mmapqueue.Queue[bytes])
        assert_type(queue.push(memoryview(b"one"), timeout="1s", sync=True), int)
        assert_type(queue.push_many([b"two", bytearray(b"three")]), int)
        assert_type(queue.push_once("importer", 1, [b"four"]), int | None)
        with queue.pop(timeout=timedelta(seconds=1)) as message:
            assert_type(message.data, bytes)
            assert_type(message.value, bytes)
            assert_type(message.text, str)
            assert_type(message.timestamp, datetime | None)
        queue.pop().nack(delay="30s")
        messages = queue.pop_many(10, max_bytes="1m")
        queue.ack_up_to(messages[-1])
        queue.ack_many([*messages, 7])
        assert_type([each.offset for each in queue], list[int])
        assert_type(queue.process(print, workers=4, timeout=1, retry_delay="5s"), int)
        queue.seek(datetime.now(timezone.utc))
        assert_type(queue.config["max_event_size"], int)
        assert_type(queue.config["dead_letter_dir"], str | None)
        assert_type(queue.stats().fill, float)
        assert_type(queue.consumer_stats()["default"].lag_seconds, float)
        assert_type(queue.acked_ranges("default"), list[range])
        assert_type(len(queue), int)
        with queue.consumer("audit", start="latest") as audit:
            assert_type(audit, mmapqueue.Consumer[bytes])
            takes_bytes(queue, audit, audit.pop())


def takes_bytes(queue: mmapqueue.Queue, consumer: mmapqueue.Consumer, message: mmapqueue.Message) -> None:
    assert_type(queue.pop().value, bytes)
    assert_type(consumer.pop().value, bytes)
    assert_type(message.value, bytes)


def of_json(path: str) -> None:
    queue = mmapqueue.open(path, serializer="json")
    assert_type(queue, mmapqueue.Queue[Any])
    queue.push({"id": 7})
    assert_type(mmapqueue.Queue(path, serializer=json), mmapqueue.Queue[Any])


def of_orders(path: str) -> Iterator[Order]:
    orders = mmapqueue.Queue(path, serializer=Orders())
    assert_type(orders, mmapqueue.Queue[Order])
    orders.push(Order(1))
    orders.push_many(Order(number) for number in range(10))
    for message in orders.consume(timeout=0):
        assert_type(message.value, Order)
        yield message.value
    assert_type(orders.read_at(0).value, Order)
    orders.process(handle)


def handle(message: mmapqueue.Message[Order]) -> None:
    print(message.value.number)


def like_the_standard_queue(path: str) -> None:
    with compat.Queue(10, path=path, serializer=Orders(), lock_timeout="30s") as jobs:
        jobs.put(Order(1), timeout=timedelta(seconds=1))
        job = jobs.get(timeout="500ms")
        assert_type(job, Order)
        jobs.nack(job, delay=timedelta(seconds=1))
        jobs.ack(jobs.get(True, 0.5))


async def under_asyncio(path: str) -> AsyncIterator[Order]:
    async with await mmapqueue.aopen(path, serializer=Orders()) as orders:
        assert_type(orders, mmapqueue.Queue[Order])
        assert_type(await orders.apush(Order(1), timeout="1s"), int)
        assert_type(await orders.apush_many([Order(2)], atomic=True), int)
        async with await orders.apop(timeout=1) as message:
            assert_type(message.value, Order)
        assert_type(asyncio.create_task(orders.apop()), asyncio.Task[mmapqueue.Message[Order]])
        await orders.aack_many(await orders.apop_many(10))
        async for each in orders.aconsume():
            yield each.value
            await orders.anack(each, delay="1s")


def with_configuration(path: str, configuration: mmapqueue.Configuration, delay: mmapqueue.Duration) -> None:
    with mmapqueue.Queue(path, lock_timeout=delay, **configuration) as queue:
        try:
            queue.push(b"x", block=False)
        except mmapqueue.Full as error:
            assert_type(error.pushed, int)


WRONG = """
import mmapqueue
from program import Orders

queue = mmapqueue.Queue("path")
queue.push("text")
queue.pop().value.number
mmapqueue.Queue("path", serializer="yaml")
mmapqueue.Queue("path", segment_sise=4096)
mmapqueue.Queue("path", serializer=Orders()).push(7)
queue.config["sise"]
queue.pop(timeout=[])
"""
