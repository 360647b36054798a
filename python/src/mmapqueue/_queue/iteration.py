"""Iteration: batches underneath, records one by one."""

from collections.abc import Iterator
from time import monotonic

from mmapqueue._jvm.signals import Shield
from mmapqueue._queue.handle import Waiting
from mmapqueue._queue.pop_buffer import flat
from mmapqueue._queue.popper import Popper
from mmapqueue._queue.undelivered import FOREVER
from mmapqueue._values.message import Message


def iterate(popper: Popper, timeout: float | None, max_records: int, max_bytes: int) -> Iterator[Message]:
    """As `Consumer.consume` without a handler, with limits that were checked."""
    while True:
        hand = popper.begin()
        try:
            popper.gather(hand, max_records, max_bytes, Waiting(True, timeout))
            stage, seen, chunks = hand.state
            batch = flat(chunks)
            home, until = popper.returned, hand.until
        except BaseException:
            popper.set_aside(hand)
            raise
        given = 0
        try:
            hand.state = (stage, seen, ())
            hand.busy = False
            for message in batch:
                given += 1
                yield message
                # Meanwhile the consumer may have been moved, or the JVM gives the rest to somebody else.
                if popper.returned is not home or (until is not FOREVER and until <= monotonic()):
                    given = len(batch)
                    break
        finally:
            if given < len(batch):
                with Shield():
                    home.put_first(batch[given:], until)
        if not batch:
            return
