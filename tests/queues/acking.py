"""What the tests of acks share."""

from typing import Any

import mmapqueue


def seen(messages: Any) -> list[tuple[int, int]]:
    return [(message.offset, message.attempts) for message in messages]


def pushed(queue: mmapqueue.Queue, count: int) -> mmapqueue.Queue:
    queue.push_many(b"%d" % i for i in range(count))
    return queue
