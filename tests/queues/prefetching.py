"""What the tests of prefetched pops and coalesced acks share."""

from operator import length_hint
from typing import Any

from memory_consumer import MemoryConsumer

import mmapqueue
from mmapqueue._queue.reading import Reading

#: No ack is sent before something needs it.
NEVER = 1000.0


def ready(queue: Reading[Any]) -> int:
    """How many records are prefetched."""
    return length_hint(queue._popper.delivery.ready)


def in_jvm(queue: Reading[Any], name: str) -> int:
    """What the JVM counts, which may lack acks."""
    count: int = getattr(queue._popper.port, name)()
    return count


def prefetched(queue: mmapqueue.Queue | MemoryConsumer, count: int = 100) -> list[mmapqueue.Message]:
    """Pushes records, and pops some of them, until others are prefetched."""
    queue.push_many(b"%d" % number for number in range(count))
    popped = [queue.pop()]
    while not ready(queue):
        popped.append(queue.pop())
    return popped
