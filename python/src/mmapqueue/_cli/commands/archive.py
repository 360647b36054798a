"""`mmapqueue archive`."""

from datetime import datetime, timezone
from typing import Annotated, Any

import typer

from mmapqueue._cli.arguments import AsJson, ClassPath
from mmapqueue._cli.output import Column, age_text, print_facts, print_object, print_table, size_text
from mmapqueue._jvm import archive_jars, standalone
from mmapqueue._tools.archives import ArchiveState, delete_consumer, describe
from mmapqueue._values.arguments import location
from mmapqueue._values.errors import MmapQueueError

_PARTITIONS = (
    Column("partition", "PARTITION", right=True),
    Column("host", "HOST"),
    Column("queue", "QUEUE"),
    Column("first_offset", "LOG-START", right=True),
    Column("end_offset", "LOG-END", right=True),
    Column("runs", "RUNS", right=True),
    Column("bytes", "BYTES", size_text, right=True),
    Column("age_seconds", "LAST-RUN", age_text, right=True),
)
_CONSUMERS = (
    Column("name", "CONSUMER"),
    Column("lag_records", "LAG", right=True),
    Column("age_seconds", "LAST-COMMIT", age_text, right=True),
    Column("label", "LABEL"),
)


def archive(
    uri: Annotated[
        str, typer.Argument(metavar="URI", help="The archive's URI, or the path of a directory.", show_default=False)
    ],
    delete: Annotated[
        str | None,
        typer.Option("--delete-consumer", metavar="NAME", help="Delete a consumer: retention looks at it no more."),
    ] = None,
    classpath: ClassPath = None,
    as_json: AsJson = False,
) -> None:
    """Show the partitions of an archive, the hosts that ship them, and the lag of its consumers."""
    target = location("URI", uri)
    standalone.start_quickly()
    archive_jars.add(target, "none", classpath)
    if delete is not None:
        if not delete_consumer(target, delete):
            raise MmapQueueError(f"the archive in {target} has no consumer {delete}")
        if as_json:
            print_object({"deleted_consumer": delete})
        return
    found = describe(target)
    if as_json:
        print_object(_as_object(found))
    else:
        _print(found)


def _rows(found: ArchiveState) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    now = datetime.now(timezone.utc)

    def age(time: datetime | None) -> float | None:
        return None if time is None else max(0.0, (now - time).total_seconds())

    return (
        [{**each._asdict(), "age_seconds": age(each.last_run)} for each in found.partitions],
        [
            {**each._asdict(), "lag_records": each.lag(found.partitions), "age_seconds": age(each.last_commit)}
            for each in found.consumers
        ],
    )


def _as_object(found: ArchiveState) -> dict[str, Any]:
    partitions, consumers = _rows(found)
    return {"uri": found.uri, "id": found.id, "partitions": partitions, "consumers": consumers}


def _print(found: ArchiveState) -> None:
    partitions, consumers = _rows(found)
    print_facts({"archive": found.uri, "id": found.id})
    for columns, rows in ((_PARTITIONS, partitions), (_CONSUMERS, consumers)):
        if rows:
            print()
            print_table(columns, rows, as_json=False)
