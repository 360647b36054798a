"""What the tests of acks share."""

from typing import Any, TypeVar

from memory_consumer import MemoryConsumer

import mmapqueue
from mmapqueue._queue.consuming.jvm_port import JvmPort
from mmapqueue._queue.consuming.popper import Popper
from mmapqueue._queue.consuming.thread_buffers import PopBuffer

Q = TypeVar("Q", mmapqueue.Queue, MemoryConsumer)


def seen(messages: Any) -> list[tuple[int, int]]:
    return [(message.offset, message.attempts) for message in messages]


def pushed(queue: Q, count: int) -> Q:
    queue.push_many(b"%d" % i for i in range(count))
    return queue


def popped_by_the_jvm(popper: Popper, records: int) -> PopBuffer:
    """Pops, and ends as after an exception from outside that was thrown right after the JVM had popped."""
    assert isinstance(popper.port, JvmPort)
    own = popper.buffers.begin()
    buffer = own.state[0]
    assert buffer.pop(buffer.next_call(), popper.port.number, records, 1 << 15, 0) == records
    return own
