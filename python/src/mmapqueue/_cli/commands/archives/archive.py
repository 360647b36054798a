"""`mmapqueue archive`."""

import re
from datetime import datetime, timezone
from typing import Annotated, Any

import typer

from mmapqueue._cli.arguments import AsJson, ClassPath
from mmapqueue._cli.output import Column, print_error, print_facts, print_object, print_table
from mmapqueue._cli.status import DONE, FAILED
from mmapqueue._jvm import archive_jars, standalone
from mmapqueue._tools.archives import ArchiveState, GapState, delete_consumer, describe, mark_lost
from mmapqueue._values.arguments import location
from mmapqueue._values.durations import age_text
from mmapqueue._values.errors import MmapQueueError
from mmapqueue._values.texts import size_text

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
_GAPS = (
    Column("partition", "PARTITION", right=True),
    Column("first", "FIRST", right=True),
    Column("last", "LAST", right=True),
    Column("records", "MISSING", right=True),
    Column("reason", "REASON"),
)
_RANGE = re.compile(r"(?P<partition>[0-9]{1,9}):(?P<first>[0-9]{1,18})-(?P<last>[0-9]{1,18})")


def archive(
    uri: Annotated[
        str, typer.Argument(metavar="URI", help="The archive's URI, or the path of a directory.", show_default=False)
    ],
    *,
    delete: Annotated[
        str | None,
        typer.Option("--delete-consumer", metavar="NAME", help="Delete a consumer: retention looks at it no more."),
    ] = None,
    lost: Annotated[
        str | None,
        typer.Option(
            "--mark-lost",
            metavar="PARTITION:FIRST-LAST",
            help="Name records that no file has any more as lost.",
        ),
    ] = None,
    classpath: ClassPath = None,
    as_json: AsJson = False,
) -> int:
    """Show the partitions of an archive, the hosts that ship them, missing records, and the lag of its consumers."""
    if delete is not None and lost is not None:
        raise typer.BadParameter("only one of --delete-consumer and --mark-lost is possible")
    marked = None if lost is None else _range(lost)
    target = location("URI", uri)
    standalone.start_quickly()
    archive_jars.add(target, "none", classpath)
    if delete is not None:
        if not delete_consumer(target, delete):
            raise MmapQueueError(f"the archive in {target} has no consumer {delete}")
        if as_json:
            print_object({"deleted_consumer": delete})
        return DONE
    if marked is not None:
        _mark_lost(target, marked, as_json=as_json)
        return DONE
    found = describe(target)
    if as_json:
        print_object(_as_object(found))
    else:
        _print(found)
    return FAILED if any(each.error for each in found.partitions) else DONE


def _range(text: str) -> tuple[int, int, int]:
    found = _RANGE.fullmatch(text)
    if found is None:
        raise typer.BadParameter(f"--mark-lost {text} is invalid; expected PARTITION:FIRST-LAST, such as 0:100-199")
    partition, first, last = map(int, found.groups())
    if last < first:
        raise typer.BadParameter(f"--mark-lost {text} is invalid: {last} is before {first}")
    return partition, first, last


def _mark_lost(target: str, marked: tuple[int, int, int], *, as_json: bool) -> None:
    gaps = [_as_gap(each) for each in mark_lost(target, *marked)]
    if as_json:
        print_object({"marked": gaps})
    elif gaps:
        print_table(_GAPS, gaps, as_json=False)
    else:
        partition, first, last = marked
        print(f"nothing to mark: partition {partition} has no missing records from {first} to {last} without a mark")


def _as_gap(gap: GapState) -> dict[str, Any]:
    return {**gap._asdict(), "records": gap.records}


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
    gaps = [_as_gap(each) for each in found.gaps]
    return {"uri": found.uri, "id": found.id, "partitions": partitions, "gaps": gaps, "consumers": consumers}


def _print(found: ArchiveState) -> None:
    partitions, consumers = _rows(found)
    print_facts({"archive": found.uri, "id": found.id})
    gaps = [_as_gap(each) for each in found.gaps]
    for columns, rows in ((_PARTITIONS, partitions), (_GAPS, gaps), (_CONSUMERS, consumers)):
        if rows:
            print()
            print_table(columns, rows, as_json=False)
    for each in found.partitions:
        if each.error is not None:
            print_error(f"partition {each.partition}: {each.error}")
