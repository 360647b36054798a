"""Samples of queues that other processes write and read: rates, fill, lag."""

from collections import defaultdict, deque
from collections.abc import Iterator
from datetime import datetime, timezone
from time import monotonic
from typing import Any, NamedTuple

import mmapqueue
from mmapqueue._cli.owners import Owner
from mmapqueue._values.errors import MmapQueueError

#: Number of samples of a sparkline.
_HISTORY = 240


class ConsumerRow(NamedTuple):
    """The state of a consumer.

    Attributes:
        name: The consumer's name.
        lag_records: Number of records from the committed offset to the log end, including those acked out of order.
        in_flight: Number of these records that the owner has popped; 0 without an owner.
        lag_bytes: The bytes of the records of lag_records, headers included.
        lag_seconds: The age of the first of these records, in seconds.
        archived_records: Those of lag_records that only the archive has.
        acked_per_second: The rate at which the committed offset has moved since the previous sample, in records.
        acked_bytes_per_second: The rate of their bytes.
    """

    name: str
    lag_records: int
    in_flight: int
    lag_bytes: int
    lag_seconds: float
    archived_records: int
    acked_per_second: float
    acked_bytes_per_second: float


class Sample(NamedTuple):
    """The state of a queue at one moment.

    Attributes:
        stats: The statistics.
        consumers: Each consumer.
    """

    stats: mmapqueue.Stats
    consumers: list[ConsumerRow]

    @property
    def acked_per_second(self) -> float:
        """The rate of acked records, of all consumers."""
        return sum(row.acked_per_second for row in self.consumers)

    @property
    def acked_bytes_per_second(self) -> float:
        """The rate of acked bytes, of all consumers."""
        return sum(row.acked_bytes_per_second for row in self.consumers)


class Watched:
    """A queue with the samples of the last minutes. For one thread.

    Attributes:
        path: The directory.
        last: The last sample; None when it failed.
        failure: The error of the last sample; None when it succeeded.
        pushed: Pushed records a second, of each sample.
        acked: Acked records a second, of all consumers.
        lags: The lag in records of each consumer, by name.
    """

    def __init__(self, queue: "mmapqueue.Queue[bytes]") -> None:
        self.path = queue.path
        self.last: Sample | None = None
        self.failure = ""
        self.pushed: deque[float] = deque(maxlen=_HISTORY)
        self.acked: deque[float] = deque(maxlen=_HISTORY)
        self.lags: dict[str, deque[float]] = defaultdict(lambda: deque(maxlen=_HISTORY))
        self._queue = queue
        self._time = monotonic()
        self._committed: dict[str, tuple[int, int]] = {}

    def sample(self) -> None:
        """Takes a sample."""
        try:
            stats, found = self._queue.stats(), self._queue.consumer_stats()
        except MmapQueueError as error:
            self.last, self.failure = None, str(error)
            return
        now = monotonic()
        seconds, self._time = now - self._time, now
        before = self._committed
        self._committed = {name: (each.committed_offset, each.committed_position) for name, each in found.items()}
        consumers = [
            ConsumerRow(
                name,
                each.lag_records,
                each.unacked if Owner.of_consumer(self.path, name) else 0,
                each.lag_bytes,
                each.lag_seconds,
                each.archived_records,
                # A consumer that was created since has acked nothing, nor has one that was moved back.
                *(max(0, now - then) / seconds for now, then in zip(at, before.get(name, at), strict=True)),
            )
            for (name, each), at in zip(found.items(), self._committed.values(), strict=True)
        ]
        self.last, self.failure = Sample(stats, consumers), ""
        self.pushed.append(stats.pushed_per_second)
        self.acked.append(self.last.acked_per_second)
        for row in consumers:
            self.lags[row.name].append(row.lag_records)
        for name in self.lags.keys() - found.keys():
            del self.lags[name]

    def as_object(self) -> dict[str, Any]:
        """The last sample for JSON."""
        time = datetime.now(timezone.utc)
        if self.last is None:
            return {"time": time, "path": self.path, "error": self.failure}
        stats, consumers = self.last
        return {
            "time": time,
            "path": self.path,
            "fill": stats.fill,
            "bytes_used": stats.bytes_used,
            "capacity": stats.capacity,
            "records": stats.records,
            "pushed_per_second": stats.pushed_per_second,
            "pushed_bytes_per_second": stats.pushed_bytes_per_second,
            "acked_per_second": self.last.acked_per_second,
            "acked_bytes_per_second": self.last.acked_bytes_per_second,
            "slowest_consumer": stats.slowest_consumer,
            "consumers": [row._asdict() for row in consumers],
        }

    def rows(self) -> Iterator[dict[str, Any]]:
        """The last sample as rows of a table, one for each consumer; one for a queue without consumers.

        Raises:
            MmapQueueError: The sample failed.
        """
        if self.last is None:
            raise MmapQueueError(self.failure)
        stats, consumers = self.last
        of_queue = {
            "path": self.path,
            "fill": stats.fill,
            "pushed_per_second": stats.pushed_per_second,
        }
        none = ConsumerRow("-", stats.records, 0, stats.bytes_used, 0.0, 0, 0.0, 0.0)
        for row in consumers or [none]:
            yield {**of_queue, **row._asdict()}
