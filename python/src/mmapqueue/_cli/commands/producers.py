"""`mmapqueue producers`."""

import mmapqueue
from mmapqueue._cli.arguments import AsJson, Directory
from mmapqueue._cli.output import Column, micros_text, print_table, time_text
from mmapqueue._cli.queues import open_to_read
from mmapqueue._values.errors import MmapQueueError

_COLUMNS = (
    Column("name", "PRODUCER", elided=True),
    Column("last_sequence", "LAST-SEQUENCE", right=True),
    Column("end_offset", "END-OFFSET", right=True),
    Column("last_push", "LAST-PUSH"),
    Column("created", "CREATED", time_text),
)


def producers(directory: Directory, *, as_json: AsJson = False) -> None:
    """Show the idempotent producers of a queue and their last batches. Runs beside the process that writes."""
    with open_to_read(directory) as queue:
        rows = [
            {**found._asdict(), "last_push": _time_at(queue, found.end_offset - 1)}
            for found in queue.producer_stats().values()
        ]
    print_table(_COLUMNS, rows, as_json=as_json)


def _time_at(queue: "mmapqueue.Queue[bytes]", offset: int) -> str | None:
    """The time of a record; None if it is not retained, or has none."""
    try:
        return micros_text(queue.read_at(offset).timestamp_micros)
    except MmapQueueError:
        return None
