"""Iteration: pops batches, yields records one by one."""

from collections.abc import Iterator
from time import monotonic

from mmapqueue._jvm.signals import Shield
from mmapqueue._queue.deadline import Deadline
from mmapqueue._queue.pop_buffer import flat
from mmapqueue._queue.popper import Popper
from mmapqueue._queue.undelivered import NEVER
from mmapqueue._values.message import Message


def iterate(popper: Popper, timeout: float | None, max_records: int, max_bytes: int) -> Iterator[Message]:
    """As `Consumer.consume` without a handler, with limits that were checked."""
    while True:
        own = popper.begin()
        try:
            popper.pop_into(own, max_records, max_bytes, Deadline(True, timeout))
            buffer, answered, chunks = own.state
            batch = flat(chunks)
            undelivered, lease_end = popper.undelivered, own.lease_end
        except BaseException:
            popper.abort(own)
            raise
        delivered = 0
        try:
            own.state = (buffer, answered, ())
            own.busy = False
            for message in batch:
                delivered += 1
                yield message
                # The consumer may have moved since, or the leases may have ended.
                if popper.undelivered is not undelivered or (lease_end is not NEVER and lease_end <= monotonic()):
                    delivered = len(batch)
                    break
        finally:
            if delivered < len(batch):
                with Shield():
                    undelivered.put_first(batch[delivered:], lease_end)
        if not batch:
            return
