"""The environment in which a sender is started."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmapqueue.pipeline.plugins import Stopping
from mmapqueue.pipeline.process.dead_letters import DeadLetters
from mmapqueue.pipeline.process.queues import queue_ids

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

#: Called with pipe, sender, status and a number of rows.
Counted = Callable[[str, str, str, int], None]
#: Called with pipe, sender, and what keeps the sender from going on; None when nothing does.
Waits = Callable[[str, str, str | None], None]


@dataclass(frozen=True)
class Context:
    """As `mmapqueue.pipeline.plugins.SenderContext`.

    Attributes:
        sender: Name of the sender.
        queue: Directory of the pipe's queue.
        trigger: Arguments of `DataStreamWriter.trigger`.
        letters: The pipe's dead-letter queue.
        stopping: Set when the query must end.
        counted: The function that counts rows.
        waits: The function that gets to know of outages.
    """

    spark: SparkSession
    pipe: str
    sender: str
    queue: Path
    checkpoint: Path
    trigger: Mapping[str, Any]
    letters: DeadLetters | None
    stopping: threading.Event
    counted: Counted
    waits: Waits

    @property
    def query(self) -> str:
        """Name of the query."""
        return f"{self.pipe}.{self.sender}"

    @property
    def queue_id(self) -> str:
        """Identity of the queue; of several partitions, of the first one."""
        return next(iter(self.queue_ids().values()))

    @property
    def dead_letter(self) -> Path | None:
        """Directory of the dead-letter queue."""
        return self.letters.directory if self.letters else None

    def writer(self, rows: DataFrame) -> DataStreamWriter:
        """As `SenderContext.writer`."""
        writer = rows.writeStream.queryName(self.query).trigger(**self.trigger)
        return writer.option("checkpointLocation", str(self.checkpoint))

    def queue_ids(self) -> Mapping[int, str]:
        """As `SenderContext.queue_ids`."""
        return queue_ids(self.queue)

    def write_dead_letters(self, events: DataFrame) -> None:
        """As `SenderContext.write_dead_letters`."""
        if self.letters is None:
            raise ValueError(f"pipe {self.pipe} has no dead_letter")
        self.letters.write(events)

    def sleep(self, seconds: float) -> None:
        """As `SenderContext.sleep`."""
        if self.stopping.wait(seconds):
            raise Stopping(f"{self.query} is being stopped")

    def waiting(self, reason: str | None) -> None:
        """As `SenderContext.waiting`."""
        self.waits(self.pipe, self.sender, reason)

    def count(self, status: str, records: int) -> None:
        """As `SenderContext.count`."""
        self.counted(self.pipe, self.sender, status, records)
