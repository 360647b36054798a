"""`mmapqueue consumers`."""

from typing import Any

from mmapqueue._cli.arguments import AsJson, Directory
from mmapqueue._cli.output import Column, print_table
from mmapqueue._cli.owners import Owner
from mmapqueue._cli.queues import open_to_read
from mmapqueue._values.durations import age_text
from mmapqueue._values.texts import size_text

#: Shown while a consumer is behind the ring.
_ARCHIVED = Column("archived_records", "ARCHIVED", right=True)
_COLUMNS = (
    Column("name", "CONSUMER", elided=True),
    Column("committed_offset", "COMMITTED", right=True),
    Column("lag_records", "LAG", right=True),
    _ARCHIVED,
    Column("lag_bytes", "BYTES", size_text, right=True),
    Column("lag_seconds", "AGE", age_text, right=True),
    Column("in_flight", "IN-FLIGHT", right=True),
    Column("holds_ring", "RING", lambda holds: "holds" if holds else "-"),
    Column("pid", "PID", right=True),
    Column("program", "COMMAND", cut=True),
)


def consumers(directory: Directory, *, as_json: AsJson = False) -> None:
    """Show the consumers of a queue: lag, records in flight, owner. Runs beside the processes that own them."""
    with open_to_read(directory) as queue:
        holder = queue.stats().slowest_consumer
        rows = [_row(queue.path, found, holder) for found in queue.consumer_stats().values()]
    behind = any(row["archived_records"] for row in rows)
    columns = [each for each in _COLUMNS if behind or each is not _ARCHIVED]
    print_table(columns, rows, as_json=as_json)


def _row(path: str, found: Any, holder: str | None) -> dict[str, Any]:
    owner = Owner.of_consumer(path, found.name)
    return {
        "name": found.name,
        "committed_offset": found.committed_offset,
        "lag_records": found.lag_records,
        "archived_records": found.archived_records,
        "lag_bytes": found.lag_bytes,
        "lag_seconds": found.lag_seconds,
        # Without an owner, records are redelivered.
        "in_flight": found.unacked if owner else 0,
        "holds_ring": found.name == holder,
        "owned": owner is not None,
        "pid": owner and owner.pid,
        "command": owner and owner.command,
        "program": owner and owner.program,
        "label": found.label,
    }
