"""What the tests of prefetched pops and coalesced acks share."""

from operator import length_hint

import mmapqueue

#: No ack is sent before something needs it.
NEVER = 1000.0


def ready(queue: mmapqueue.Queue) -> int:
    """How many records are prefetched."""
    return length_hint(queue.consumer("default")._popper.delivery.ready)


def in_jvm(queue: mmapqueue.Queue, name: str) -> int:
    """What the JVM counts, which may lack acks."""
    count: int = getattr(queue.consumer("default")._popper.port, name)()
    return count


def prefetched(queue: mmapqueue.Queue, count: int = 100) -> list[mmapqueue.Message]:
    """Pushes records, and pops some of them, until others are prefetched."""
    queue.push_many(b"%d" % number for number in range(count))
    popped = [queue.pop()]
    while not ready(queue):
        popped.append(queue.pop())
    return popped
