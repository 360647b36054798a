"""Iteration: pops batches, and yields records one by one."""

from __future__ import annotations

from collections.abc import Generator
from time import monotonic

from mmapqueue._jvm.signals import Shield
from mmapqueue._queue.consuming.delivery import NEVER
from mmapqueue._queue.consuming.popper import Popper
from mmapqueue._queue.deadline import Deadline
from mmapqueue._values.durations import Duration
from mmapqueue._values.message import AnyMessage


def iterate(
    popper: Popper, timeout: Duration | None, max_records: int, max_bytes: int
) -> Generator[AnyMessage, None, None]:
    """As `Consumer.consume`, with limits that are already checked."""
    delivery = popper.delivery
    while True:
        own, empty, batch = popper.begin_batch(max_records, max_bytes, Deadline(timeout))
        messages, lease_end, undelivered, rest = batch
        try:
            own.state = empty
            delivery.held[rest] = batch
            own.busy = False
            for message in rest:
                yield message
                # The consumer may have moved since the pop, or the leases may have ended.
                if delivery.undelivered is not undelivered or (lease_end is not NEVER and lease_end <= monotonic()):
                    break
        except BaseException:
            with Shield():
                batch.put_back()
                delivery.held.pop(rest, None)
            raise
        delivery.held.pop(rest, None)
        if not messages:
            return
