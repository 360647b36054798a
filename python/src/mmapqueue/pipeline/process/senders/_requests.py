"""Cuts rows into requests. The cuts depend on the rows and the limits alone, not on Spark's tasks or batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from pydantic import Field

from mmapqueue.pipeline.plugins import Options, Size

#: A row: values by column.
Row = dict[str, Any]

#: The offset of the row that ends the rows of a partition.
END = (1 << 63) - 1


class CutOff(Exception):
    """The rows of a task have ended early: so does Spark when it cancels the task."""


def whole(rows: Iterable[Row]) -> Iterator[Row]:
    """The rows without those that end a partition.

    Raises:
        CutOff: The last row ends no partition. A request with the rows so far would have another key than the one of
            the run that has all rows.
    """
    is_whole = True
    for row in rows:
        is_whole = row["offset"] == END
        if not is_whole:
            yield row
    if not is_whole:
        raise CutOff("the rows of a task have ended early, as when Spark cancels it; they are sent by its next run")


class RequestLimits(Options):
    """The limits of a request. The rows of one record of the queue are never divided over two requests.

    Attributes:
        max_records: The maximum number of rows in a request; more only if one record of the queue has more.
        max_bytes: Bytes of payload in a request, before compression; more only where one record of the queue has more.
    """

    max_records: Annotated[int, Field(ge=1)] = 1000
    max_bytes: Size = 1 << 20


@dataclass
class Request:
    """Rows that are sent together.

    Attributes:
        queue: Identity of the partition of the queue.
        partition: Number of the partition.
        route: The route of the rows, for instance an RPC's path.
        rows: The rows, by offset.
        size: Bytes of payload.
    """

    queue: str
    partition: int
    route: str
    rows: list[Row] = field(default_factory=list)
    size: int = 0

    @property
    def key(self) -> str:
        """Idempotency key: `<queue id>/<partition>/<first offset>-<last offset + 1>`."""
        return f"{self.queue}/{self.partition}/{self.rows[0]['offset']}-{self.rows[-1]['offset'] + 1}"

    @property
    def label(self) -> str:
        """Key, number of rows, bytes and route: requests that are cut in another way have other ones."""
        return f"{self.key} {len(self.rows)} {self.size} {self.route}"

    @property
    def offsets(self) -> tuple[int, ...]:
        """The offsets of the rows, each once."""
        return tuple(dict.fromkeys(int(row["offset"]) for row in self.rows))

    def halves(self) -> list[Request]:
        """Two requests with the rows of half of the records each; the request itself if it has one record."""
        offsets = self.offsets
        if len(offsets) < 2:
            return [self]
        middle = offsets[len(offsets) // 2]
        cut = next(index for index, row in enumerate(self.rows) if row["offset"] == middle)
        return [replace(self, rows=self.rows[:cut]), replace(self, rows=self.rows[cut:])]


def requests(
    rows: Iterable[Row],
    *,
    queues: Mapping[int, str],
    route: Callable[[Row], str],
    size: Callable[[Row], int],
    limits: Callable[[str], RequestLimits],
) -> Iterator[Request]:
    """Cuts rows into requests of one partition and route each.

    Args:
        rows: Sorted by `partition` and `offset`.
        queues: Identity of each partition.
        route: Route of a row.
        size: Bytes of a row's payload.
        limits: Limits of a route's requests.

    Yields:
        Requests. Those of one partition and route come in the order of their offsets. Two requests never share a key:
        rows of one record with different routes differ by the route alone, so a sender of records that have
        several routes must add it to the key.
    """
    open_requests: dict[str, Request] = {}
    partition = -1
    for row in rows:
        if row["partition"] != partition:
            yield from _closed(open_requests)
            partition = row["partition"]
        name = route(row)
        bytes_ = size(row)
        request = open_requests.get(name)
        if request is not None and row["offset"] != request.rows[-1]["offset"]:
            limit = limits(name)
            if len(request.rows) >= limit.max_records or request.size + bytes_ > limit.max_bytes:
                yield open_requests.pop(name)
                request = None
        if request is None:
            request = open_requests[name] = Request(queues[partition], partition, name)
        request.rows.append(row)
        request.size += bytes_
    yield from _closed(open_requests)


def _closed(open_requests: dict[str, Request]) -> list[Request]:
    closed = sorted(open_requests.values(), key=lambda request: request.rows[0]["offset"])
    open_requests.clear()
    return closed
